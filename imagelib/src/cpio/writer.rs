//! Archives whose bytes depend only on their members.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::fmt;
use std::ops::Bound;

use bytes::Bytes;

use super::{HEADER_LENGTH, MemberPath, PATH_MAX, S_IFDIR, S_IFLNK, S_IFREG, TRAILER, padding};

/// Why a member cannot be in an archive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Two members have the same path.
    #[error("{0} is in the archive twice; give each file its own path")]
    Duplicate(MemberPath),
    /// A member is below another member that is not a directory.
    #[error("{path} is beneath {parent}, which is itself a file or a symbolic link of the archive")]
    ParentNotDirectory {
        /// The member.
        path: MemberPath,
        /// The member above it.
        parent: MemberPath,
    },
    /// A mode has more than permission bits.
    #[error("mode {mode:o} of {path} holds more than permission bits (at most 7777, octal)")]
    Mode {
        /// The member.
        path: MemberPath,
        /// Its mode.
        mode: u32,
    },
    /// A file is too large for the format, which has 32 bits for a size.
    #[error("{path} has {size} bytes; a cpio archive holds files of less than 4 GiB")]
    TooLarge {
        /// The member.
        path: MemberPath,
        /// Its size in bytes.
        size: u64,
    },
    /// The target of this symbolic link is invalid.
    #[error("the target of the symbolic link {0} is empty, too long, or holds a control character")]
    LinkTarget(MemberPath),
}

#[derive(Clone, PartialEq, Eq)]
enum Member {
    File { mode: u32, owner: Owner, content: Bytes, unlinks: bool },
    Directory { mode: u32 },
    Symlink { target: String },
}

/// The owner of a file. The default is root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The user's number.
    pub user: u32,
    /// The group's number.
    pub group: u32,
}

/// A new cpio archive. [`Archive::to_bytes`] returns the same bytes for the same members, in whatever order they were added.
///
/// The caller must add directories explicitly. A directory member would replace a symbolic link of the base (`lib`, `bin`)
/// and hide everything behind it, or change the mode of a directory. On the other hand, the kernel silently drops a file
/// whose directory is missing.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Archive {
    members: BTreeMap<MemberPath, Member>,
    behind_zeros: bool,
}

impl fmt::Debug for Archive {
    /// Without the contents, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.members.keys().map(MemberPath::as_str)).finish()
    }
}

impl Archive {
    /// An archive without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Adds a regular file with these permission bits, owned by root.
    pub fn file(&mut self, path: MemberPath, mode: u32, content: impl Into<Bytes>) -> Result<(), ArchiveError> {
        self.owned_file(path, mode, Owner::default(), content)
    }

    /// Adds a regular file with another owner.
    pub fn owned_file(
        &mut self,
        path: MemberPath,
        mode: u32,
        owner: Owner,
        content: impl Into<Bytes>,
    ) -> Result<(), ArchiveError> {
        let content = content.into();
        if u32::try_from(content.len()).is_err() {
            return Err(ArchiveError::TooLarge { path, size: content.len() as u64 });
        }
        let mode = permissions(&path, mode)?;
        self.insert(path, Member::File { mode, owner, content, unlinks: false })
    }

    /// Lets the kernel remove what is at the path of a file of this archive before it unpacks the file. Otherwise it would overwrite a file
    /// there under all its names (hard links).
    pub fn unlink_first(&mut self, path: &MemberPath) {
        if let Some(Member::File { unlinks, .. }) = self.members.get_mut(path) {
            *unlinks = true;
        }
    }

    /// Adds a directory with these permission bits. The base must not have it.
    pub fn directory(&mut self, path: MemberPath, mode: u32) -> Result<(), ArchiveError> {
        let mode = permissions(&path, mode)?;
        self.insert(path, Member::Directory { mode })
    }

    /// Adds a symbolic link.
    pub fn symlink(&mut self, path: MemberPath, target: &str) -> Result<(), ArchiveError> {
        if target.is_empty() || target.len() >= PATH_MAX as usize || target.chars().any(char::is_control) {
            return Err(ArchiveError::LinkTarget(path));
        }
        self.insert(path, Member::Symlink { target: target.to_owned() })
    }

    /// Puts four zeros before the archive. They end an open stream before it ([`crate::initramfs::Tree::is_open`]).
    pub fn put_behind_zeros(&mut self) {
        self.behind_zeros = true;
    }

