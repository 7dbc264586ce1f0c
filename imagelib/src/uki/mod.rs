//! Unified kernel images: EFI programs of systemd-stub with a kernel, an initrd and kernel arguments in their sections
//! (`systemd-stub(7)`).
//!
//! Nothing in such a program can change, because one signature covers all of it. What a host gets in addition is beside the
//! program: an *addon*, an EFI program that is never run. The stub reads more kernel arguments and one more initrd from it.
//!
//! | module | what it does |
//! | --- | --- |
//! | `unified` | reads a unified kernel image |
//! | `stub` | tells the releases of systemd-stub apart, and what they take |
//! | `addon` | writes addons |

mod addon;
mod stub;
mod unified;

pub(crate) use addon::{Addon, Machine, addon_directory, addon_path};
pub use stub::{Carrier, StubVersion};
pub(crate) use unified::{UnifiedKernel, UnusableUki};
