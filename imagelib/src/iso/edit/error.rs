//! Errors about edits.

use crate::iso::IsoError;

/// Why an image has no [`super::Editor`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The image cannot be read, or is damaged.
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// The image is valid, but the editor cannot keep all its structures consistent.
    #[error(transparent)]
    NotEditable(#[from] NotEditable),
}

/// Why the editor cannot edit a valid image, or a file in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotEditable {
    /// The image is also a UDF file system.
    #[error("the ISO image is also a UDF file system, whose directories dayone cannot update")]
    UdfBridge,
    /// The volume spans several discs. With their number.
    #[error("the ISO image is one of a set of {0} discs, which belong together")]
    SeveralDiscs(u16),
    /// The directories take more memory than this limit, in bytes.
    #[error("the directories of the ISO image take more than {0} bytes, more than dayone keeps in memory")]
    DirectoriesTooLarge(u64),
    /// Two trees share the directory at this offset of the image.
    #[error("two directory trees of the ISO image share the directory at offset {0}")]
    SharedDirectory(u64),
    /// The GPT is damaged, for this reason.
    #[error("dayone cannot keep the partition table of the ISO image: {0}")]
    Gpt(String),
    /// The file has several extents, because it has 4 GiB or more.
    #[error("it is stored in several extents, as files of 4 GiB and more are")]
    SeveralExtents,
    /// The file is compressed with zisofs, which the kernel decompresses when it reads the file.
    #[error("it is stored compressed (zisofs)")]
    Compressed,
    /// The file has an extended attribute record before its content.
    #[error("it has an extended attribute record")]
    ExtendedAttributes,
    /// The file shares a part of its content with the file at this path.
    #[error("it shares only some of its bytes with {0} in the ISO image, so a change of one would damage the other")]
    PartlyShared(String),
    /// The file is a boot loader that contains its own place on the medium, and often its checksum.
    #[error("it is a boot loader that contains its own place on the medium (boot-info-table or grub2-boot-info)")]
    BootLoader,
    /// The file is the boot catalog of El Torito.
    #[error("it is the boot catalog, which dayone updates by itself")]
    BootCatalog,
    /// The file stands before something that cannot move.
    #[error(
        "it stands before directories, the boot catalog or a boot loader that contains its own place: nothing can be cut out there"
    )]
    BeforeFixed,
    /// Two structures share bytes at this offset of the image.
    #[error("two structures of the ISO image share the bytes at offset {0}")]
    Overlap(u64),
    /// The directory is relocated, and would have to move.
    #[error("it has no room, and belongs to a relocated directory (one nested too deep for ISO 9660)")]
    RelocatedDirectory,
    /// The path table at this offset of the image does not match the directories.
    #[error("the path table at offset {0} does not fit the directories")]
    PathTable(u64),
    /// The directory lacks the records for itself and its parent.
    #[error("it has no records for itself and its parent")]
    DirectoryHead,
    /// Other data precedes the Rock Ridge entries.
    #[error("its system use fields hold something besides Rock Ridge")]
    SystemUse,
}

/// Why edits fail. Sizes, offsets and limits are in bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The file at this path does not exist.
    #[error("there is no file {0:?} in the ISO image")]
    NotFound(String),
    /// Neither a partition nor a boot image begins where something is to be moved away.
    #[error("{name:?}: neither a partition nor a boot image begins at byte {start} of the ISO image")]
    NothingThere {
        /// The name of the structure.
        name: String,
        /// The offset in the image.
        start: u64,
    },
    /// This path leads to a directory.
    #[error("{0:?} in the ISO image is not a file")]
    NotAFile(String),
    /// This path exists already.
    #[error("{0:?} is in the ISO image already")]
    Exists(String),
    /// No file can have this path.
    #[error("{path:?} is not a path for a file in an ISO image: {reason}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Two edits change the same file, perhaps under two names. With the path of the second edit.
    #[error("the file {0:?} in the ISO image is edited twice")]
    Twice(String),
    /// The editor cannot edit this file.
    #[error("{path:?} in the ISO image cannot be edited: {reason}")]
    File {
        /// Its path.
        path: String,
        /// Why.
        reason: NotEditable,
    },
    /// A tree of the image cannot contain this name.
    #[error("the name of {path:?} cannot be written into the {tree} tree of the ISO image: {reason}")]
    Name {
        /// The path.
        path: String,
        /// The tree.
        tree: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The content is too large for one extent.
    #[error("{path:?} would have {size} bytes; a file in an ISO image has at most {limit}")]
    FileTooLarge {
        /// Its path.
        path: String,
        /// The size of the new content.
        size: u64,
        /// The bound.
        limit: u64,
    },
    /// A patch reaches past the end of its file or of the image.
    #[error("{length} bytes at offset {offset} do not fit in {path:?}, which has {size}")]
    Outside {
        /// The path.
        path: String,
        /// The offset of the patch.
        offset: u64,
        /// The length of the patch.
        length: u64,
        /// The size of the file or of the image.
        size: u64,
    },
    /// The image, or a structure in it, would become too large, for this reason.
    #[error("the ISO image would become too large: {0}")]
    TooLarge(&'static str),
    /// The structures of the image do not allow the edit.
    #[error("the ISO image cannot be edited: {0}")]
    Image(#[from] NotEditable),
}
