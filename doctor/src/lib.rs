//! Tests an image server with the requests of known readers of virtual media (`dayone doctor`).
//!
//! Each reader is a file in `personas`. Readers with public source code (nbdkit, QEMU, sushy-tools, Ironic, Intel's
//! virtual-media) are imitated by that code, and closed firmware by reports about it. An examination reads at most a
//! few MiB. It sends one request at a time, unless several at once are the subject.

mod addresses;
mod certificate;
mod content;
mod context;
mod evidence;
mod finding;
mod first_look;
mod http;
mod personas;
mod probe;
mod ranges;
mod url_form;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::time::timeout;
use url::Url;
use vocabulary::url_credentials;

pub use self::certificate::{Certificate, CertificateError};
use self::context::Context;
pub use self::evidence::Evidence;
pub use self::finding::{Examination, Finding, Reader, Severity};
use self::http::{RequestError, SharedVerifier, Traffic};
pub use self::http::{Stage, Trust};
use self::personas::{
    concurrent, credentials, ironic, many_ranges, nbdkit, openbmc, protocol, qemu, range_forms, slow_reader,
    sushy_tools, uefi_http,
};

/// The time limit for one examination, in addition to the time for the slow reader.
const LIMIT: Duration = Duration::from_mins(2);

/// Why a URL cannot be examined.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// The text is not an HTTP or HTTPS URL.
    #[error("{0:?} is not a URL of a file: write http://ADDRESS/DIRECTORY/NAME.iso, or https://…")]
    Url(String),
    /// The host is an IPv4 address in another form than four decimal numbers, perhaps with leading zeros.
    #[error("the host of the URL is {0}, but not written so; {fix}", fix = vocabulary::url_host::FIX)]
    Ipv4(std::net::Ipv4Addr),
    /// There is no HTTP server.
    #[error("the server does not answer: {reason}")]
    Unreachable {
        /// How far a request came.
        stage: Stage,
        /// Why it failed.
        reason: String,
    },
}

/// The options of an examination.
#[derive(Debug, Clone)]
pub struct Options {
    /// How the server's certificate is verified.
    pub trust: Trust,
    /// How long the slow reader reads.
    pub slow: Duration,
}

/// The result of all examinations of a URL.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    /// The URL, without credentials.
    pub url: String,
    /// The highest severity of all findings.
    pub outcome: Severity,
    /// The size of the file in bytes, if the server sends it.
    pub size: Option<u64>,
    /// The examinations, in a fixed order.
    pub examinations: Vec<Examination>,
    /// How many requests were sent.
    pub requests: u64,
    /// How many bytes of bodies arrived.
    pub bytes: u64,
    /// How long it took, in seconds.
    pub seconds: f64,
}

impl Diagnosis {
    /// The number of findings with this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.examinations.iter().flat_map(|examination| &examination.findings);
        findings.filter(|finding| finding.severity == severity).count()
    }
}

/// Examines a URL: sends a few hundred requests, and changes nothing.
pub async fn examine(text: &str, options: &Options) -> Result<Diagnosis, DoctorError> {
    examine_file(text, options, None).await
}

/// Examines the URL of a file whose content is known: whether the answers come from the server that has this file, and whether
/// everything in between passes them unchanged.
pub async fn examine_probe(text: &str, expected: &[u8], options: &Options) -> Result<Diagnosis, DoctorError> {
    examine_file(text, options, Some(expected)).await
}

async fn examine_file(text: &str, options: &Options, expected: Option<&[u8]>) -> Result<Diagnosis, DoctorError> {
    let begun = Instant::now();
    let url = parse(text)?;
    let traffic = Arc::<Traffic>::default();
    let verifier = Arc::new(SharedVerifier::new(options.trust.clone()));
    let look = first_look::examine(url.clone(), &verifier, &traffic).await;
    let look = look.map_err(|error| DoctorError::Unreachable { stage: error.stage(), reason: error.to_string() })?;
    let mut examinations = vec![
        Examination::new("url", "form of the URL", url_form::examine(text, &url)),
        Examination::new("server", "first look at the server", look.findings),
    ];
    let size = look.size;
    let context = Arc::new(Context::new(look.connector, size, options.slow));
    examinations.extend(examine_addresses(&context, expected).await);
    if look.served {
        examinations.extend(play_all(&context, expected).await);
    } else if let Some(expected) = expected {
        examinations.push(play_identity(&context, expected).await);
    }
    let outcome = examinations.iter().map(|examination| examination.outcome).max().unwrap_or(Severity::Ok);
    let (requests, bytes) = traffic.totals();
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Diagnosis { url: without_credentials(url), outcome, size, examinations, requests, bytes, seconds })
}

/// Examines each address of the server's name, if it has several.
async fn examine_addresses(context: &Arc<Context>, expected: Option<&[u8]>) -> Option<Examination> {
    // The first look has resolved the name.
    let addresses = context.connector.addresses().await.ok().filter(|addresses| addresses.len() > 1)?;
    let examine = async |context: &Arc<Context>, findings: &mut Vec<Finding>| {
        addresses::examine(context, addresses, expected, findings).await;
        Ok::<_, RequestError>(())
    };
    Some(played(context, "addresses", "every address of the server's name", examine).await)
}