    /// Adds all missing directories above the members. Only for archives that are unpacked where none of these directories
    /// can be a symbolic link, such as the embed area of a CoreOS ISO.
    pub fn add_parents(&mut self, mode: u32) -> Result<(), ArchiveError> {
        let parents: Vec<MemberPath> = self.members.keys().flat_map(MemberPath::ancestors).collect();
        for path in parents {
            let mode = permissions(&path, mode)?;
            self.members.entry(path).or_insert(Member::Directory { mode });
        }
        Ok(())
    }

    fn insert(&mut self, path: MemberPath, member: Member) -> Result<(), ArchiveError> {
        let is_leaf = |member: &Member| !matches!(member, Member::Directory { .. });
        let parent = path.ancestors().find(|parent| self.members.get(parent).is_some_and(is_leaf));
        if let Some(parent) = parent {
            return Err(ArchiveError::ParentNotDirectory { path, parent });
        }
        if is_leaf(&member) {
            let prefix = format!("{path}/");
            let mut behind = self.members.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
            if let Some((beneath, _)) = behind.next().filter(|(other, _)| other.as_str().starts_with(&prefix)) {
                return Err(ArchiveError::ParentNotDirectory { path: beneath.clone(), parent: path });
            }
        }
        match self.members.entry(path) {
            Slot::Occupied(slot) => Err(ArchiveError::Duplicate(slot.key().clone())),
            Slot::Vacant(slot) => {
                slot.insert(member);
                Ok(())
            }
        }
    }

    /// The bytes of the archive, a multiple of 4. Members are sorted by path, so directories come before their content. All
    /// times are 0, every member has one link and its own inode number, and root owns directories and links.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Servers keep thousands of archives: none takes more memory than its bytes.
        let mut bytes = Vec::with_capacity(self.length());
        if self.behind_zeros {
            bytes.resize(4, 0);
        }
        // From 1: to some readers inode 0 means "deleted".
        for (inode, (path, member)) in (1_u32..).zip(&self.members) {
            let (mode, owner) = match member {
                Member::File { mode, owner, .. } => (S_IFREG | mode, *owner),
                Member::Directory { mode } => (S_IFDIR | mode, Owner::default()),
                Member::Symlink { .. } => (S_IFLNK | 0o777, Owner::default()),
            };
            if member.unlinks() {
                append(&mut bytes, inode, S_IFLNK | 0o777, Owner::default(), path.as_str(), UNLINKING);
            }
            append(&mut bytes, inode, mode, owner, path.as_str(), member.content());
        }
        append(&mut bytes, 0, 0, Owner::default(), TRAILER, &[]);
        bytes
    }

    fn length(&self) -> usize {
        let of_member = |name: &str, content: &[u8]| aligned(HEADER_LENGTH + name.len() + 1) + aligned(content.len());
        let members = self.members.iter().map(|(path, member)| {
            let unlinking = if member.unlinks() { of_member(path.as_str(), UNLINKING) } else { 0 };
            unlinking + of_member(path.as_str(), member.content())
        });
        members.sum::<usize>() + of_member(TRAILER, &[]) + if self.behind_zeros { 4 } else { 0 }
    }
}

/// The target of a symbolic link that a file replaces at once. The kernel unlinks what is at a path if the next member there is of another
/// kind (`clean_path` in `init/initramfs.c`): the base's file for the link, and the link for the new file.
const UNLINKING: &[u8] = b"/dev/null";

impl Member {
    fn unlinks(&self) -> bool {
        matches!(self, Self::File { unlinks: true, .. })
    }

    fn content(&self) -> &[u8] {
        match self {
            Self::File { content, .. } => content,
            Self::Directory { .. } => &[],
            Self::Symlink { target } => target.as_bytes(),
        }
    }
}

fn permissions(path: &MemberPath, mode: u32) -> Result<u32, ArchiveError> {
    if mode > 0o7777 { Err(ArchiveError::Mode { path: path.clone(), mode }) } else { Ok(mode) }
}

fn append(bytes: &mut Vec<u8>, inode: u32, mode: u32, owner: Owner, name: &str, content: &[u8]) {
    let (links, time, device, checksum) = (1, 0, 0, 0);
    let (size, name_size) = (content.len(), name.len() + 1);
    bytes.extend_from_slice(b"070701");
    for field in [inode, mode, owner.user, owner.group, links, time] {
        bytes.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    bytes.extend_from_slice(format!("{size:08x}").as_bytes());
    for field in [device; 4] {
        bytes.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    bytes.extend_from_slice(format!("{name_size:08x}{checksum:08x}").as_bytes());
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    bytes.resize(aligned(bytes.len()), 0);
    bytes.extend_from_slice(content);
    bytes.resize(aligned(bytes.len()), 0);
}

fn aligned(length: usize) -> usize {
    usize::try_from(padding(length as u64)).map_or(length, |padding| length + padding)
}
