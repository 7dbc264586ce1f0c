//! Other forms of a range (RFC 9110 §14.1.2): without an end, from the end, past the end, and with a condition. Clients
//! that resume a transfer use them.

use std::ops::Range;
use std::sync::Arc;

use http::StatusCode;
use http::header::{CONTENT_RANGE, ETAG, IF_RANGE, RANGE};

use crate::context::{BLOCK, Context};
use crate::finding::{Finding, Reader};
use crate::http::{Request, RequestError, Session};
use crate::ranges::{self, Checks, RangeCheck};

const AFFECTS: [Reader; 1] = [Reader::SomeFirmware];
const CHECK: RangeCheck<'_> = RangeCheck { checks: Checks::Headers, affects: &AFFECTS };

pub(crate) async fn play(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let Some(size) = context.size.filter(|size| *size > 0) else { return Ok(()) };
    let mut session = context.session();
    let tail = size.saturating_sub(BLOCK)..size;
    let length = tail.end - tail.start;
    for value in [format!("bytes={}-", tail.start), format!("bytes=-{length}")] {
        let request = Request::get().with(RANGE, &value);
        let (_, right) = ranges::read(context, &mut session, &request, &tail, CHECK, findings).await?;
        if !right {
            return Ok(());
        }
    }
    past_the_end(context, size, findings).await?;
    on_condition(context, session, &tail, findings).await
}

async fn past_the_end(context: &Context, size: u64, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let past = Request::range(&(size..size.saturating_add(BLOCK)));
    let answer = context.send(&past).await?;
    let message = match answer.status {
        StatusCode::RANGE_NOT_SATISFIABLE if answer.header(&CONTENT_RANGE) == format!("bytes */{size}") => {
            return Ok(());
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            format!("the answer to a range past the end has no \"Content-Range: bytes */{size}\"")
        }
        status => format!("the server answers a range past the end with {} instead of 416", status.as_u16()),
    };
    findings.push(
        Finding::warning("range-past-the-end", &AFFECTS, message)
            .seen(&answer)
            .advice("use a server that follows RFC 9110, because some firmware finds the end of the file in this way"),
    );
    Ok(())
}

async fn on_condition(
    context: &Context,
    mut session: Session,
    tail: &Range<u64>,
    findings: &mut Vec<Finding>,
) -> Result<(), RequestError> {
    let head = context.send(&Request::head()).await?;
    let tag = head.header(&ETAG);
    // Weak tags do not count for ranges (§13.1.5).
    if !tag.starts_with('"') {
        return Ok(());
    }
    let request = Request::range(tail).with(IF_RANGE, tag);
    let mut found = Vec::new();
    ranges::read(context, &mut session, &request, tail, CHECK, &mut found).await?;
    let again = context.send(&Request::head()).await?;
    if again.header(&ETAG) != tag {
        // The whole file is then the right answer to If-Range.
        let message =
            "the ETag changes although the content does not, so no client can continue an interrupted transfer";
        findings.push(
            Finding::warning("etag-changes", &AFFECTS, message)
                .seen(&again)
                .advice("configure the server to send the same ETag for the same content, or none"),
        );
        return Ok(());
    }
    findings.append(&mut found);
    let other = Request::range(tail).with(IF_RANGE, "\"dayone-doctor\"");
    let answer = context.send(&other).await?;
    if answer.status == StatusCode::PARTIAL_CONTENT {
        let message = "the server ignores If-Range: for a version that it does not have, it answers with bytes of \
                       another version";
        findings.push(
            Finding::warning("if-range-ignored", &AFFECTS, message)
                .seen(&answer)
                .advice("use a new URL for each content, so that no client continues with another content"),
        );
    }
    Ok(())
}
