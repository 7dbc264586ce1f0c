//! nbdkit's curl plugin, which `OpenBMC`'s virtual media is made of (`plugins/curl/pool.c`): HEAD, then the ranges that
//! the host reads.

use super::block_device;
use crate::finding::{Finding, Reader};
use crate::http::{Ask, Trouble};
use crate::lab::Lab;
use crate::ranges::{self, Asking, Care};

const AFFECTS: [Reader; 2] = [Reader::Nbdkit, Reader::OpenBmc];
const ASKING: Asking<'_> = Asking { care: Care::Bytes, affects: &AFFECTS };

/// What a host's kernel reads at once from a slow disk.
const LENGTH: u64 = 32 << 10;

pub(crate) async fn play(lab: &Lab, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let mut session = lab.session();
    if block_device::open(&mut session, &AFFECTS, findings).await?.is_none() {
        return Ok(());
    }
    for range in lab.spots(LENGTH) {
        let (_, right) = ranges::read(lab, &mut session, &Ask::range(&range), &range, ASKING, findings).await?;
        if !right {
            break;
        }
    }
    Ok(())
}
