//! The objects themselves.

use serde::Serialize;
use serde_yaml::{Mapping, Value};

use super::ManifestOptions;
use vocabulary::host::{BmcSpec, HostSpec};

/// What the names of Secrets end with, as in `OpenShift`.
pub(super) const NETWORK_SECRET: &str = "-network-config-secret";
const BMC_SECRET: &str = "-bmc-secret";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    name: &'a str,
    namespace: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Secret<'a, D> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata<'a>,
    r#type: &'static str,
    /// Text, and not base64: it is to be read, and compared.
    string_data: D,
}

#[derive(Serialize)]
struct NetworkData {
    nmstate: String,
}

#[derive(Serialize)]
struct Credentials<'a> {
    username: &'a str,
    password: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BareMetalHost<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata<'a>,
    spec: Spec<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    online: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    architecture: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "bootMACAddress")]
    boot_mac_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bmc: Option<Bmc<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root_device_hints: Option<&'a Mapping>,
    preprovisioning_network_data_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_deploy: Option<CustomDeploy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_data: Option<UserData<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Bmc<'a> {
    address: &'a str,
    credentials_name: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disable_certificate_verification: bool,
}

#[derive(Serialize)]
struct CustomDeploy {
    method: &'static str,
}

#[derive(Serialize)]
struct UserData<'a> {
    name: String,
    namespace: &'a str,
}

/// The Secrets of a host, and the host.
pub(super) fn of(host: &HostSpec, name: &str, nmstate: String, options: &ManifestOptions) -> Vec<Value> {
    let network_name = format!("{name}{NETWORK_SECRET}");
    let bmc_name = host.bmc.as_ref().and_then(|bmc| bmc.credentials_name.clone());
    let bmc_name = bmc_name.unwrap_or_else(|| format!("{name}{BMC_SECRET}"));
    let mut objects = vec![secret(&network_name, NetworkData { nmstate }, options)];
    if let Some(BmcSpec { credentials: Ok(credentials), .. }) = host.bmc.as_ref().filter(|_| options.bmc_secrets) {
        let data = Credentials { username: &credentials.username, password: &credentials.password };
        objects.push(secret(&bmc_name, data, options));
    }
    let namespace = options.namespace.as_str();
    objects.push(value(BareMetalHost {
        api_version: "metal3.io/v1alpha1",
        kind: "BareMetalHost",
        metadata: Metadata { name, namespace },
        spec: Spec {
            online: options.online,
            architecture: host.architecture.map(|architecture| architecture.to_string()),
            boot_mac_address: host.boot_mac.map(|mac| mac.to_string()),
            boot_mode: host.boot_mode.map(|mode| mode.to_string()),
            bmc: host.bmc.as_ref().map(|bmc| Bmc {
                address: &bmc.address,
                credentials_name: &bmc_name,
                disable_certificate_verification: bmc.disable_certificate_verification,
            }),
            root_device_hints: host.root_device_hints.as_ref(),
            preprovisioning_network_data_name: &network_name,
            custom_deploy: options.install_coreos.then_some(CustomDeploy { method: "install_coreos" }),
            user_data: options.install_coreos.then(|| UserData {
                name: format!("{}-user-data-managed", host.role.as_deref().unwrap_or("worker")),
                namespace,
            }),
        },
    }));
    objects
}

fn secret(name: &str, string_data: impl Serialize, options: &ManifestOptions) -> Value {
    let metadata = Metadata { name, namespace: options.namespace.as_str() };
    value(Secret { api_version: "v1", kind: "Secret", metadata, r#type: "Opaque", string_data })
}

/// Structures with texts for keys are always a value.
fn value(object: impl Serialize) -> Value {
    serde_yaml::to_value(object).unwrap_or_default()
}
