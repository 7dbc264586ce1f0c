//! Why an image is not edited.

use crate::iso::IsoError;

/// Why an [`super::Editor`] cannot be had for an image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The image cannot be read, or is damaged.
    #[error(transparent)]
    Iso(#[from] IsoError),
    /// The image is sound, and yet an edit of it would leave something behind that contradicts it.
    #[error(transparent)]
    NotEditable(#[from] NotEditable),
}

/// Why an image, or a file in it, can be read and not be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotEditable {
    /// UDF structures beside those of ISO 9660.
    #[error("the ISO image is also a UDF file system, whose directories dayone cannot update")]
    UdfBridge,
    /// A volume that goes on on another disc.
    #[error("the ISO image is one of a set of {0} discs, which belong together")]
    SeveralDiscs(u16),
    /// More directories than are kept in memory.
    #[error("the directories of the ISO image take more than {0} bytes, more than dayone keeps in memory")]
    DirectoriesTooLarge(u64),
    /// A directory that two trees have in common.
    #[error("two directory trees of the ISO image share the directory at offset {0}")]
    SharedDirectory(u64),
    /// A partition table that firmware would not accept either.
    #[error("dayone cannot keep the partition table of the ISO image: {0}")]
    Gpt(String),
    /// A file of several extents: one of 4 GiB or more.
    #[error("it is stored in several extents, as files of 4 GiB and more are")]
    SeveralExtents,
    /// A file that the kernel decompresses when it is read (zisofs).
    #[error("it is stored compressed (zisofs)")]
    Compressed,
    /// A file with an extended attribute record, which stands before its content.
    #[error("it has an extended attribute record")]
    ExtendedAttributes,
    /// Content of which a part belongs to another file as well.
    #[error("it shares only some of its bytes with {0} in the ISO image, so a change of one would damage the other")]
    PartlyShared(String),
    /// A boot loader that has its own place on the medium, and often its checksum, written into it.
    #[error("it is a boot loader that contains its own place on the medium (boot-info-table or grub2-boot-info)")]
    BootLoader,
    /// The boot catalog of El Torito, which says where the boot loaders are.
    #[error("it is the boot catalog, which dayone updates by itself")]
    BootCatalog,
    /// Structures that stand on the same bytes.
    #[error("two structures of the ISO image share the bytes at offset {0}")]
    Overlap(u64),
    /// A directory whose place is also known to the one that it was moved away from.
    #[error("it has no room, and belongs to a relocated directory (one nested too deep for ISO 9660)")]
    RelocatedDirectory,
    /// A path table that does not fit the directories.
    #[error("the path table at offset {0} does not fit the directories")]
    PathTable(u64),
    /// A directory without the records of itself and its parent.
    #[error("it has no records for itself and its parent")]
    DirectoryHead,
    /// Rock Ridge entries behind bytes of somebody else's.
    #[error("its system use fields hold something besides Rock Ridge")]
    SystemUse,
}

/// Why edits cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// No such file.
    #[error("there is no file {0:?} in the ISO image")]
    NotFound(String),
    /// Something else than a file.
    #[error("{0:?} in the ISO image is not a file")]
    NotAFile(String),
    /// Something stands there already.
    #[error("{0:?} is in the ISO image already")]
    Exists(String),
    /// A path that no file can have.
    #[error("{path:?} is not a path for a file in an ISO image: {reason}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Two edits of one file, under the same name or under two.
    #[error("the file {0:?} in the ISO image is edited twice")]
    Twice(String),
    /// A file that cannot be edited.
    #[error("{path:?} in the ISO image cannot be edited: {reason}")]
    File {
        /// Its path.
        path: String,
        /// Why.
        reason: NotEditable,
    },
    /// A name that the image's form of names has no room for.
    #[error("the name of {path:?} cannot be written into the {tree} tree of the ISO image: {reason}")]
    Name {
        /// The path.
        path: String,
        /// Whose names.
        tree: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Content that a file cannot have in one extent.
    #[error("{path:?} would have {size} bytes; a file in an ISO image has at most {limit}")]
    FileTooLarge {
        /// Its path.
        path: String,
        /// The size of the new content.
        size: u64,
        /// The bound.
        limit: u64,
    },
    /// Bytes past the end of a file or of the image.
    #[error("{length} bytes at offset {offset} do not fit in {path:?}, which has {size}")]
    Outside {
        /// The path.
        path: String,
        /// Where they would begin.
        offset: u64,
        /// How many they are.
        length: u64,
        /// How many there are.
        size: u64,
    },
    /// More blocks than 32 bits can count, or a table that would not fit its place.
    #[error("the ISO image would become too large: {0}")]
    TooLarge(&'static str),
    /// An image whose structures are not where they are expected.
    #[error("the ISO image cannot be edited: {0}")]
    Image(#[from] NotEditable),
}
