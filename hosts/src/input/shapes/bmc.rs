//! The BMC of a host in a document, with its credentials.
//!
//! Source: metal3-io/baremetal-operator, `apis/metal3.io/v1alpha1/baremetalhost_types.go` (`BMCDetails`); `docs/api.md` there has
//! the keys `username` and `password`.

use serde_yaml::Value;

use super::host_reader::Reading;
use crate::input::fields::{Fields, Placed};
use crate::input::yaml::invalid::wrong_type;
use vocabulary::host::{BmcCredentials, BmcSpec, NoCredentials};
use vocabulary::report::{Report, Reported};

/// How long a user name or a password may be, in bytes. BMCs allow far less, and thousands of hosts may share a Secret.
const MAX_CREDENTIAL: usize = 1024;

/// Reads the member `bmc` of a host whose credentials are in a Secret.
pub(super) fn with_secret(
    host: &Fields<'_>,
    namespace: Option<&str>,
    reading: &mut Reading<'_>,
) -> Result<Placed<BmcSpec>, Reported> {
    const NAME: &str = "credentialsName";
    let Some(bmc) = host.mapping("bmc", reading.report)? else { return Ok(None) };
    let name = bmc.text(NAME, reading.report);
    if let Ok(Some(name)) = name {
        reading.secrets.mark_used(name, namespace);
    }
    let described = described(&bmc, reading.report);
    let name = name?;
    let spec = described?.map(|spec| BmcSpec {
        credentials_name: name.map(str::to_owned),
        credentials: from_secret(&bmc, NAME, name, namespace, reading),
        ..spec
    });
    Ok(host.placed("bmc", spec))
}

/// Reads the BMC of a node of a site. The node itself has its address and the name of the Secret.
///
/// The operators of sites verify no BMC's certificate. dayone does, unless another document of the host says otherwise.
pub(super) fn of_node(
    node: &Fields<'_>,
    namespace: Option<&str>,
    reading: &mut Reading<'_>,
) -> Result<Placed<BmcSpec>, Reported> {
    const NAME: &str = "bmcCredentialsName";
    let address = node.text("bmcAddress", reading.report);
    let name = node.text_in(NAME, "name", reading.report)?;
    if let Some(name) = name {
        reading.secrets.mark_used(name, namespace);
    }
    let spec = address?.map(|address| BmcSpec {
        address: address.to_owned(),
        credentials_name: name.map(str::to_owned),
        credentials: from_secret(node, NAME, name, namespace, reading),
        disable_certificate_verification: false,
    });
    Ok(node.placed("bmcAddress", spec))
}

/// Reads the member `bmc` of a host in `OpenShift`'s own files, which contains the credentials (openshift/installer,
/// `pkg/types/baremetal/platform.go`, `BMC`).
pub(super) fn with_credentials(host: &Fields<'_>, reading: &mut Reading<'_>) -> Result<Placed<BmcSpec>, Reported> {
    let Some(bmc) = host.mapping("bmc", reading.report)? else { return Ok(None) };
    let spec = described(&bmc, reading.report)?.map(|spec| {
        let credentials = match (written(&bmc, "username"), written(&bmc, "password")) {
            (Ok(username), Ok(password)) => Ok(BmcCredentials { username, password }),
            (Err(reason), _) | (_, Err(reason)) => Err(reason),
        };
        BmcSpec { credentials, ..spec }
    });
    Ok(host.placed("bmc", spec))
}

/// Reads the members of a `bmc` that all documents have. Returns nothing if it has no address.
fn described(bmc: &Fields<'_>, report: &mut Report) -> Result<Option<BmcSpec>, Reported> {
    let address = bmc.text("address", report);
    let disable_certificate_verification = bmc.boolean("disableCertificateVerification", report)?;
    Ok(address?.map(|address| BmcSpec {
        address: address.to_owned(),
        credentials_name: None,
        credentials: Err(NoCredentials(String::new())),
        disable_certificate_verification: disable_certificate_verification.unwrap_or_default(),
    }))
}

/// Returns a credential from the document. The reason for an error does not show the value.
fn written(bmc: &Fields<'_>, key: &str) -> Result<String, NoCredentials> {
    let problem = match bmc.mapping.get(key) {
        Some(Value::String(text)) if !text.is_empty() => return Ok(text.clone()),
        None | Some(Value::Null | Value::String(_)) => "is missing".to_owned(),
        Some(other) => wrong_type(other, "a text").1,
    };
    Err(NoCredentials(format!("{} {problem}", bmc.path.key(key))))
}

/// Returns the credentials in the Secret that the member `key` of `holder` names.
///
/// Without them dayone can still build the host's image. So the reason why they are unknown is not a finding.
fn from_secret(
    holder: &Fields<'_>,
    key: &str,
    name: Option<&str>,
    namespace: Option<&str>,
    reading: &mut Reading<'_>,
) -> Result<BmcCredentials, NoCredentials> {
    let mut report = Report::new();
    read(holder, key, name, namespace, &mut reading.with_report(&mut report)).map_err(|Reported| {
        let sentence = report.findings().first().map(ToString::to_string);
        NoCredentials(sentence.unwrap_or_default())
    })
}

fn read(
    holder: &Fields<'_>,
    key: &str,
    name: Option<&str>,
    namespace: Option<&str>,
    reading: &mut Reading<'_>,
) -> Result<BmcCredentials, Reported> {
    let Reading { secrets, budget, report, .. } = reading;
    let Some(name) = name else {
        let message = "is missing: it names the Secret with the BMC's username and password";
        return Err(holder.wrong(key, "bmc-secret-not-named", message, report));
    };
    let secret =
        secrets.find(name, namespace).map_err(|message| holder.wrong(key, "bmc-secret-missing", message, report))?;
    let mut text = |key| {
        let (bytes, path) = secret.get(key, budget, report)?;
        // Editors and echo add a line end to many passwords.
        match std::str::from_utf8(&bytes).map(|text| text.trim_end_matches(['\r', '\n'])) {
            Ok("") => Err(report.refuse("bmc-secret-empty", &path, "is empty")),
            Ok(text) if text.len() > MAX_CREDENTIAL => {
                let message = format!("is {} bytes long; at most {MAX_CREDENTIAL} are allowed", text.len());
                Err(report.refuse("text-too-long", &path, message))
            }
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(report.refuse("bmc-secret-not-text", &path, "is not UTF-8 text")),
        }
    };
    Ok(BmcCredentials { username: text("username")?, password: text("password")? })
}
