//! `dayone doctor`: the requests of known readers of virtual media, played against any URL.
//!
//! Each reader is a file of [`personas`]. Readers whose source is public ask what the source asks (nbdkit, QEMU,
//! sushy-tools, Ironic, Intel's virtual-media); those of closed firmware are made from reports. No more than a few MiB
//! are read, one request at a time but where several at once are the point.

mod content;
mod evidence;
mod finding;
mod first_look;
mod http;
mod lab;
mod personas;
mod ranges;
mod url_form;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::time::timeout;
use url::Url;

pub use self::evidence::Evidence;
pub use self::finding::{Examination, Finding, Reader, Severity};
pub use self::http::Trust;
use self::http::{Traffic, Trouble};
use self::lab::Lab;
use self::personas::{
    concurrent, credentials, ironic, many_ranges, nbdkit, openbmc, protocol, qemu, range_forms, slow_reader,
    sushy_tools,
};

/// The longest that an examination may take, besides being slow on purpose.
const LIMIT: Duration = Duration::from_mins(2);

/// Why nothing can be said about a URL.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// Not a URL that BMCs know.
    #[error("{0:?} is not a URL of a file: write http://ADDRESS/DIRECTORY/NAME.iso, or https://…")]
    Url(String),
    /// No HTTP server.
    #[error("the server does not answer: {0}")]
    Unreachable(String),
}

/// What to examine with.
#[derive(Debug, Clone)]
pub struct Options {
    /// By what the server's certificate is judged.
    pub trust: Trust,
    /// How long the slow reader reads.
    pub slow: Duration,
}

/// What the doctor says about a URL.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    /// The URL, without credentials.
    pub url: String,
    /// The weight of the heaviest finding.
    pub outcome: Severity,
    /// The size of the file in bytes, where the server tells it.
    pub size: Option<u64>,
    /// The readers and rules, in the order in which they were tried.
    pub examinations: Vec<Examination>,
    /// How many requests were sent.
    pub requests: u64,
    /// How many bytes of bodies came.
    pub bytes: u64,
    /// How long it took.
    pub seconds: f64,
}

impl Diagnosis {
    /// How many findings weigh so much.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.examinations.iter().flat_map(|examination| &examination.findings);
        findings.filter(|finding| finding.severity == severity).count()
    }
}

/// Examines a URL.
pub async fn examine(text: &str, options: &Options) -> Result<Diagnosis, DoctorError> {
    let begun = Instant::now();
    let url = parse(text)?;
    let traffic = Arc::<Traffic>::default();
    let look = first_look::look(url.clone(), &options.trust, &traffic).await;
    let look = look.map_err(|trouble| DoctorError::Unreachable(trouble.to_string()))?;
    let mut examinations = vec![
        Examination::new("url", "form of the URL", url_form::judge(text, &url)),
        Examination::new("server", "first look at the server", look.findings),
    ];
    let size = look.size;
    if look.served {
        let lab = Arc::new(Lab::new(look.connector, size, options.slow));
        examinations.extend(play_all(&lab).await);
    }
    let outcome = examinations.iter().map(|examination| examination.outcome).max().unwrap_or(Severity::Ok);
    let (requests, bytes) = traffic.totals();
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Diagnosis { url: without_credentials(url), outcome, size, examinations, requests, bytes, seconds })
}

/// The slow readers read while the others do one after the other.
async fn play_all(lab: &Arc<Lab>) -> Vec<Examination> {
    let slow = async {
        tokio::join!(
            played(lab, "slow-reader", "slow reader, as reported of HPE iLO", async |found| slow_reader::play(
                lab, found
            )
            .await),
            played(lab, "idle-connection", "reader that comes back to its connection", async |found| {
                slow_reader::come_back(lab, found).await
            }),
        )
    };
    let (mut others, (slow, idle)) = tokio::join!(play_others(lab), slow);
    others.extend([slow, idle]);
    others
}

async fn play_others(lab: &Arc<Lab>) -> Vec<Examination> {
    let mut examinations = Vec::new();
    if lab.connector.is_tls() {
        let title = "TLS, as OpenBMC (Intel's virtual-media) wants it";
        examinations.push(played(lab, "tls", title, async |found| openbmc::play(lab, found).await).await);
    }
    examinations.extend([
        played(lab, "nbdkit", "nbdkit's curl plugin, as in OpenBMC", async |found| nbdkit::play(lab, found).await)
            .await,
        played(lab, "qemu", "QEMU's block driver", async |found| qemu::play(lab, found).await).await,
        played(lab, "sushy-tools", "sushy-tools", async |found| sushy_tools::play(lab, found).await).await,
        played(lab, "ironic", "Ironic", async |found| ironic::play(lab, found).await).await,
        played(lab, "many-ranges", "many small ranges, as reported of Dell iDRAC", async |found| {
            many_ranges::play(lab, found).await
        })
        .await,
        played(lab, "concurrent", "several readers at once", async |found| concurrent::play(lab, found).await).await,
        played(lab, "range-forms", "other forms of ranges", async |found| range_forms::play(lab, found).await).await,
        played(lab, "credentials", "BMCs that send dummy credentials", async |found| {
            credentials::play(lab, found).await
        })
        .await,
        played(lab, "protocol", "small HTTP clients", async |found| protocol::play(lab, found).await).await,
        played(lab, "content", "size and content", async |found| content::judge(lab, found).await).await,
    ]);
    examinations
}

/// One examination, bounded in time. That the server stops answering is a finding like others.
async fn played(
    lab: &Lab,
    name: &'static str,
    title: &'static str,
    play: impl AsyncFnOnce(&mut Vec<Finding>) -> Result<(), Trouble>,
) -> Examination {
    let mut findings = Vec::new();
    let limit = LIMIT + 2 * lab.slow;
    let played = timeout(limit, play(&mut findings)).await;
    let trouble = match played {
        Ok(Ok(())) => None,
        Ok(Err(trouble)) => Some(trouble),
        Err(_) => Some(Trouble::Slow(limit)),
    };
    findings.extend(trouble.map(|trouble| Finding::fails("no-answer", &[Reader::Everyone], trouble.to_string())));
    Examination::new(name, title, findings)
}

fn parse(text: &str) -> Result<Url, DoctorError> {
    let bad = || DoctorError::Url(text.to_owned());
    let url = Url::parse(text).map_err(|_| bad())?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() { Ok(url) } else { Err(bad()) }
}

fn without_credentials(mut url: Url) -> String {
    if url.password().is_some() || !url.username().is_empty() {
        // Neither fails for a URL that has a host.
        let _ = url.set_username("…");
        let _ = url.set_password(None);
    }
    url.into()
}
