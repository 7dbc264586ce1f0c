//! The BMC of a `BareMetalHost`: `spec.bmc`, joined with the Secret that holds its credentials.
//!
//! Source: metal3-io/baremetal-operator, `apis/metal3.io/v1alpha1/baremetalhost_types.go` (`BMCDetails`); the keys
//! `username` and `password` are those of its `docs/api.md`.

use std::collections::BTreeMap;

use serde_yaml::Value;

use super::flaw::{Reported, wrong_type};
use super::object::Fields;
use super::part::HostPart;
use super::secret::Secrets;
use super::yaml::Budget;
use vocabulary::host::{BmcCredentials, BmcSpec, BootMode, HostBmc, NoCredentials};
use vocabulary::report::{DocumentPath, Report};

const CREDENTIALS: &str = "credentialsName";

/// The BMC that `spec` describes, if it says where that is.
///
/// Credentials that are missing or cannot be read are no finding: they are needed to drive the BMC, and for nothing else.
pub(super) fn bmc(
    spec: &Fields<'_>,
    namespace: Option<&str>,
    secrets: &Secrets,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<Option<BmcSpec>, Reported> {
    let Some(bmc) = spec.mapping("bmc", report)? else { return Ok(None) };
    let name = bmc.text(CREDENTIALS, report);
    if let Ok(Some(name)) = name {
        secrets.mark_used(name, namespace);
    }
    let address = bmc.text("address", report);
    let disable_certificate_verification = bmc.boolean("disableCertificateVerification", report);
    let (name, address, disable_certificate_verification) = (name?, address?, disable_certificate_verification?);
    let Some(address) = address else { return Ok(None) };
    Ok(Some(BmcSpec {
        address: address.to_owned(),
        credentials_name: name.map(str::to_owned),
        credentials: credentials(&bmc, CREDENTIALS, name, namespace, secrets, budget),
        disable_certificate_verification: disable_certificate_verification.unwrap_or_default(),
    }))
}

/// The BMC of a node of a site: its address and the name of the Secret stand in the node itself.
///
/// The operators verify no BMC's certificate. A document that does not ask for that does not get it here.
pub(super) fn of_node(
    node: &Fields<'_>,
    namespace: Option<&str>,
    secrets: &Secrets,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<Option<BmcSpec>, Reported> {
    const NAME: &str = "bmcCredentialsName";
    let address = node.text("bmcAddress", report);
    let reference = node.mapping(NAME, report)?;
    let name = reference.map_or(Ok(None), |reference| reference.text("name", report))?;
    if let Some(name) = name {
        secrets.mark_used(name, namespace);
    }
    let Some(address) = address? else { return Ok(None) };
    Ok(Some(BmcSpec {
        address: address.to_owned(),
        credentials_name: name.map(str::to_owned),
        credentials: credentials(node, NAME, name, namespace, secrets, budget),
        disable_certificate_verification: false,
    }))
}

/// The BMC under `bmc` of a host in `OpenShift`'s own files, where its credentials stand beside its address (openshift/installer,
/// `pkg/types/baremetal/platform.go`, `BMC`).
pub(super) fn inline(host: &Fields<'_>, report: &mut Report) -> Result<Option<BmcSpec>, Reported> {
    let Some(bmc) = host.mapping("bmc", report)? else { return Ok(None) };
    let address = bmc.text("address", report);
    let disable_certificate_verification = bmc.boolean("disableCertificateVerification", report);
    let (address, disable_certificate_verification) = (address?, disable_certificate_verification?);
    let Some(address) = address else { return Ok(None) };
    let credentials = match (written(&bmc, "username"), written(&bmc, "password")) {
        (Ok(username), Ok(password)) => Ok(BmcCredentials { username, password }),
        (Err(reason), _) | (_, Err(reason)) => Err(reason),
    };
    Ok(Some(BmcSpec {
        address: address.to_owned(),
        credentials_name: None,
        credentials,
        disable_certificate_verification: disable_certificate_verification.unwrap_or_default(),
    }))
}

/// A credential that stands in the document. What is wrong with it is said without showing it.
fn written(bmc: &Fields<'_>, key: &str) -> Result<String, NoCredentials> {
    let what = match bmc.mapping.get(key) {
        Some(Value::String(text)) if !text.is_empty() => return Ok(text.clone()),
        None | Some(Value::Null | Value::String(_)) => "is missing".to_owned(),
        Some(other) => wrong_type(other, "a text").1,
    };
    Err(NoCredentials(format!("{} {what}", bmc.path.key(key))))
}

/// The BMC of such a host, and where it stands; none, with the reason reported, where it has none or it cannot be read.
pub(super) fn inline_of_host(host: &Fields<'_>, name: &str, report: &mut Report) -> Option<(HostBmc, DocumentPath)> {
    let called = host.text(name, report);
    let boot_mode = host.parsed::<BootMode>("bootMode", report);
    let bmc = inline(host, report);
    let (called, boot_mode, bmc) = (called.ok()?, boot_mode.ok()?, bmc.ok()??);
    let name = called.map_or_else(|| host.path.to_string(), str::to_owned);
    Some((HostBmc { name, boot_mode, bmc }, host.path.key("bmc")))
}

/// The BMCs of hosts, each host once: several documents may name a host's BMC, and have to mean the same.
pub(super) fn one_a_host(all: Vec<(HostBmc, DocumentPath)>, report: &mut Report) -> Vec<HostBmc> {
    let mut hosts: Vec<HostPart> = Vec::new();
    let mut by_name = BTreeMap::new();
    for (HostBmc { name, boot_mode, bmc }, path) in all {
        let part = HostPart {
            name: Some((name.clone(), path.clone())),
            boot_mode: boot_mode.map(|mode| (mode, path.clone())),
            bmc: Some((bmc, path.clone())),
            ..HostPart::new("BMC", path)
        };
        let index = *by_name.entry(name).or_insert(hosts.len());
        match hosts.get_mut(index) {
            Some(known) => known.absorb(part, report),
            None => hosts.push(part),
        }
    }
    let bmc = |part: HostPart| {
        let boot_mode = part.boot_mode.map(|(mode, _)| mode);
        Some(HostBmc { name: part.name?.0, boot_mode, bmc: part.bmc?.0 })
    };
    hosts.into_iter().filter_map(bmc).collect()
}

/// What the Secret `name` holds, which the member `key` of `holder` names.
fn credentials(
    holder: &Fields<'_>,
    key: &str,
    name: Option<&str>,
    namespace: Option<&str>,
    secrets: &Secrets,
    budget: &mut Budget,
) -> Result<BmcCredentials, NoCredentials> {
    let mut report = Report::new();
    read(holder, key, name, namespace, secrets, budget, &mut report).map_err(|Reported| {
        let sentence = report.findings().first().map(ToString::to_string);
        NoCredentials(sentence.unwrap_or_default())
    })
}

fn read(
    holder: &Fields<'_>,
    key: &str,
    name: Option<&str>,
    namespace: Option<&str>,
    secrets: &Secrets,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<BmcCredentials, Reported> {
    let Some(name) = name else {
        let message = "is missing: it names the Secret with the BMC's username and password";
        return Err(holder.wrong(key, "bmc-secret-not-named", message, report));
    };
    let secret =
        secrets.find(name, namespace).map_err(|message| holder.wrong(key, "bmc-secret-missing", message, report))?;
    let mut text = |key| {
        let (bytes, path) = secret.get(key, budget, report)?;
        // An editor, or echo, has put a line end behind many a password.
        let text = std::str::from_utf8(&bytes).ok().map(|text| text.trim_end_matches(['\r', '\n']));
        match text {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            Some(_) => {
                report.error("bmc-secret-empty", &path, "is empty");
                Err(Reported)
            }
            None => {
                report.error("bmc-secret-not-text", &path, "is not UTF-8 text");
                Err(Reported)
            }
        }
    };
    Ok(BmcCredentials { username: text("username")?, password: text("password")? })
}
