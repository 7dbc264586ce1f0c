//! nbdkit's curl plugin (`plugins/curl/pool.c`), which `OpenBMC` uses for virtual media. It sends HEAD, then requests
//! the ranges that the host reads.

use std::sync::Arc;

use super::block_device;
use crate::context::Context;
use crate::finding::{Finding, Reader};
use crate::http::{Request, RequestError};
use crate::ranges::{self, Checks, RangeCheck};

const AFFECTS: [Reader; 2] = [Reader::Nbdkit, Reader::OpenBmc];
const CHECK: RangeCheck<'_> = RangeCheck { checks: Checks::Bytes, affects: &AFFECTS };

/// How many bytes a host's kernel reads at once from a slow disk.
const LENGTH: u64 = 32 << 10;

pub(crate) async fn play(context: &Arc<Context>, findings: &mut Vec<Finding>) -> Result<(), RequestError> {
    let mut session = context.session();
    if block_device::open(context, &mut session, &AFFECTS, findings).await?.is_none() {
        return Ok(());
    }
    for range in context.first_ranges(LENGTH) {
        let (_, right) = ranges::read(context, &mut session, &Request::range(&range), &range, CHECK, findings).await?;
        if !right {
            break;
        }
    }
    Ok(())
}
