//! `dayone doctor`: tests how readers of virtual media would read a URL, or a dayone server itself.

mod self_check;
mod text;

use std::path::Path;
use std::time::Duration;

use doctor::{Diagnosis, Options, Severity, Trust};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use super::failure::{Failure, block_on};
use super::terminal;
use crate::arguments::{DoctorArguments, OutputFormat};

pub(super) fn run(arguments: &DoctorArguments) -> Result<(), Failure> {
    let trust = match &arguments.ca {
        Some(path) => Trust::Authorities(certificates(path)?),
        None if arguments.insecure => Trust::Anything,
        None => Trust::System,
    };
    let options = Options { trust, slow: Duration::from_secs(arguments.slow) };
    let diagnosis = match &arguments.url {
        Some(url) => {
            let diagnosis = block_on(doctor::examine(url, &options))?;
            diagnosis.map_err(|error| Failure::System(error.to_string()))?
        }
        None => self_check::run(arguments, &options)?,
    };
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&diagnosis)?,
        OutputFormat::Text => terminal::print(&text::as_text(&diagnosis))?,
    }
    outcome(&diagnosis)
}

fn outcome(diagnosis: &Diagnosis) -> Result<(), Failure> {
    if diagnosis.count(Severity::Fails) > 0 {
        Err(Failure::Findings)
    } else if diagnosis.count(Severity::Unknown) > 0 {
        Err(Failure::Unknown)
    } else {
        Ok(())
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let what = || format!("cannot read the certificates of {}", path.display());
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| Failure::system(&what(), &error))?;
    if found.is_empty() { Err(Failure::System(format!("{}: the file has none", what()))) } else { Ok(found) }
}
