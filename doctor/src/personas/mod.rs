//! The readers: each asks what it is known to ask, and judges the answers as it is known to do.

pub(super) mod block_device;
pub(super) mod concurrent;
pub(super) mod credentials;
pub(super) mod ironic;
pub(super) mod many_ranges;
pub(super) mod nbdkit;
pub(super) mod openbmc;
pub(super) mod protocol;
pub(super) mod qemu;
pub(super) mod range_forms;
pub(super) mod slow_reader;
pub(super) mod sushy_tools;
