//! What nbdkit's curl plugin and QEMU's driver have in common: libcurl under a block device. HEAD must tell the size
//! and that there are ranges, before anything is read.

use http::StatusCode;
use http::header::ACCEPT_RANGES;

use crate::finding::{Finding, Reader};
use crate::http::{Answer, Ask, GLIMPSE, Session, Trouble};
use crate::ranges::SERVE_RANGES;

/// Sends HEAD and judges the answer. None if the reader would stop here.
pub(super) async fn open(
    session: &mut Session,
    affects: &[Reader],
    findings: &mut Vec<Finding>,
) -> Result<Option<Answer>, Trouble> {
    let answer = session.ask(&Ask::head(), GLIMPSE).await?;
    let before = findings.len();
    if answer.status != StatusCode::OK {
        let message = format!("HEAD is answered with {}", answer.status.as_u16());
        findings.push(
            Finding::fails("head-refused", affects, message)
                .seen(&answer)
                .advice("let the server answer HEAD as it does GET, without the body"),
        );
        return Ok(None);
    }
    if answer.length().is_none() {
        let message = "the answer to HEAD has no Content-Length: the size stays unknown, and the image is refused";
        findings.push(Finding::fails("head-without-length", affects, message).seen(&answer).advice(
            "let the server send Content-Length with HEAD; some do so only for files, not for what is generated",
        ));
    }
    if !offers_ranges(&answer) {
        let message = "the answer to HEAD has no \"Accept-Ranges: bytes\": the image is refused";
        findings.push(Finding::fails("accept-ranges-missing", affects, message).seen(&answer).advice(SERVE_RANGES));
    } else if !session.began_with(b"\r\nAccept-Ranges: bytes") {
        let message = "Accept-Ranges is written in other letters than those that QEMU before 5.0 and nbdkit before 1.18 \
                       look for";
        findings.push(
            Finding::warning("accept-ranges-letters", affects, message)
                .seen(&answer)
                .advice("let the server, or the proxy before it, write \"Accept-Ranges: bytes\" exactly so"),
        );
    }
    let opened =
        findings.get(before..).unwrap_or_default().iter().all(|finding| finding.code == "accept-ranges-letters");
    Ok(opened.then_some(answer))
}

/// Whether the value is `bytes` and nothing else, as both look for it.
fn offers_ranges(answer: &Answer) -> bool {
    answer.headers.get_all(ACCEPT_RANGES).iter().any(|value| value.as_bytes().trim_ascii() == b"bytes")
}
