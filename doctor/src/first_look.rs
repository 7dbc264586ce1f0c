//! The first requests: they show whether the file exists, how large it is, and where redirects lead.

use std::sync::Arc;

use http::header::{CONTENT_RANGE, LOCATION};
use url::Url;

use super::finding::{Finding, Reader};
use super::http::{Answer, Connector, Request, RequestError, SMALL_BODY, SharedVerifier, Traffic};

/// Maximum number of redirects. QEMU's libcurl and Python's requests follow at least as many.
const MAX_REDIRECTS: usize = 5;

/// The result of the first requests.
pub(super) struct FirstLook {
    /// Connects to the server that has the file.
    pub(super) connector: Arc<Connector>,
    pub(super) size: Option<u64>,
    /// Whether the server serves the file. Otherwise there is nothing else to examine.
    pub(super) served: bool,
    pub(super) findings: Vec<Finding>,
}

/// Sends the first requests, and follows redirects.
pub(super) async fn examine(
    url: Url,
    verifier: &Arc<SharedVerifier>,
    traffic: &Arc<Traffic>,
) -> Result<FirstLook, RequestError> {
    let mut findings = Vec::new();
    let mut connector = Connector::new(url, Arc::clone(verifier), Arc::clone(traffic));
    let mut followed = 0;
    loop {
        let answers = send(&connector).await?;
        // Some servers do not answer HEAD correctly. Then the answer to GET counts.
        let Some(answer) = answers.iter().find(|answer| answer.is_success()).or(answers.last()) else {
            return Ok(FirstLook { connector: Arc::new(connector), size: None, served: false, findings });
        };
        if answer.status.is_redirection() && !answer.header(&LOCATION).is_empty() {
            findings.push(redirect(answer));
            followed += 1;
            match target(connector.url(), answer.header(&LOCATION)) {
                Some(next) if followed <= MAX_REDIRECTS => {
                    connector = Connector::new(next, Arc::clone(verifier), Arc::clone(traffic));
                    continue;
                }
                Some(_) => findings.push(
                    Finding::fails("too-many-redirects", &[Reader::Everyone], "there are too many redirects")
                        .seen(answer),
                ),
                None => findings.push(
                    Finding::fails(
                        "redirect-to-nowhere",
                        &[Reader::Everyone],
                        "the redirect does not lead to an HTTP URL",
                    )
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
            let message = "the server does not send the size of the file";
            findings.push(
                Finding::fails("size-unknown", &[Reader::Everyone], message)
                    .seen(answer)
                    .advice("configure the server to send Content-Length"),
            );
        }
        return Ok(FirstLook { connector: Arc::new(connector), size, served, findings });
    }
}

/// Sends HEAD and, if the answer does not have the size, GET of one byte.
async fn send(connector: &Connector) -> Result<Vec<Answer>, RequestError> {
    let mut answers = Vec::new();
    let mut last_error = None;
    for request in [Request::head(), Request::range(&(0..1))] {
        let answer = match connector.connect().await {
            Ok(mut connection) => connection.send(&request, SMALL_BODY).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(answer) => {
                let is_enough = answer.status.is_redirection() || answer.is_success() && size(&answer).is_some();
                answers.push(answer);
                if is_enough {
                    break;
                }
            }
            Err(error) if error.is_before_http() => return Err(error),
            Err(error) => last_error = Some(error),
        }
    }
    match last_error {
        Some(error) if answers.is_empty() => Err(error),
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
    let affects = [Reader::OpenBmc, Reader::UefiHttp, Reader::SomeFirmware];
    Finding::fails(
        "redirect",
        &affects,
        "the server redirects, and Intel's virtual-media, UEFI HTTP boot and other readers do not follow redirects",
    )
    .seen(answer)
    .advice("use the URL that the redirect leads to")
}

fn not_served(answer: &Answer) -> Finding {
    let (message, advice) = match answer.status.as_u16() {
        401 | 403 => (
            "the server asks for credentials",
            "BMCs have no credentials, or send wrong ones: protect the file with a URL that nobody can guess",
        ),
        404 | 410 => {
            ("the file does not exist", "check the URL; if it is from dayone, check whether the image was released")
        }
        503 => ("the server cannot serve the file at the moment", "look at the server's log"),
        500..600 => ("the server fails", "look at the server's log"),
        _ => ("the server does not serve the file", "check the URL"),
    };
    let message = format!("{message} ({})", answer.status.as_u16());
    Finding::fails("not-served", &[Reader::Everyone], message).seen(answer).advice(advice)
}
