//! Whether an answer to a range request holds what was asked for (RFC 9110 §14 and §15.3.7).

use std::ops::Range;

use http::StatusCode;
use http::header::{CONTENT_ENCODING, CONTENT_RANGE};

use super::finding::{Finding, Reader, Severity};
use super::http::{Answer, Ask, Session, Trouble};
use super::lab::Lab;

/// What to do about a server that has no ranges.
pub(super) const SERVE_RANGES: &str = "serve the file with dayone serve, nginx or Apache httpd; Python's http.server and \
                                       others that send the whole file for every range do not work";

/// What a reader looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// At the status and the bytes, as libcurl does.
    Bytes,
    /// At Content-Range as well.
    Headers,
}

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) care: Care,
    pub(super) affects: &'a [Reader],
}

/// Asks for a range, and says what is wrong with the answer. The second value is whether the reader gets its bytes.
pub(super) async fn read(
    lab: &Lab,
    session: &mut Session,
    ask: &Ask,
    range: &Range<u64>,
    asking: Asking<'_>,
    findings: &mut Vec<Finding>,
) -> Result<(Answer, bool), Trouble> {
    // What comes with the last of the bytes shows whether there are more.
    let limit = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let answer = session.ask(ask, limit).await?;
    let finding = judge(lab.size, range, &answer, asking).or_else(|| {
        let wanted = answer.body.get(..limit).unwrap_or(&answer.body);
        let offset = lab.saw(range.start, wanted)?;
        Some(differing(offset, &answer))
    });
    let right = finding.as_ref().is_none_or(|finding| finding.severity != Severity::Fails);
    findings.extend(finding);
    Ok((answer, right))
}

/// Bytes that are not what they were.
pub(super) fn differing(offset: u64, answer: &Answer) -> Finding {
    let message = format!("the bytes from {offset} on are not those that came before");
    Finding::fails("bytes-differ", &[Reader::Everyone], message)
        .seen(answer)
        .advice("a host would boot from a mixture: give each content an address of its own, and write nothing into a file that is served")
}

fn judge(size: Option<u64>, range: &Range<u64>, answer: &Answer, asking: Asking<'_>) -> Option<Finding> {
    let Asking { care, affects } = asking;
    let wanted = range.end - range.start;
    let fails = |code, message: String| Some(Finding::fails(code, affects, message).seen(answer).advice(SERVE_RANGES));
    match answer.status {
        StatusCode::PARTIAL_CONTENT => {}
        StatusCode::OK => {
            return fails("range-ignored", "a request for a range is answered with the whole file (200)".to_owned());
        }
        status => return fails("range-refused", format!("a request for a range is answered with {}", status.as_u16())),
    }
    let encoding = answer.header(&CONTENT_ENCODING);
    if !matches!(encoding, "" | "identity") {
        return fails("range-encoded", format!("a range is sent in another form than that of the file ({encoding})"));
    }
    if care == Care::Headers
        && let Some((code, message)) = content_range(size, range, answer)
    {
        return fails(code, message);
    }
    let length = answer.body.len() as u64;
    if length < wanted || care == Care::Headers && (length > wanted || !answer.complete) {
        let came = if answer.complete { length.to_string() } else { "more".to_owned() };
        return fails("range-length-wrong", format!("{wanted} bytes were asked for, and {came} came"));
    }
    if answer.length().is_none() {
        let message = "a range comes without Content-Length, so its end is known late";
        return Some(Finding::warning("range-without-length", affects, message).seen(answer).advice(SERVE_RANGES));
    }
    None
}

/// What is wrong with Content-Range.
fn content_range(size: Option<u64>, range: &Range<u64>, answer: &Answer) -> Option<(&'static str, String)> {
    let told = answer.header(&CONTENT_RANGE);
    let bytes = format!("bytes {}-{}/", range.start, range.end.saturating_sub(1));
    let (right, expected) = match size {
        Some(size) => (told == format!("{bytes}{size}"), format!("be \"{bytes}{size}\"")),
        None => (told.starts_with(&bytes), format!("begin with \"{bytes}\"")),
    };
    match told {
        "" => Some(("content-range-missing", "a range comes without Content-Range".to_owned())),
        _ if right => None,
        _ => Some(("content-range-wrong", format!("Content-Range should {expected}"))),
    }
}