/// Runs all examinations that send requests. The slow readers read while the others follow each other.
async fn play_all(context: &Arc<Context>, expected: Option<&[u8]>) -> Vec<Examination> {
    let slow = played(context, "slow-reader", "slow reader, as reported of HPE iLO", slow_reader::play);
    let idle = played(context, "idle-connection", "reader with an idle connection", slow_reader::play_idle);
    let (mut examinations, slow, idle) = tokio::join!(play_others(context, expected), slow, idle);
    examinations.extend([slow, idle]);
    examinations
}

async fn play_identity(context: &Arc<Context>, expected: &[u8]) -> Examination {
    let compare =
        async |context: &Arc<Context>, findings: &mut Vec<Finding>| probe::identity(context, expected, findings).await;
    played(context, "identity", "which server answers", compare).await
}

async fn play_others(context: &Arc<Context>, expected: Option<&[u8]>) -> Vec<Examination> {
    let mut examinations = Vec::new();
    if let Some(expected) = expected {
        examinations.push(play_identity(context, expected).await);
        examinations.push(played(context, "media-clock", "clock behind the URL", probe::clock).await);
        if context.connector.is_tls() {
            let title = "end of the certificate";
            examinations.push(played(context, "certificate", title, probe::certificate).await);
        }
    }
    if context.connector.is_tls() {
        let title = "TLS, as OpenBMC (Intel's virtual-media) demands it";
        examinations.push(played(context, "tls", title, openbmc::play).await);
    }
    examinations.extend([
        played(context, "nbdkit", "nbdkit's curl plugin, as in OpenBMC", nbdkit::play).await,
        played(context, "qemu", "QEMU's block driver", qemu::play).await,
        played(context, "sushy-tools", "sushy-tools", sushy_tools::play).await,
        played(context, "ironic", "Ironic", ironic::play).await,
        played(context, "uefi-http", "UEFI HTTP boot, as in EDK2", uefi_http::play).await,
        played(context, "many-ranges", "many small ranges, as reported of Dell iDRAC", many_ranges::play).await,
        played(context, "concurrent", "several readers at once", concurrent::play).await,
        played(context, "range-forms", "other forms of ranges", range_forms::play).await,
        played(context, "credentials", "BMCs that send dummy credentials", credentials::play).await,
        played(context, "protocol", "small HTTP clients", protocol::play).await,
    ]);
    if expected.is_none() {
        examinations.push(played(context, "content", "size and content", content::examine).await);
    }
    examinations
}

/// Runs one examination within the time limit. It is also a finding if the server stops answering, or is too slow.
async fn played(
    context: &Arc<Context>,
    name: &'static str,
    title: &'static str,
    play: impl AsyncFnOnce(&Arc<Context>, &mut Vec<Finding>) -> Result<(), RequestError>,
) -> Examination {
    let limit = LIMIT + 2 * context.slow;
    Examination::new(name, title, played_within(limit, context, play).await)
}

async fn played_within(
    limit: Duration,
    context: &Arc<Context>,
    play: impl AsyncFnOnce(&Arc<Context>, &mut Vec<Finding>) -> Result<(), RequestError>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    match timeout(limit, play(context, &mut findings)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => findings.push(Finding::fails("no-answer", &[Reader::Everyone], error.to_string())),
        Err(_) => {
            let message = format!(
                "the server answers too slowly for the doctor, which ends this examination after {} s",
                limit.as_secs()
            );
            findings.push(
                Finding::warning("examination-unfinished", &[Reader::Everyone], message)
                    .advice("measure how long the server takes for an answer: a boot takes thousands of them"),
            );
        }
    }
    findings
}

fn parse(text: &str) -> Result<Url, DoctorError> {
    let bad = || DoctorError::Url(url_credentials::hide_with_query(text));
    let url = Url::parse(text).map_err(|_| bad())?;
    match url.host() {
        Some(url::Host::Ipv4(address)) if !vocabulary::url_host::is_written(address, text) => {
            Err(DoctorError::Ipv4(address))
        }
        Some(_) if matches!(url.scheme(), "http" | "https") => Ok(url),
        _ => Err(bad()),
    }
}

fn without_credentials(mut url: Url) -> String {
    if url.password().is_some() || !url.username().is_empty() {
        // Neither fails for a URL that has a host.
        let _ = url.set_username("…");
        let _ = url.set_password(None);
    }
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Connector;

    #[test]
    fn the_limit_of_the_doctor_is_no_fault_of_the_server() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let url = Url::parse("http://127.0.0.1/").unwrap();
        let connector = Arc::new(Connector::new(url, Arc::default(), Arc::default()));
        let context = Arc::new(Context::new(connector, None, Duration::ZERO));
        let slow = async |_: &Arc<Context>, findings: &mut Vec<Finding>| {
            findings.push(Finding::warning("no-store", &[], "found before"));
            std::future::pending().await
        };
        let findings = runtime.block_on(played_within(Duration::from_millis(1), &context, slow));
        let codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["no-store", "examination-unfinished"]);
        assert_eq!(findings[1].severity, Severity::Warning);
    }

    #[test]
    fn an_address_with_leading_zeros_is_refused() {
        assert!(parse("http://10.0.0.10/x.iso").is_ok());
        let options = Options { trust: Trust::System, slow: Duration::ZERO };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let error = runtime.block_on(examine("http://10.0.0.010/x.iso", &options)).err().unwrap().to_string();
        assert!(error.contains("is 10.0.0.8, ") && error.contains("without leading zeros"), "{error}");
    }
}
