//! The first requests: they show whether the file exists, how large it is, and where redirects lead.

use std::sync::Arc;

use http::StatusCode;
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
        // Some servers redirect only GET, which is what readers read with.
        let redirection = answers.iter().find(|answer| is_redirection(answer));
        // Some servers do not answer HEAD correctly. Then the answer to GET counts.
        let success = answers.iter().find(|answer| answer.is_success());
        let Some(answer) = redirection.or(success).or(answers.last()) else {
            return Ok(FirstLook { connector: Arc::new(connector), size: None, served: false, findings });
        };
        if is_redirection(answer) {
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
        let size = agreed_size(&connector, &answers).await;
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

/// Sends HEAD and, unless that is redirected, GET of one byte.
async fn send(connector: &Connector) -> Result<Vec<Answer>, RequestError> {
    let mut answers = Vec::new();
    let mut last_error = None;
    for request in [Request::head(), Request::range(&(0..1))] {
        match send_alone(connector, &request).await {
            Ok(answer) => {
                let is_enough = is_redirection(&answer);
                answers.push(answer);
                if is_enough {
                    break;
                }
            }
            Err(error) if error.is_before_http() && answers.is_empty() => return Err(error),
            Err(error) => last_error = Some(error),
        }
    }
    match last_error {
        Some(error) if answers.is_empty() => Err(error),
        _ => Ok(answers),
    }
}

/// Sends a request on a connection of its own.
async fn send_alone(connector: &Connector, request: &Request) -> Result<Answer, RequestError> {
    connector.connect().await?.send(request, SMALL_BODY).await
}

fn is_redirection(answer: &Answer) -> bool {
    answer.status.is_redirection() && !answer.header(&LOCATION).is_empty()
}

/// The size of the file. If the answers to HEAD and to GET of a byte differ, the answer to GET of the whole file decides, which is
/// what most readers take.
async fn agreed_size(connector: &Connector, answers: &[Answer]) -> Option<u64> {
    let mut sizes = answers.iter().filter(|answer| answer.is_success()).filter_map(size);
    let (first, second) = (sizes.next(), sizes.next());
    if first == second || second.is_none() {
        return first;
    }
    let whole = send_alone(connector, &Request::get()).await.ok().filter(|answer| answer.status == StatusCode::OK);
    whole.as_ref().and_then(size).or(first)
}

/// The size of the whole file.
pub(super) fn size(answer: &Answer) -> Option<u64> {
    if answer.status == StatusCode::PARTIAL_CONTENT {
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
        401 => (
            "the server asks for credentials",
            "BMCs have no credentials, or send wrong ones: protect the file with a URL that nobody can guess",
        ),
        403 => (
            "the server refuses to serve the file",
            "check the file's permissions: the user of the web server must be able to read it, and to enter its directories. If \
             they are right, look for rules of the server about addresses or names",
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
