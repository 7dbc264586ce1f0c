//! QEMU's block driver for HTTP (`block/curl.c`). It sends HEAD, then requests ranges of 256 KiB and more. Each must
//! arrive within five seconds.

use std::sync::Arc;
use std::time::Duration;

use super::block_device;
use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::http::{Answer, Request, RequestError};
use crate::ranges::{self, Checks, RangeCheck};

const AFFECTS: [Reader; 1] = [Reader::Qemu];
const CHECK: RangeCheck<'_> = RangeCheck { checks: Checks::Bytes, affects: &AFFECTS };

/// How many bytes it reads ahead.
const LENGTH: u64 = 256 << 10;

/// Its time limit for a request, from the first byte sent to the last byte received.
const LIMIT: Duration = Duration::from_secs(5);

pub(crate) async fn play(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let mut session = context.session();
    let Some(head) = block_device::open(context, &mut session, &AFFECTS, findings).await? else { return Ok(()) };
    let mut slowest = head;
    // The beginning and the end are enough: QEMU reads in the same way in between.
    let ranges = context.first_ranges(LENGTH);
    for range in ranges.first().into_iter().chain(ranges.last().filter(|_| ranges.len() > 1)) {
        let (answer, right) =
            ranges::read(context, &mut session, &Request::range(range), range, CHECK, findings).await?;
        if answer.took > slowest.took {
            slowest = answer;
        }
        if !right {
            break;
        }
    }
    findings.extend(too_slow(&slowest));
    Ok(())
}

fn too_slow(answer: &Answer) -> Option<Finding> {
    (answer.took > LIMIT).then(|| {
        let message =
            format!("an answer took {:.1} s, but QEMU gives up after {} s", answer.took.as_secs_f64(), LIMIT.as_secs());
        Finding::fails("slower-than-qemu-waits", &AFFECTS, message)
            .seen(answer)
            .advice("serve the file from a closer server, or give QEMU a longer timeout (file.timeout)")
    })
}
