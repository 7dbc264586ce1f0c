//! Errors about changes to configurations.

use super::{CommandLineTooLong, Loader};
use crate::kernel_arguments::KernelArgumentError;

/// Why dayone cannot change an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotEditable {
    /// It boots something other than Linux: another system, another loader, a reboot.
    #[error("it does not boot a Linux kernel")]
    NoKernel,
    /// It boots a kernel without an initrd, usually a memory test.
    #[error("it boots a kernel without an initrd")]
    NoInitrd,
    /// It boots an EFI program, which may contain kernel, arguments and initrd in one signed file.
    #[error("it boots an EFI program; a unified kernel image, for example, contains its own arguments and initrd")]
    EfiProgram,
    /// It boots with a command whose arguments dayone does not read.
    #[error("it boots with {0}, and dayone changes only what 'linux' and 'initrd' load")]
    Command(&'static str),
    /// Its arguments are not a valid command line.
    #[error("{0}")]
    Arguments(KernelArgumentError),
    /// The loader removes quotes, so the kernel gets other arguments than those in the configuration.
    #[error("the boot loader does not pass its kernel arguments on with the quotes that they have")]
    Quotes,
}

/// Why dayone cannot make a change to configurations. The values of arguments may be secrets, so messages show only keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootConfigError {
    /// A selected entry does not exist.
    #[error("no boot menu has the entry {wanted:?}; available entries: {available}")]
    UnknownTitle {
        /// The title or id that no entry has.
        wanted: String,
        /// The titles of all entries.
        available: String,
    },
    /// A selected entry cannot be changed.
    #[error("the boot entry {title:?} cannot be changed: {reason}")]
    NotEditable {
        /// Its title.
        title: String,
        /// Why.
        reason: NotEditable,
    },
    /// No selected entry boots Linux with an initrd. With the titles of all entries.
    #[error("no boot menu has an entry that boots a Linux kernel with an initrd; available entries: {0}")]
    NothingToEdit(String),
    /// No selected entry has an argument to delete or replace.
    #[error("in the chosen boot entries: {0}")]
    Missing(#[from] KernelArgumentError),
    /// The loader would change an argument or an initrd on the way to the kernel.
    #[error(
        "{loader} would change the kernel argument {key:?}, because of its quoting or its own options; \
         write a value with spaces as KEY=\"VALUE\""
    )]
    NotPassedOn {
        /// What stands before the first `=`.
        key: String,
        /// The loader.
        loader: Loader,
    },
    /// A command line would be too long for the kernel or the loader.
    #[error("the boot entry {title:?}: {reason}")]
    TooLong {
        /// The entry's title.
        title: String,
        /// How much too long.
        reason: CommandLineTooLong,
    },
    /// A path that some boot loaders would read differently.
    #[error(
        "{0:?} cannot be the path of an initrd in a boot configuration; use a path that begins with '/' and has only \
         letters, digits and . _ - + / ~"
    )]
    Path(String),
}
