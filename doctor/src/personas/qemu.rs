//! QEMU's block driver for HTTP (`block/curl.c`): HEAD, then ranges of 256 KiB and more, each of which must be there
//! within five seconds.

use std::time::Duration;

use super::block_device;
use crate::finding::{Finding, Reader};
use crate::http::{Answer, Ask, Trouble};
use crate::lab::Lab;
use crate::ranges::{self, Asking, Care};

const AFFECTS: [Reader; 1] = [Reader::Qemu];
const ASKING: Asking<'_> = Asking { care: Care::Bytes, affects: &AFFECTS };

/// What it reads ahead.
const LENGTH: u64 = 256 << 10;

/// Its limit for a request, from the first byte sent to the last received.
const LIMIT: Duration = Duration::from_secs(5);

pub(crate) async fn play(lab: &Lab, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let mut session = lab.session();
    let Some(head) = block_device::open(&mut session, &AFFECTS, findings).await? else { return Ok(()) };
    let mut slowest = head;
    // The beginning and the end: between them it asks in the same way.
    let spots = lab.spots(LENGTH);
    for range in spots.first().into_iter().chain(spots.last().filter(|_| spots.len() > 1)) {
        let (answer, right) = ranges::read(lab, &mut session, &Ask::range(range), range, ASKING, findings).await?;
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
            format!("an answer took {:.1} s, and QEMU gives up after {} s", answer.took.as_secs_f64(), LIMIT.as_secs());
        Finding::fails("slower-than-qemu-waits", &AFFECTS, message)
            .seen(answer)
            .advice("serve from closer by, or give QEMU a longer timeout (file.timeout)")
    })
}
