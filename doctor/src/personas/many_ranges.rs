//! Many small ranges on one connection, in no order, as Dell's iDRAC and others read while a host boots: about 3000
//! for one boot are reported. HEAD comes first. Made from reports: the firmware is closed.

use std::ops::Range;

use crate::finding::{Finding, Reader};
use crate::http::{Ask, GLIMPSE, Trouble};
use crate::lab::{BLOCK, Lab};
use crate::ranges::{self, Asking, Care};

const AFFECTS: [Reader; 3] = [Reader::Idrac, Reader::Ilo, Reader::SomeFirmware];
const ASKING: Asking<'_> = Asking { care: Care::Headers, affects: &AFFECTS };

const REQUESTS: u64 = 64;

pub(crate) async fn play(lab: &Lab, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let mut session = lab.session();
    let head = session.ask(&Ask::head(), GLIMPSE).await?;
    if !head.is_success() {
        let message = format!("HEAD is answered with {}", head.status.as_u16());
        findings.push(Finding::warning("head-refused", &AFFECTS, message).seen(&head));
    }
    let mut last = head;
    for number in 0..REQUESTS {
        let range = small_range(number, lab.size.unwrap_or(BLOCK));
        let (answer, right) = ranges::read(lab, &mut session, &Ask::range(&range), &range, ASKING, findings).await?;
        last = answer;
        if !right {
            return Ok(());
        }
    }
    let connections = session.connections();
    if connections as u64 > REQUESTS / 4 {
        let message =
            format!("{REQUESTS} requests needed {connections} connections: the server does not keep them open");
        findings.push(
            Finding::warning("no-keep-alive", &AFFECTS, message)
                .seen(&last)
                .advice("let the server keep connections open (keep-alive)"),
        );
    }
    Ok(())
}

/// One to eight blocks somewhere, the same in every run.
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
