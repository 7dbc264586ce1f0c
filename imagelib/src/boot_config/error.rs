//! Why a configuration cannot be changed as wished.

use super::Loader;
use crate::kernel_arguments::KernelArgumentError;

/// Why an entry stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotEditable {
    /// Another system, another loader, a reboot.
    #[error("it boots no Linux kernel")]
    NoKernel,
    /// A memory test, mostly.
    #[error("it boots a kernel without an initrd")]
    NoInitrd,
    /// One file that may hold, and sign, kernel, arguments and initrd.
    #[error("it boots an EFI program; a unified kernel image, for one, has its arguments and its initrd in itself")]
    EfiProgram,
    /// Arguments that are no command line.
    #[error("{0}")]
    Arguments(KernelArgumentError),
    /// Quotes that the loader does not pass on, so that the kernel sees other arguments than are written there.
    #[error("its kernel arguments are quoted in a way in which the boot loader does not pass them on")]
    Quotes,
}

/// Why configurations cannot be changed as wished. Arguments' values may be secrets: only keys are shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootConfigError {
    /// Entries are wished that no configuration has.
    #[error("no boot menu has the entry {wanted:?}; there are {there}")]
    UnknownTitle {
        /// The first that was not found.
        wanted: String,
        /// The titles that there are.
        there: String,
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
    #[error("no boot menu has an entry that boots a Linux kernel with an initrd; there are {there}")]
    NothingToEdit {
        /// The titles that there are.
        there: String,
    },
    /// Something to be deleted or replaced that no chosen entry has.
    #[error("in no chosen boot entry: {0}")]
    Missing(#[from] KernelArgumentError),
    /// Once written, the configuration would not say what it should.
    #[error(
        "the kernel argument {key:?} cannot be given through {loader}, whose quoting or own options would change it; \
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
        "the kernel command line of the boot entry {title:?} would have {length} bytes, and boot loader and kernel \
         take {limit}; give fewer or shorter arguments"
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
        "{path:?} cannot be an initrd's path in a boot configuration; it begins with '/' and holds only letters, \
         digits and . _ - + / ~"
    )]
    Path {
        /// What was given.
        path: String,
    },
}
