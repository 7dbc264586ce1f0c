//! The other forms of a range (RFC 9110 §14.1.2): without an end, counted from the end, past the end, and on a
//! condition. Clients that resume a transfer use them.

use std::ops::Range;

use http::StatusCode;
use http::header::{CONTENT_RANGE, ETAG, IF_RANGE, RANGE};

use crate::finding::{Finding, Reader};
use crate::http::{Ask, Session, Trouble};
use crate::lab::{BLOCK, Lab};
use crate::ranges::{self, Asking, Care};

const AFFECTS: [Reader; 1] = [Reader::SomeFirmware];
const ASKING: Asking<'_> = Asking { care: Care::Headers, affects: &AFFECTS };

pub(crate) async fn play(lab: &Lab, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let Some(size) = lab.size.filter(|size| *size > 0) else { return Ok(()) };
    let mut session = lab.session();
    let tail = size.saturating_sub(BLOCK)..size;
    let length = tail.end - tail.start;
    for value in [format!("bytes={}-", tail.start), format!("bytes=-{length}")] {
        let ask = Ask::get().with(RANGE, &value);
        let (_, right) = ranges::read(lab, &mut session, &ask, &tail, ASKING, findings).await?;
        if !right {
            return Ok(());
        }
    }
    past_the_end(lab, size, findings).await?;
    on_condition(lab, session, &tail, findings).await
}

async fn past_the_end(lab: &Lab, size: u64, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let past = Ask::range(&(size..size.saturating_add(BLOCK)));
    let answer = lab.ask(&past).await?;
    let message = match answer.status {
        StatusCode::RANGE_NOT_SATISFIABLE if answer.header(&CONTENT_RANGE) == format!("bytes */{size}") => {
            return Ok(());
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            format!("the answer to a range past the end does not say \"bytes */{size}\"")
        }
        status => format!("a range past the end is answered with {}, not with 416", status.as_u16()),
    };
    findings.push(Finding::warning("range-past-the-end", &AFFECTS, message).seen(&answer).advice(
        "firmware that looks for the end in this way does not find it; another server does as the standard says",
    ));
    Ok(())
}

async fn on_condition(
    lab: &Lab,
    mut session: Session,
    tail: &Range<u64>,
    findings: &mut Vec<Finding>,
) -> Result<(), Trouble> {
    let head = lab.ask(&Ask::head()).await?;
    let tag = head.header(&ETAG);
    // A weak tag is none for ranges (§13.1.5).
    if !tag.starts_with('"') {
        return Ok(());
    }
    let ask = Ask::range(tail).with(IF_RANGE, tag);
    ranges::read(lab, &mut session, &ask, tail, ASKING, findings).await?;
    let other = Ask::range(tail).with(IF_RANGE, "\"dayone-doctor\"");
    let answer = lab.ask(&other).await?;
    if answer.status == StatusCode::PARTIAL_CONTENT {
        let message = "a range of a version that the server does not have (If-Range) is answered with bytes of another";
        findings.push(
            Finding::warning("if-range-ignored", &AFFECTS, message)
                .seen(&answer)
                .advice("give each content an address of its own, so that nobody continues with another"),
        );
    }
    Ok(())
}
