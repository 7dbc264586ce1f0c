//! A volume: its descriptors and its trees of directories.

use super::descriptor::{self, Descriptor};
use super::directory::{self, FileEntry};
use super::record::Naming;
use super::walk::{Tree, Walk};
use super::{IsoError, rock_ridge};
use crate::source::Source;

/// A tree of directories over the volume's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeKind {
    /// That of the primary descriptor: ISO 9660 names, and Rock Ridge's beside them where the volume has it.
    Primary,
    /// That of Joliet.
    Joliet,
}

/// An ISO 9660 volume. It holds no bytes of the image: reading goes through the source that it was opened from.
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

    /// Opens a volume whose first block stands at the byte `base`: hybrid images may have a second set of
    /// descriptors and directories, for those who mount the partition that begins there.
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

    /// Where the volume begins in the image, in bytes. All extents are relative to it on the medium; here, all
    /// offsets are the image's.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The size of the volume, in bytes. The image may go on behind it.
    pub fn space_size(&self) -> u64 {
        self.space_size
    }

    /// The volume descriptors, without the terminator.
    pub fn descriptors(&self) -> &[Descriptor] {
        &self.descriptors
    }

    /// Where the boot catalog of El Torito begins in the image, in bytes.
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

    /// Whether the image is a UDF file system as well.
    pub fn is_udf_bridge(&self) -> bool {
        self.udf
    }

    /// Finds a file by its path, such as `/coreos/kargs.json`, in the primary tree or else in Joliet's.
    ///
    /// A name matches as Rock Ridge has it, and where nothing does, as any of its names does with letters of either
    /// case. `.` and empty parts of the path are skipped; symbolic links are not followed.
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

    /// The entries of a directory of a tree, without those of itself and its parent, in the order in which they
    /// stand there.
    pub fn list(&self, source: &dyn Source, tree: TreeKind, directory: &FileEntry) -> Result<Vec<FileEntry>, IsoError> {
        match self.tree(tree) {
            Some(tree) => directory::list(source, self.base, tree.names, directory),
            None => Ok(Vec::new()),
        }
    }

    /// All entries of a tree with their paths, directories before what they hold. Of a tree that the volume does not
    /// have, there are none.
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
