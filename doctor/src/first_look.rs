//! The first requests: whether the file is there, how large it is, and where redirects lead.

use std::sync::Arc;

use http::header::{CONTENT_RANGE, LOCATION};
use url::Url;

use super::finding::{Finding, Reader};
use super::http::{Answer, Ask, Connector, GLIMPSE, Traffic, Trouble, Trust};

/// As many redirects as are followed; QEMU's libcurl and Python's requests follow at least as many.
const MAX_REDIRECTS: usize = 5;

/// What the first look saw.
pub(super) struct FirstLook {
    /// Where the file is.
    pub(super) connector: Arc<Connector>,
    pub(super) size: Option<u64>,
    /// Whether it is there: everything else is about a file that is.
    pub(super) served: bool,
    pub(super) findings: Vec<Finding>,
}

/// Looks at what the URL leads to.
pub(super) async fn look(url: Url, trust: &Trust, traffic: &Arc<Traffic>) -> Result<FirstLook, Trouble> {
    let mut findings = Vec::new();
    let mut connector = Connector::new(url, trust.clone(), Arc::clone(traffic));
    let mut followed = 0;
    loop {
        let answers = ask(&connector).await?;
        // A server that answers HEAD in its own way is told by its answer to GET.
        let Some(answer) = answers.iter().find(|answer| answer.is_success()).or(answers.last()) else {
            return Ok(FirstLook { connector: Arc::new(connector), size: None, served: false, findings });
        };
        if answer.status.is_redirection() && !answer.header(&LOCATION).is_empty() {
            findings.push(redirect(answer));
            followed += 1;
            match target(connector.url(), answer.header(&LOCATION)) {
                Some(next) if followed <= MAX_REDIRECTS => {
                    connector = Connector::new(next, trust.clone(), Arc::clone(traffic));
                    continue;
                }
                Some(_) => findings.push(
                    Finding::fails("too-many-redirects", &[Reader::Everyone], "the redirects do not end").seen(answer),
                ),
                None => findings.push(
                    Finding::fails("redirect-to-nowhere", &[Reader::Everyone], "the redirect leads to no HTTP server")
                        .seen(answer),
                ),
            }
            return Ok(FirstLook { connector: Arc::new(connector), size: None, served: false, findings });
        }
        let served = answer.is_success();
        if !served {
            findings.push(not_served(answer));
        }
        let size = answers.iter().filter(|answer| answer.is_success()).find_map(size);
        if served && size.is_none() {
            let message = "the server does not tell the size of the file";
            findings.push(
                Finding::fails("size-unknown", &[Reader::Everyone], message)
                    .seen(answer)
                    .advice("let the server send Content-Length"),
            );
        }
        return Ok(FirstLook { connector: Arc::new(connector), size, served, findings });
    }
}

/// HEAD; where that says too little, one byte; and where that is no range, whatever comes.
async fn ask(connector: &Connector) -> Result<Vec<Answer>, Trouble> {
    let mut answers = Vec::new();
    let mut trouble = None;
    for ask in [Ask::head(), Ask::range(&(0..1))] {
        let answer = match connector.connect().await {
            Ok(mut connection) => connection.ask(&ask, GLIMPSE).await,
            Err(trouble) => Err(trouble),
        };
        match answer {
            Ok(answer) => {
                let told = answer.status.is_redirection() || answer.is_success() && size(&answer).is_some();
                answers.push(answer);
                if told {
                    break;
                }
            }
            Err(error) if error.is_before_http() => return Err(error),
            Err(error) => trouble = Some(error),
        }
    }
    match trouble {
        Some(trouble) if answers.is_empty() => Err(trouble),
        _ => Ok(answers),
    }
}

/// The size of the whole file.
fn size(answer: &Answer) -> Option<u64> {
    if answer.status == http::StatusCode::PARTIAL_CONTENT {
        answer.header(&CONTENT_RANGE).rsplit_once('/')?.1.parse().ok()
    } else {
        answer.length()
    }
}

fn target(from: &Url, location: &str) -> Option<Url> {
    let next = from.join(location).ok()?;
    (matches!(next.scheme(), "http" | "https") && next.has_host()).then_some(next)
}

fn redirect(answer: &Answer) -> Finding {
    let affects = [Reader::OpenBmc, Reader::SomeFirmware];
    Finding::fails("redirect", &affects, "the server redirects: Intel's virtual-media and others do not follow")
        .seen(answer)
        .advice("hand out the address where the file is")
}

fn not_served(answer: &Answer) -> Finding {
    let (message, advice) = match answer.status.as_u16() {
        401 | 403 => (
            "the server wants credentials",
            "BMCs have none to give, or give wrong ones: protect the file by an address that cannot be guessed",
        ),
        404 | 410 => ("the file is not there", "check the address; of dayone, whether the image was released"),
        503 => ("the server cannot serve the file at the moment", "ask it why: its log says"),
        500..600 => ("the server fails", "ask it why: its log says"),
        _ => ("the server does not serve the file", "check the address"),
    };
    let message = format!("{message} ({})", answer.status.as_u16());
    Finding::fails("not-served", &[Reader::Everyone], message).seen(answer).advice(advice)
}
