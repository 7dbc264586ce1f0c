//! Many small ranges on one connection in no particular order, after a HEAD. Dell's iDRAC and others read in this way
//! while a host boots: reports say about 3000 ranges for one boot. The firmware is closed, so this imitates those
//! reports.

use std::ops::Range;
use std::sync::Arc;

use crate::context::{BLOCK, Context};
use crate::finding::{Finding, Reader, Severity};
use crate::http::{Request, RequestError, SMALL_BODY};
use crate::ranges::{self, Checks, RangeCheck};

const AFFECTS: [Reader; 3] = [Reader::Idrac, Reader::Ilo, Reader::SomeFirmware];
const CHECK: RangeCheck<'_> = RangeCheck { checks: Checks::Headers, affects: &AFFECTS };

const REQUESTS: u64 = 64;

pub(crate) async fn play(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let mut session = context.session();
    let head = session.send(&Request::head(), SMALL_BODY).await?;
    if !head.is_success() {
        findings.push(Finding { severity: Severity::Warning, ..Finding::head_refused(&AFFECTS, &head) });
    }
    let mut last = head;
    for number in 0..REQUESTS {
        let range = small_range(number, context.size.unwrap_or(BLOCK));
        let (answer, right) =
            ranges::read(context, &mut session, &Request::range(&range), &range, CHECK, findings).await?;
        last = answer;
        if !right {
            return Ok(());
        }
    }
    let connections = session.connections();
    if connections as u64 > REQUESTS / 4 {
        let message =
            format!("{REQUESTS} requests needed {connections} connections, because the server does not keep them open");
        findings.push(
            Finding::warning("no-keep-alive", &AFFECTS, message)
                .seen(&last)
                .advice("configure the server to keep connections open (keep-alive)"),
        );
    }
    Ok(())
}

/// One to eight blocks at some place, the same in every run.
fn small_range(number: u64, size: u64) -> Range<u64> {
    let blocks = size.div_ceil(BLOCK).max(1);
    let first = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % blocks;
    let start = first * BLOCK;
    start..(start + (number % 8 + 1) * BLOCK).min(size.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_within_the_file_and_not_empty() {
        for size in [1, 2048, 2049, 10 << 20] {
            for number in 0..REQUESTS {
                let range = small_range(number, size);
                assert!(!range.is_empty() && range.end <= size, "{range:?} of {size}");
            }
        }
    }
}
