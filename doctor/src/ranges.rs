//! Checks the answers to range requests (RFC 9110 §14 and §15.3.7).

use std::ops::Range;

use http::StatusCode;
use http::header::{CONTENT_ENCODING, CONTENT_RANGE};

use super::context::Context;
use super::finding::{Finding, Reader, Severity};
use super::http::{Answer, Request, RequestError, Session};

/// What to do if a server does not support ranges.
pub(super) const SERVE_RANGES: &str = "serve the file with dayone serve, nginx or Apache httpd; Python's http.server \
                                       and others that send the whole file for every range do not work";

/// What a reader checks in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checks {
    /// The status and the bytes, as libcurl does.
    Bytes,
    /// Content-Range, too.
    Headers,
}

/// How a reader checks ranges, and whom a finding affects.
#[derive(Debug, Clone, Copy)]
pub(super) struct RangeCheck<'a> {
    pub(super) checks: Checks,
    pub(super) affects: &'a [Reader],
}

/// Requests a range and checks the answer. The second value is whether the reader gets its bytes.
pub(super) async fn read(
    context: &Context,
    session: &mut Session,
    request: &Request,
    range: &Range<u64>,
    check: RangeCheck<'_>,
    findings: &mut Vec<Finding>,
) -> Result<(Answer, bool), RequestError> {
    // The frame with the last byte also shows whether there are more bytes.
    let limit = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let answer = session.send(request, limit).await?;
    let is_right = |finding: &Option<Finding>| finding.as_ref().is_none_or(|found| found.severity != Severity::Fails);
    let mut finding = check_answer(context.size, range, &answer, check);
    if is_right(&finding) {
        let wanted = answer.body.get(..limit).unwrap_or(&answer.body);
        finding = context.record(range.start, wanted).map(|offset| differing(offset, &answer)).or(finding);
    }
    let is_right = is_right(&finding);
    findings.extend(finding);
    Ok((answer, is_right))
}

/// The finding about bytes that differ from an earlier answer.
pub(super) fn differing(offset: u64, answer: &Answer) -> Finding {
    let message = format!("the bytes from offset {offset} on differ from those of an earlier answer");
    Finding::fails("bytes-differ", &[Reader::Everyone], message).seen(answer).advice(
        "a host would boot from a mixture: use a new URL for each content, and do not write to a file that is served",
    )
}

fn check_answer(size: Option<u64>, range: &Range<u64>, answer: &Answer, check: RangeCheck<'_>) -> Option<Finding> {
    let RangeCheck { checks, affects } = check;
    let wanted = range.end - range.start;
    let fails = |code, message: String| Some(Finding::fails(code, affects, message).seen(answer).advice(SERVE_RANGES));
    match answer.status {
        StatusCode::PARTIAL_CONTENT => {}
        StatusCode::OK => {
            return fails(
                "range-ignored",
                "the server answers a request for a range with the whole file (200)".to_owned(),
            );
        }
        status => {
            return fails(
                "range-refused",
                format!("the server answers a request for a range with {}", status.as_u16()),
            );
        }
    }
    let encoding = answer.header(&CONTENT_ENCODING);
    if !matches!(encoding, "" | "identity") {
        return fails("range-encoded", format!("the server sends a range with another encoding ({encoding})"));
    }
    if checks == Checks::Headers
        && let Some((code, message)) = content_range(size, range, answer)
    {
        return fails(code, message);
    }
    let length = answer.body.len() as u64;
    if length < wanted || checks == Checks::Headers && (length > wanted || !answer.complete) {
        let came = if answer.complete { length.to_string() } else { "more".to_owned() };
        return fails("range-length-wrong", format!("the doctor requested {wanted} bytes and got {came}"));
    }
    if checks == Checks::Headers && answer.header(&CONTENT_RANGE).ends_with("/*") {
        let message = "Content-Range does not tell the size of the file, which some readers may learn from it";
        let advice = "configure the server to send the size in Content-Range; HTTP allows to leave it out";
        let affects = [Reader::SomeFirmware];
        return Some(Finding::warning("content-range-without-size", &affects, message).seen(answer).advice(advice));
    }
    if answer.length().is_none() {
        let message = "the answer to a range has no Content-Length, so a reader learns its end late";
        return Some(Finding::warning("range-without-length", affects, message).seen(answer).advice(SERVE_RANGES));
    }
    None
}

/// The problem with Content-Range, if there is one.
fn content_range(size: Option<u64>, range: &Range<u64>, answer: &Answer) -> Option<(&'static str, String)> {
    let content_range = answer.header(&CONTENT_RANGE);
    let bytes = format!("bytes {}-{}/", range.start, range.end.saturating_sub(1));
    let (right, expected) = match size {
        // A server need not know the size (RFC 9110 §14.4).
        Some(size) => {
            let is_right = content_range == format!("{bytes}{size}") || content_range == format!("{bytes}*");
            (is_right, format!("be \"{bytes}{size}\""))
        }
        None => (content_range.starts_with(&bytes), format!("begin with \"{bytes}\"")),
    };
    match content_range {
        "" => Some(("content-range-missing", "the answer to a range has no Content-Range".to_owned())),
        _ if right => None,
        _ => Some(("content-range-wrong", format!("Content-Range should {expected}"))),
    }
}
