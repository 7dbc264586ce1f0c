//! The BMC of a `BareMetalHost`: `spec.bmc`, joined with the Secret that holds its credentials.
//!
//! Source: metal3-io/baremetal-operator, `apis/metal3.io/v1alpha1/baremetalhost_types.go` (`BMCDetails`); the keys
//! `username` and `password` are those of its `docs/api.md`.

use super::object::{Fields, Reported};
use super::secret::Secrets;
use super::yaml::Budget;
use crate::host::{BmcCredentials, BmcSpec, NoCredentials};
use crate::report::Report;

const CREDENTIALS: &str = "credentialsName";

/// The BMC that `spec` describes, if it says where that is.
///
/// Credentials that are missing or cannot be read are no finding: they are needed to drive the BMC, and for nothing else.
pub(super) fn bmc(
    spec: &Fields<'_>,
    namespace: Option<&str>,
    secrets: &mut Secrets,
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
        credentials: credentials(&bmc, name, namespace, secrets, budget),
        disable_certificate_verification: disable_certificate_verification.unwrap_or_default(),
    }))
}

fn credentials(
    bmc: &Fields<'_>,
    name: Option<&str>,
    namespace: Option<&str>,
    secrets: &Secrets,
    budget: &mut Budget,
) -> Result<BmcCredentials, NoCredentials> {
    let mut report = Report::new();
    read(bmc, name, namespace, secrets, budget, &mut report).map_err(|Reported| {
        let sentence = report.findings().first().map(ToString::to_string);
        NoCredentials(sentence.unwrap_or_default())
    })
}

fn read(
    bmc: &Fields<'_>,
    name: Option<&str>,
    namespace: Option<&str>,
    secrets: &Secrets,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<BmcCredentials, Reported> {
    let Some(name) = name else {
        let message = "is missing: it names the Secret with the BMC's username and password";
        return Err(bmc.wrong(CREDENTIALS, "bmc-secret-not-named", message, report));
    };
    let secret = secrets
        .find(name, namespace)
        .map_err(|message| bmc.wrong(CREDENTIALS, "bmc-secret-missing", message, report))?;
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
