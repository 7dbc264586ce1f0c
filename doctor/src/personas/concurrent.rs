//! Several readers of one image at once. All must get the same bytes.

use std::sync::Arc;

use futures_util::future::join_all;

use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::http::{Request, RequestError};
use crate::ranges::{self, Checks, RangeCheck};

const READERS: usize = 6;
const LENGTH: u64 = 16 << 10;

pub(crate) async fn play(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let readers = join_all((0..READERS).map(|reader| read(context, reader))).await;
    let (read, refused): (Vec<_>, Vec<_>) = readers.into_iter().partition(Result::is_ok);
    let mut found: Vec<Finding> = read.into_iter().flatten().flatten().collect();
    // Other examinations report problems with ranges. Here it only counts whether the bytes are the same.
    found.retain(|finding| finding.code == "bytes-differ");
    found.truncate(1);
    findings.append(&mut found);
    if let Some(Err(error)) = refused.into_iter().next() {
        let message = format!("the server did not serve {READERS} connections at once: {error}");
        findings.push(
            Finding::warning("concurrent-readers", &[Reader::Everyone], message)
                .advice("configure the server for more connections: every BMC opens several"),
        );
    }
    Ok(())
}

async fn read(context: &Context, reader: usize) -> Result<Vec<Finding>, RequestError> {
    let mut findings = Vec::new();
    let check = RangeCheck { checks: Checks::Headers, affects: &[Reader::Everyone] };
    let mut session = context.session();
    let mut ranges = context.first_ranges(LENGTH);
    // Each reader begins with another range.
    let places = ranges.len().max(1);
    ranges.rotate_left(reader % places);
    for range in ranges {
        ranges::read(context, &mut session, &Request::range(&range), &range, check, &mut findings).await?;
    }
    Ok(findings)
}
