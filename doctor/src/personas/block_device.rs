//! What nbdkit's curl plugin and QEMU's driver have in common: a block device over libcurl. Before they read anything,
//! the answer to HEAD must have the size, and say that the server supports ranges.

use http::StatusCode;
use http::header::ACCEPT_RANGES;

use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::http::{Answer, Request, RequestError, SMALL_BODY, Session};
use crate::ranges::SERVE_RANGES;

/// Sends HEAD and checks the answer. Returns `None` if the reader would stop here.
pub(super) async fn open(
    context: &Context,
    session: &mut Session,
    affects: &[Reader],
    findings: &mut Vec<Finding>,
) -> Result<Option<Answer>, RequestError> {
    let answer = session.send(&Request::head(), SMALL_BODY).await?;
    let before = findings.len();
    if answer.status != StatusCode::OK {
        findings.push(Finding::head_refused(affects, &answer));
        return Ok(None);
    }
    match (answer.length(), context.size) {
        (None, _) => {
            let message = format!(
                "the answer to HEAD has {}, so the reader does not know the size and refuses the image",
                answer.missing_length()
            );
            findings.push(Finding::fails("head-without-length", affects, message).seen(&answer).advice(
                "configure the server to send one Content-Length with HEAD; some servers send it only for files, not \
                 for generated content",
            ));
        }
        (Some(told), Some(size)) if told != size => {
            let message = format!(
                "the answer to HEAD says {told} bytes, which the reader takes for the size; the file has {size}"
            );
            findings.push(
                Finding::fails("sizes-differ", affects, message)
                    .seen(&answer)
                    .advice("configure the server to answer HEAD like GET, without the body"),
            );
        }
        _ => {}
    }
    if !offers_ranges(&answer) {
        let message = "the answer to HEAD has no \"Accept-Ranges: bytes\", so the reader refuses the image";
        findings.push(Finding::fails("accept-ranges-missing", affects, message).seen(&answer).advice(SERVE_RANGES));
    } else if !session.began_with(b"\r\nAccept-Ranges: bytes") {
        let message = "the capitals in the name Accept-Ranges are not those that QEMU before 5.0 and nbdkit before \
                       1.18 look for";
        findings.push(
            Finding::warning("accept-ranges-letters", affects, message)
                .seen(&answer)
                .advice("configure the server, or the proxy in front of it, to send exactly \"Accept-Ranges: bytes\""),
        );
    }
    let opened =
        findings.get(before..).unwrap_or_default().iter().all(|finding| finding.code == "accept-ranges-letters");
    Ok(opened.then_some(answer))
}

/// Whether the value is exactly `bytes`, as both readers demand.
fn offers_ranges(answer: &Answer) -> bool {
    answer.headers.get_all(ACCEPT_RANGES).iter().any(|value| value.as_bytes().trim_ascii() == b"bytes")
}
