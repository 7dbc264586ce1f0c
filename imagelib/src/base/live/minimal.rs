//! The root file system that a live system can fetch over the network, so that its medium needs none.

use super::{EntryView, LiveIso};
use crate::delivery::{DeliveryProfile, FetchedRoot, NotFetched, Places};
use crate::initramfs::Tree;
use crate::iso::Extent;
use crate::iso::edit::Edit;
use crate::kernel_arguments::KernelArguments;

/// A root file system on a medium, and how the system of a boot entry fetches it.
#[derive(Debug, Clone)]
pub(crate) struct RootFile<'a> {
    /// How.
    pub(crate) way: FetchedRoot,
    /// Its path on the ISO file system.
    pub(crate) path: String,
    /// Its bytes.
    pub(crate) extent: Extent,
    /// The initramfs that fetches it.
    pub(crate) tree: &'a Tree,
    /// The kernel arguments of the entry.
    pub(crate) arguments: &'a KernelArguments,
}

/// A medium without its root file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinimalMedium {
    /// The size of the medium in bytes, before anything is added.
    pub size: u64,
    /// The size of the root file system in bytes, which the system fetches.
    pub rootfs: u64,
    /// What fetches it.
    pub fetched_by: &'static str,
}

impl LiveIso {
    /// The root file system of the system that an entry starts, and how that system fetches it.
    pub(crate) fn root_file<'a>(
        &self,
        entry: &EntryView<'a>,
        profile: Option<DeliveryProfile>,
    ) -> Result<RootFile<'a>, NotFetched> {
        let surveyed = entry.initrd.ok_or(NotFetched::NoEntry)?.state.as_ref();
        let surveyed = surveyed.map_err(|reason| NotFetched::Initrd(reason.to_string()))?;
        let (tree, arguments) = (&surveyed.tree, &entry.linux.arguments);
        let way = FetchedRoot::of(profile.unwrap_or(surveyed.detected.profile), tree, arguments)?;
        let paths = match way.places(arguments) {
            Places::FirstOf(paths) => paths,
            Places::OnlyOneIn(directory, endings) => self.only_one_in(&directory, endings)?,
        };
        let file = paths.iter().find_map(|path| self.editor()?.file(path));
        let file = file.ok_or_else(|| NotFetched::NoRoot(paths.join(" or ")))?;
        let is_there =
            |path: &str| self.editor().is_some_and(|iso| iso.file(path).is_some() || !iso.file_names(path).is_empty());
        if let Some(path) = way.beside().iter().find(|path| is_there(path)) {
            return Err(NotFetched::Beside((*path).to_owned()));
        }
        Ok(RootFile { way, path: file.path, extent: file.extent, tree, arguments })
    }

    /// The path of the only file in a directory with one of these endings, of which the first is that of what can be fetched.
    fn only_one_in(&self, directory: &str, endings: &[&str]) -> Result<Vec<String>, NotFetched> {
        let names = self.editor().map(|editor| editor.file_names(directory)).unwrap_or_default();
        let names = names.into_iter().filter(|name| endings.iter().any(|ending| name.ends_with(ending)));
        let mut paths: Vec<String> = names.map(|name| format!("{directory}/{name}")).collect();
        paths.sort();
        match paths.as_slice() {
            [path] if endings.first().is_some_and(|ending| path.ends_with(ending)) => Ok(paths),
            [] | [_] => {
                Err(NotFetched::NoRoot(format!("{directory}/*{}", endings.first().copied().unwrap_or_default())))
            }
            _ => Err(NotFetched::Parts(paths.join(", "))),
        }
    }

    /// The medium without the root file system that its first boot entry starts.
    pub(super) fn minimal_medium(&self) -> Result<MinimalMedium, NotFetched> {
        if self.usable_ukis().next().is_some() {
            return Err(NotFetched::UnifiedKernelImage);
        }
        let mut refused = NotFetched::NoEntry;
        for entry in self.entries() {
            match self.root_file(&entry, None) {
                Ok(root) => return self.without(&root),
                Err(reason) if refused == NotFetched::NoEntry => refused = reason,
                Err(_) => {}
            }
        }
        Err(refused)
    }

    fn without(&self, root: &RootFile<'_>) -> Result<MinimalMedium, NotFetched> {
        let plan = self.editor().map(|editor| editor.plan(vec![Edit::Remove { path: root.path.clone() }]));
        match plan {
            Some(Ok(plan)) => {
                Ok(MinimalMedium { size: plan.size, rootfs: root.extent.length, fetched_by: root.way.name() })
            }
            Some(Err(error)) => Err(NotFetched::NotRemovable(error.to_string())),
            None => Err(NotFetched::NoEntry),
        }
    }

    /// The medium without its root file system, or why there can be none.
    pub fn minimal(&self) -> Result<&MinimalMedium, &NotFetched> {
        self.minimal.as_ref()
    }
}
