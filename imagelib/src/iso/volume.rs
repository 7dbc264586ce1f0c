//! A volume: its descriptors and its trees of directories.

use super::descriptor::{self, Descriptor};
use super::directory::{self, FileEntry};
use super::record::Naming;
use super::walk::{Tree, Walk};
use super::{IsoError, rock_ridge};
use crate::source::Source;

/// A tree of directories with the volume's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeKind {
    /// The tree of the primary descriptor: ISO 9660 names, with Rock Ridge names beside them if the volume has them.
    Primary,
    /// The Joliet tree.
    Joliet,
}

/// An ISO 9660 volume. It holds no bytes of the image: its methods need the source that it was opened from.
#[derive(Debug, Clone)]
pub struct Volume {
    base: u64,
    descriptors: Vec<Descriptor>,
    id: String,
    space_size: u64,
    primary: Tree,
    joliet: Option<Tree>,
    boot_catalog: Option<u64>,
    udf: bool,
}

impl Volume {
    /// Opens the volume at the beginning of an image.
    pub fn open(source: &dyn Source) -> Result<Self, IsoError> {
        Self::open_at(source, 0)
    }

    /// Opens a volume whose first block is at byte `base`. Hybrid images may have a second set of descriptors and directories,
    /// for systems that mount the partition at that place.
    pub fn open_at(source: &dyn Source, base: u64) -> Result<Self, IsoError> {
        let found = descriptor::read(source, base)?;
        let expected = base.saturating_add(found.space_size);
        if expected > source.size() {
            return Err(IsoError::Incomplete { expected, actual: source.size() });
        }
        let own = directory::own_system_use(source, &found.primary_root)?;
        let names = rock_ridge::skip(&own).map_or(Naming::Iso, Naming::RockRidge);
        Ok(Self {
            base,
            descriptors: found.all,
            id: found.volume_id,
            space_size: found.space_size,
            primary: Tree { root: found.primary_root, names },
            joliet: found.joliet_root.map(|root| Tree { root, names: Naming::Joliet }),
            boot_catalog: found.boot_catalog,
            udf: found.udf,
        })
    }

    /// The volume identifier, which Linux calls the label of the file system.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The offset of the volume in the image, in bytes. On the medium, extents are relative to it; in this crate, all offsets
    /// are relative to the image.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The size of the volume in bytes. The image may be longer.
    pub fn space_size(&self) -> u64 {
        self.space_size
    }

    /// The volume descriptors, without the terminator.
    pub fn descriptors(&self) -> &[Descriptor] {
        &self.descriptors
    }

    /// The offset of the El Torito boot catalog in the image, in bytes. `None` if there is no boot record.
    pub fn boot_catalog(&self) -> Option<u64> {
        self.boot_catalog
    }

    /// Whether the primary tree has Rock Ridge names.
    pub fn has_rock_ridge(&self) -> bool {
        matches!(self.primary.names, Naming::RockRidge(_))
    }

    /// Whether there is a Joliet tree.
    pub fn has_joliet(&self) -> bool {
        self.joliet.is_some()
    }

    /// Whether the image is also a UDF file system.
    pub fn is_udf_bridge(&self) -> bool {
        self.udf
    }

    /// Finds a file by its path, such as `/coreos/kargs.json`, in the primary tree or else in Joliet's.
    ///
    /// A Rock Ridge name must match exactly; if none does, any of an entry's names matches in any case. `.` and empty parts
    /// of the path are ignored, and symbolic links are not followed.
    pub fn find(&self, source: &dyn Source, path: &str) -> Result<Option<FileEntry>, IsoError> {
        for tree in [TreeKind::Primary, TreeKind::Joliet] {
            if let Some(entry) = self.find_in(source, tree, path)? {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Finds a file by its path in one tree.
    pub fn find_in(&self, source: &dyn Source, tree: TreeKind, path: &str) -> Result<Option<FileEntry>, IsoError> {
        let Some(tree) = self.tree(tree) else { return Ok(None) };
        let mut entry = tree.root.clone();
        for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
            if !entry.is_directory() {
                return Ok(None);
            }
            let mut children = directory::list(source, self.base, tree.names, &entry)?;
            let found = children.iter().position(|child| child.name == name).or_else(|| {
                children.iter().position(|child| {
                    child.name.eq_ignore_ascii_case(name) || child.tree_name.eq_ignore_ascii_case(name)
                })
            });
            let Some(index) = found else { return Ok(None) };
            entry = children.swap_remove(index);
        }
        Ok(Some(entry))
    }

    /// The root directory of a tree.
    pub fn root(&self, tree: TreeKind) -> Option<&FileEntry> {
        self.tree(tree).map(|tree| &tree.root)
    }

    /// The entries of a directory of a tree in their order on the medium, without the entries for itself and its parent.
    pub fn list(&self, source: &dyn Source, tree: TreeKind, directory: &FileEntry) -> Result<Vec<FileEntry>, IsoError> {
        match self.tree(tree) {
            Some(tree) => directory::list(source, self.base, tree.names, directory),
            None => Ok(Vec::new()),
        }
    }

    /// All entries of a tree with their paths, each directory before its content. Empty if the volume lacks the tree.
    pub fn walk<'a>(&'a self, source: &'a dyn Source, tree: TreeKind) -> Walk<'a> {
        Walk::new(source, self.base, self.tree(tree))
    }

    pub(super) fn tree(&self, kind: TreeKind) -> Option<&Tree> {
        match kind {
            TreeKind::Primary => Some(&self.primary),
            TreeKind::Joliet => self.joliet.as_ref(),
        }
    }
}
