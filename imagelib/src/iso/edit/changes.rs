//! What became of an image, for people to read.

use serde::Serialize;

/// One change to the base image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// A path (`/boot/grub/grub.cfg`), or the name of a structure.
    pub subject: String,
    /// What happened to it.
    pub kind: ChangeKind,
    /// Its size before, in bytes, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_size: Option<u64>,
    /// Its size after, in bytes, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_size: Option<u64>,
}

impl Change {
    pub(super) fn structure(subject: impl Into<String>, kind: ChangeKind) -> Self {
        Self { subject: subject.into(), kind, old_size: None, new_size: None }
    }

    pub(super) fn sizes(subject: impl Into<String>, kind: ChangeKind, old: Option<u64>, new: u64) -> Self {
        Self { subject: subject.into(), kind, old_size: old, new_size: Some(new) }
    }
}

/// What happened to something in the base image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ChangeKind {
    /// A file has other content, in the blocks that it had.
    FileRewritten,
    /// A file has other content, at the end of the image.
    FileMoved,
    /// Some bytes are others; the size is the same.
    BytesPatched,
    /// A file is new.
    FileAdded,
    /// A directory is new.
    DirectoryAdded,
    /// A directory had no room for its new entries and stands at the end of the image now.
    DirectoryMoved,
    /// A table of all directories names new or moved ones.
    PathTableRewritten,
    /// The volume is as long as the image again.
    VolumeGrown,
    /// The boot catalog points to where a boot image stands now.
    BootImageMoved,
    /// A partition table describes the image's new size.
    PartitionTableUpdated,
    /// The partition of a volume ends where it did, because another follows: it does not hold the files that moved.
    PartitionKept,
    /// The checksum of the whole medium, which boot menus offer to test, would be wrong and is gone.
    MediumChecksumRemoved,
    /// A note says that dayone has changed the image.
    Marked,
    /// The line of a file that has changed has its new checksum.
    ChecksumUpdated,
    /// The line of a file that has changed is gone, because its new checksum is not known.
    ChecksumRemoved,
}

named_variants!(ChangeKind {
    FileRewritten => "new content in place",
    FileMoved => "new content at the end of the image",
    BytesPatched => "bytes changed in place",
    FileAdded => "new file",
    DirectoryAdded => "new directory",
    DirectoryMoved => "moved to the end of the image, to have room for new entries",
    PathTableRewritten => "rewritten, because directories are new or have moved",
    VolumeGrown => "volume size raised to the size of the image",
    BootImageMoved => "points to the new place of a boot image",
    PartitionTableUpdated => "describes the new size of the image",
    PartitionKept =>
        "cannot grow, because another partition follows it: a system that mounts only this partition cannot read what \
         has moved to the end of the image",
    MediumChecksumRemoved => "checksum of the whole medium removed, because it would be wrong",
    Marked => "note that dayone has changed the image",
    ChecksumUpdated => "checksum of a changed file updated",
    ChecksumRemoved => "checksum of a changed file removed, because the new one is not known",
});
