//! How long a kernel's command line can be, with what boot loaders add to it.

use super::{BootConfig, Loader};
use crate::kernel_arguments::key_of;

/// `COMMAND_LINE_SIZE` of x86, arm64 and ppc64le, without the byte that ends the line.
pub(crate) const MAX_COMMAND_LINE: usize = 2047;

/// The longest line that every boot loader passes on. ISOLINUX (`load_linux.c`) and the `linuxefi` of some GRUBs count the
/// byte that ends the line as a part of the length in the kernel's header, which is [`MAX_COMMAND_LINE`] on x86. ISOLINUX and
/// iPXE cut a longer line off. GRUB, and the kernel under UEFI, silently leave out whole arguments.
const MAX_LOADED: usize = MAX_COMMAND_LINE - 1;

/// What a variable of GRUB counts as if only the running GRUB knows its value, which is a device, a UUID or a path.
const UNKNOWN_VALUE: &str = "................................................................";

/// A command line that would not reach the kernel as a whole.
// The values of arguments may be secrets, so the message shows only a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the kernel command line would have {length} bytes, {added} of which the boot loader adds, but boot loader and kernel \
     accept at most {limit}; leave out or shorten arguments, such as {longest:?}, which has {longest_length} bytes"
)]
pub struct CommandLineTooLong {
    /// The length of the command line, in bytes.
    pub length: usize,
    /// How much of it is the boot loader's.
    pub added: usize,
    /// The limit in bytes.
    pub limit: usize,
    /// The key of the longest argument.
    pub longest: String,
    /// The length of that argument, in bytes.
    pub longest_length: usize,
}

/// Fails if these arguments would not reach the kernel as a whole, behind `added` bytes from the boot loader.
pub(crate) fn check_length(added: usize, arguments: &[&str]) -> Result<(), CommandLineTooLong> {
    let blanks = arguments.len().saturating_sub(1);
    let length = added + blanks + arguments.iter().map(|argument| argument.len()).sum::<usize>();
    if length <= MAX_LOADED {
        return Ok(());
    }
    let longest = arguments.iter().max_by_key(|argument| argument.len()).copied().unwrap_or_default();
    let (longest_length, longest) = (longest.len(), key_of(longest));
    Err(CommandLineTooLong { length, added, limit: MAX_LOADED, longest, longest_length })
}

impl Loader {
    /// The length of what the boot loader puts before the arguments, with the blank behind it. The paths are as the
    /// configuration has them.
    pub(crate) fn added_length(self, kernel: &str, initrds: &[&str]) -> usize {
        let image = "BOOT_IMAGE= ".len() + kernel.len();
        match self {
            Self::Grub => image,
            Self::Syslinux if initrds.is_empty() => image,
            Self::Syslinux => image + "initrd= ".len() + initrds.join(",").len(),
            Self::SystemdBoot => initrds.iter().map(|initrd| "initrd= ".len() + initrd.len()).sum(),
        }
    }
}

impl BootConfig {
    /// Like [`Loader::added_length`], with what GRUB's variables add to the kernel's path and the arguments.
    pub(super) fn added_length(&self, kernel: &str, initrds: &[&str], arguments: &[&str]) -> usize {
        let texts = std::iter::once(&kernel).chain(arguments);
        let variables: usize = match self.loader {
            Loader::Grub => texts.map(|text| self.variables.expansion(text, UNKNOWN_VALUE)).sum(),
            Loader::Syslinux | Loader::SystemdBoot => 0,
        };
        self.loader.added_length(kernel, initrds) + variables
    }
}
