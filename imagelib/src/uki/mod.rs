//! Unified kernel images: EFI programs of systemd-stub with a kernel, an initrd and kernel arguments in their sections
//! (`systemd-stub(7)`).
//!
//! Nothing in such a program can change, because one signature covers all of it. What a host gets in addition is beside the
//! program: an *addon*, an EFI program that is never run. The stub reads more kernel arguments and one more initrd from it. Where it
//! reads no initrd, a *credential* has the files, and systemd writes them.
//!
//! | module | what it does |
//! | --- | --- |
//! | `unified` | reads a unified kernel image |
//! | `stub` | tells the releases of systemd-stub apart, and what they take |
//! | `addon` | writes addons |
//! | `credential` | writes credentials |

mod addon;
mod credential;
mod stub;
mod unified;

pub(crate) use addon::{Addon, Machine, addon_path, companions_directory};
pub(crate) use credential::{
    CREDENTIAL_NAME, MAX_CREDENTIAL_BYTES, credential_argument, credential_file, credential_path, hides_credential,
    is_credential_of_dayone,
};
pub use stub::{Carrier, StubVersion};
pub(crate) use unified::{UnifiedKernel, UnusableUki};
