//! The changes of an image to its base, for people to read.

use serde::Serialize;
use utoipa::ToSchema;

use crate::iso;

/// A change to a base: to a file of it, or to one of its structures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Change {
    /// A path in the ISO, the name of a file of the base, or that of a structure, such as `GPT`.
    #[schema(example = "/boot/grub/grub.cfg")]
    pub subject: String,
    /// What happened to it.
    #[schema(example = "new content in place")]
    pub action: String,
    /// Its size before, in bytes, where it was there and has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_size: Option<u64>,
    /// Its size after, in bytes, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_size: Option<u64>,
    /// What for.
    #[schema(example = "kernel arguments")]
    pub why: String,
}

/// Why an initramfs grows, and why an embed area is written.
pub(super) const ADDITIONS: &str = "network configuration and what else was asked for";
/// Why an EFI system partition changes that has both a boot configuration and an initramfs.
pub(super) const BOTH: &str = "network configuration and what else was asked for, and kernel arguments";
/// Why a root file system is left out.
pub(super) const FETCHED: &str = "the system fetches it over the network";
/// Why tables and directories change.
pub(super) const FOLLOWS: &str = "follows from the other changes";
/// Why a boot configuration changes.
pub(super) const KERNEL_ARGUMENTS: &str = "kernel arguments";

impl Change {
    /// A change by the editor of ISOs.
    pub(super) fn from_editor(change: &iso::edit::Change, why: &str) -> Self {
        Self {
            subject: change.subject.clone(),
            action: change.kind.to_string(),
            old_size: change.old_size,
            new_size: change.new_size,
            why: why.to_owned(),
        }
    }

    /// An archive at the end of an initramfs.
    pub(super) fn grown(subject: impl Into<String>, old: u64, new: u64) -> Self {
        Self::new(subject, "archive added behind it", (old, new), ADDITIONS)
    }

    /// Bytes of a structure, whose size does not change.
    pub(super) fn patched(subject: &str, why: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            action: "bytes changed in place".to_owned(),
            old_size: None,
            new_size: None,
            why: why.to_owned(),
        }
    }

    /// A new medium. It contains the base's files unchanged, if there are any.
    pub(super) fn authored(subject: &str, action: &str, size: u64) -> Self {
        Self {
            subject: subject.to_owned(),
            action: action.to_owned(),
            old_size: None,
            new_size: Some(size),
            why: ADDITIONS.to_owned(),
        }
    }

    /// Bytes in an embed area of a file, whose size does not change.
    pub(super) fn embedded(area: String, size: u64, why: &str) -> Self {
        Self::new(area, "embed area written", (size, size), why)
    }

    pub(super) fn new(subject: impl Into<String>, action: &str, sizes: (u64, u64), why: impl Into<String>) -> Self {
        let (old_size, new_size) = (Some(sizes.0), Some(sizes.1));
        Self { subject: subject.into(), action: action.to_owned(), old_size, new_size, why: why.into() }
    }
}
