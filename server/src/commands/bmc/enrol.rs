//! `dayone bmc enrol`: lets a machine with Secure Boot trust the certificate of a site.

use std::path::Path;

use redfish::bmc::{Bmc, Enrolment, PemCertificate, SecureBoot};
use serde::Serialize;

use super::{connect, target};
use crate::arguments::{EnrolArguments, OutputFormat};
use crate::commands::failure::Failure;
use crate::commands::table::Table;
use crate::commands::terminal;

/// What became of the certificate. `docs/commands.md` describes its JSON.
#[derive(Serialize)]
struct Enrolled {
    /// The address as given.
    address: String,
    enrolment: Enrolment,
    /// Whether the machine verifies what it boots next; null if the BMC does not say so.
    secure_boot: Option<bool>,
}

pub(super) async fn run(arguments: &EnrolArguments) -> Result<(), Failure> {
    let certificate = certificate(&arguments.certificate)?;
    let chosen = target::of(&arguments.bmc)?;
    let bmc = connect(&chosen).await?;
    let enrolled = enrol(&bmc, &certificate).await;
    bmc.close().await;
    let (enrolment, secure_boot) = enrolled?;
    let address = chosen.target.address.to_string();
    let enrolled =
        Enrolled { address, enrolment, secure_boot: secure_boot.and_then(|secure_boot| secure_boot.is_on()) };
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&enrolled),
        OutputFormat::Text => terminal::print(&as_text(&enrolled)),
    }
}

fn certificate(path: &Path) -> Result<PemCertificate, Failure> {
    let failed = |reason: String| Failure::System(format!("certificate {}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    // Which one the machine trusts is not for dayone to choose: from then on, the machine starts all that its key has signed.
    let count = text.matches("-----BEGIN CERTIFICATE-----").count();
    if count > 1 {
        let advice = "write the one that the machine is to trust into a file of its own";
        return Err(failed(format!("it has {count} certificates, and dayone enrols one at a time: {advice}")));
    }
    PemCertificate::parse(&text)
        .map_err(|error| failed(format!("it has no certificate in PEM (-----BEGIN CERTIFICATE-----): {error}")))
}

async fn enrol(bmc: &Bmc, certificate: &PemCertificate) -> Result<(Enrolment, Option<SecureBoot>), Failure> {
    let system = bmc.survey().await?.system;
    let enrolment = bmc.enrol(&system, certificate).await.map_err(|error| Failure::Bmc(error.to_string()))?;
    // It says more, and is not needed.
    let secure_boot = bmc.secure_boot(&system).await.unwrap_or_default();
    Ok((enrolment, secure_boot))
}

fn as_text(enrolled: &Enrolled) -> String {
    let mut table = Table::new(&enrolled.address);
    let what = match enrolled.enrolment {
        Enrolment::AlreadyThere => "was in the database db before",
        Enrolment::Enrolled => "is in the database db; some firmware takes it at the next start of the machine",
        Enrolment::Accepted => "was accepted; the BMC does not show it, so the next start of the machine tells",
    };
    table.row("certificate", what.to_owned());
    let secure_boot = match enrolled.secure_boot {
        Some(true) => "on",
        Some(false) => "off: the machine starts everything",
        None => "the BMC does not say",
    };
    table.row("Secure Boot", secure_boot.to_owned());
    table.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_certificates_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("site.pem");
        let pem = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap().cert.pem();
        std::fs::write(&path, pem("site")).unwrap();
        assert!(certificate(&path).is_ok());
        std::fs::write(&path, pem("site") + &pem("authority")).unwrap();
        let Err(Failure::System(error)) = certificate(&path) else { panic!() };
        assert!(error.contains("site.pem: it has 2 certificates"), "{error}");
    }
}
