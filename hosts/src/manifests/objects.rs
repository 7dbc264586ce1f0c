//! The objects themselves.

use std::fmt::Display;

use serde_yaml::{Mapping, Value};

use super::ManifestOptions;
use crate::members::mapping;
use vocabulary::host::{BmcSpec, HostSpec};

/// The suffixes of the names of Secrets, as in `OpenShift`.
pub(super) const NETWORK_SECRET: &str = "-network-config-secret";
const BMC_SECRET: &str = "-bmc-secret";

/// Makes the Secrets of a host, and its `BareMetalHost`.
pub(super) fn of(host: &HostSpec, name: &str, nmstate: String, options: &ManifestOptions) -> Vec<Value> {
    let network_name = format!("{name}{NETWORK_SECRET}");
    let bmc_name = host.bmc.as_ref().and_then(|bmc| bmc.credentials_name.clone());
    let bmc_name = bmc_name.unwrap_or_else(|| format!("{name}{BMC_SECRET}"));
    let mut objects = vec![secret(&network_name, mapping([("nmstate", nmstate.into())]), options)];
    if let Some(BmcSpec { credentials: Ok(credentials), .. }) = host.bmc.as_ref().filter(|_| options.bmc_secrets) {
        let (username, password) = (credentials.username.as_str(), credentials.password.as_str());
        let data = mapping([("username", username.into()), ("password", password.into())]);
        objects.push(secret(&bmc_name, data, options));
    }
    let bmc = host.bmc.as_ref().map(|bmc| {
        mapping([
            ("address", bmc.address.as_str().into()),
            ("credentialsName", bmc_name.into()),
            ("disableCertificateVerification", present(bmc.disable_certificate_verification.then_some(true))),
        ])
    });
    let install = options.install_coreos.then(|| mapping([("method", "install_coreos".into())]));
    let user_data = options.install_coreos.then(|| {
        let name = format!("{}-user-data-managed", host.role.as_deref().unwrap_or("worker"));
        mapping([("name", name.into()), ("namespace", options.namespace.as_str().into())])
    });
    let spec = mapping([
        ("online", options.online.into()),
        ("architecture", text(host.architecture)),
        ("bootMACAddress", text(host.boot_mac)),
        ("bootMode", text(host.boot_mode)),
        ("bmc", present(bmc)),
        ("rootDeviceHints", present(host.root_device_hints.clone())),
        ("preprovisioningNetworkDataName", network_name.into()),
        ("customDeploy", present(install)),
        ("userData", present(user_data)),
    ]);
    objects.push(object("metal3.io/v1alpha1", "BareMetalHost", name, options, [("spec", spec.into())]));
    objects
}

/// Makes a Secret. Its content is text instead of base64, so that people can read and compare it.
fn secret(name: &str, data: Mapping, options: &ManifestOptions) -> Value {
    object("v1", "Secret", name, options, [("type", "Opaque".into()), ("stringData", data.into())])
}

fn object<const N: usize>(
    api_version: &str,
    kind: &str,
    name: &str,
    options: &ManifestOptions,
    content: [(&str, Value); N],
) -> Value {
    let metadata = mapping([("name", name.into()), ("namespace", options.namespace.as_str().into())]);
    let mut object =
        mapping([("apiVersion", api_version.into()), ("kind", kind.into()), ("metadata", metadata.into())]);
    object.extend(mapping(content));
    Value::Mapping(object)
}

fn present(value: Option<impl Into<Value>>) -> Value {
    value.map_or(Value::Null, Into::into)
}

fn text(value: Option<impl Display>) -> Value {
    present(value.map(|value| value.to_string()))
}
