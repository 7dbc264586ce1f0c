//! The changes to an image, for people to read.

use serde::Serialize;

/// One change to the base image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// A path (`/boot/grub/grub.cfg`), or the name of a structure.
    pub subject: String,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// Its size before, in bytes, if it existed and has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_size: Option<u64>,
    /// Its size after, in bytes, if it has one.
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

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ChangeKind {
    /// A file has new content at its old place.
    FileRewritten,
    /// A file has new content at the end of the image.
    FileMoved,
    /// Some bytes changed, but not the size.
    BytesPatched,
    /// A file was removed, with its content.
    FileRemoved,
    /// A file is new.
    FileAdded,
    /// A directory is new.
    DirectoryAdded,
    /// A directory had no room for its new entries, and is now at the end of the image.
    DirectoryMoved,
    /// A path table lists new or moved directories.
    PathTableRewritten,
    /// The size of the volume was raised to the size of the image.
    VolumeGrown,
    /// The size of the volume was lowered to the size of the image.
    VolumeShrunk,
    /// The boot catalog points to the new place of a boot image.
    BootImageMoved,
    /// A partition table describes the image's new size.
    PartitionTableUpdated,
    /// The partition of a volume did not grow, because another partition follows it. It does not contain the files that moved.
    PartitionKept,
    /// The checksum of the whole medium, which boot menus can verify, was removed because it would be wrong.
    MediumChecksumRemoved,
    /// A note tells that dayone has changed the image.
    Marked,
    /// A list of checksums has the new checksum of a changed file.
    ChecksumUpdated,
    /// A list of checksums lost the line of a changed file, because the new checksum is not known.
    ChecksumRemoved,
}

named_variants!(ChangeKind {
    FileRewritten => "new content in place",
    FileMoved => "new content at the end of the image",
    BytesPatched => "bytes changed in place",
    FileRemoved => "left out",
    FileAdded => "new file",
    DirectoryAdded => "new directory",
    DirectoryMoved => "moved to the end of the image, to have room for new entries",
    PathTableRewritten => "rewritten, because directories are new or have moved",
    VolumeGrown => "volume size raised to the size of the image",
    VolumeShrunk => "volume size lowered to the size of the image",
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
