//! Why a configuration cannot be changed as wished.

use super::Loader;
use crate::kernel_arguments::KernelArgumentError;

/// Why an entry stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotEditable {
    /// Another system, another loader, a reboot.
    #[error("it does not boot a Linux kernel")]
    NoKernel,
    /// A memory test, mostly.
    #[error("it boots a kernel without an initrd")]
    NoInitrd,
    /// One file that may hold, and sign, kernel, arguments and initrd.
    #[error("it boots an EFI program; a unified kernel image, for example, contains its own arguments and initrd")]
    EfiProgram,
    /// Arguments that are no command line.
    #[error("{0}")]
    Arguments(KernelArgumentError),
    /// Quotes that the loader does not pass on, so that the kernel sees other arguments than are written there.
    #[error("the boot loader does not pass its kernel arguments on with the quotes that they have")]
    Quotes,
}

/// Why configurations cannot be changed as wished. Arguments' values may be secrets: only keys are shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootConfigError {
    /// Entries are wished that no configuration has.
    #[error("no boot menu has the entry {wanted:?}; available entries: {available}")]
    UnknownTitle {
        /// The first that was not found.
        wanted: String,
        /// The titles of all entries.
        available: String,
    },
    /// An entry that was named and must stay as it is.
    #[error("the boot entry {title:?} cannot be changed: {reason}")]
    NotEditable {
        /// Its title.
        title: String,
        /// Why.
        reason: NotEditable,
    },
    /// There is nothing to boot that takes arguments or an initrd.
    #[error("no boot menu has an entry that boots a Linux kernel with an initrd; available entries: {0}")]
    NothingToEdit(String),
    /// Something to be deleted or replaced that no chosen entry has.
    #[error("in the chosen boot entries: {0}")]
    Missing(#[from] KernelArgumentError),
    /// Once written, the configuration would not say what it should.
    #[error(
        "{loader} would change the kernel argument {key:?}, because of its quoting or its own options; \
         write a value with spaces as KEY=\"VALUE\""
    )]
    NotPassedOn {
        /// What stands before the first `=`.
        key: String,
        /// Who would not pass it on.
        loader: Loader,
    },
    /// Longer than what the kernel, or the loader, takes.
    #[error(
        "the kernel command line of the boot entry {title:?} would have {length} bytes, but boot loader and kernel \
         accept at most {limit}; give fewer or shorter arguments"
    )]
    TooLong {
        /// The entry.
        title: String,
        /// What it would have.
        length: usize,
        /// What it may have.
        limit: usize,
    },
    /// A path that would not be read as one in every configuration.
    #[error(
        "{0:?} cannot be the path of an initrd in a boot configuration; use a path that begins with '/' and has only \
         letters, digits and . _ - + / ~"
    )]
    Path(String),
}
