//! The readers. Each sends the requests of a known reader, and checks the answers as that reader does.

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
pub(super) mod uefi_http;
mod uefi_tls;
