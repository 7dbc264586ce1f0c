//! The root file system that a live system can fetch over the network, so that its medium needs none.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{EntryView, LiveIso};
use crate::delivery::{DeliveryProfile, FetchedRoot, NotFetched, Places};
use crate::initramfs::Tree;
use crate::iso::edit::{Edit, Editor, FileInfo};
use crate::kernel_arguments::KernelArguments;

/// A root file system on a medium, and how the system of a boot entry fetches it.
#[derive(Debug, Clone)]
pub(crate) struct RootFile<'a> {
    /// How.
    pub(crate) way: FetchedRoot,
    /// Its path on the ISO file system. casper has several.
    pub(crate) paths: Vec<String>,
    /// The bytes that the system fetches.
    pub(crate) fetched: Range<u64>,
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
    /// The number of bytes that the system fetches.
    pub fetched: u64,
    /// What fetches them.
    pub fetched_by: &'static str,
    /// Whether they are the whole ISO, and not the root file system alone.
    pub whole: bool,
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
        let way = FetchedRoot::of(profile.unwrap_or(surveyed.detected.profile), tree, surveyed.casper, arguments)?;
        let editor = self.editor().ok_or(NotFetched::NoEntry)?;
        let files: Vec<FileInfo> = match way.places(arguments) {
            Places::FirstOf(paths) => {
                let found = paths.iter().find_map(|path| editor.file(path));
                vec![found.ok_or_else(|| NotFetched::NoRoot(paths.join(" or ")))?]
            }
            Places::OnlyOneIn(directory, endings) => vec![only_one_in(editor, &directory, endings)?],
            Places::AllIn(directory, endings) => all_in(editor, &directory, endings)?,
        };
        let is_there = |path: &str| editor.file(path).is_some() || !editor.file_names(path).is_empty();
        if let Some(path) = way.beside().iter().find(|path| is_there(path)) {
            return Err(NotFetched::Beside((*path).to_owned()));
        }
        let fetched = if way.fetches_medium() {
            0..editor.size()
        } else {
            files.first().ok_or(NotFetched::NoEntry)?.extent.range()
        };
        let paths = files.into_iter().map(|file| file.path).collect();
        Ok(RootFile { way, paths, fetched, tree, arguments })
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
        let edits = root.paths.iter().map(|path| Edit::Remove { path: path.clone() }).collect();
        match self.editor().map(|editor| editor.plan(edits)) {
            Some(Ok(plan)) => {
                let (fetched, way) = (root.fetched.end.saturating_sub(root.fetched.start), root.way);
                Ok(MinimalMedium { size: plan.size, fetched, fetched_by: way.name(), whole: way.fetches_medium() })
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

/// The only file in a directory with one of these endings, of which the first is that of what can be fetched.
fn only_one_in(editor: &Editor, directory: &str, endings: &[&str]) -> Result<FileInfo, NotFetched> {
    let files = all_in(editor, directory, endings)?;
    if files.len() > 1 {
        return Err(NotFetched::Parts(files.into_iter().map(|file| file.path).collect::<Vec<_>>().join(", ")));
    }
    let fetched = |file: &FileInfo| endings.first().is_some_and(|ending| file.path.ends_with(ending));
    files.into_iter().find(fetched).ok_or_else(|| no_root(directory, endings))
}

/// The files in a directory with one of these endings, in the order of their names.
fn all_in(editor: &Editor, directory: &str, endings: &[&str]) -> Result<Vec<FileInfo>, NotFetched> {
    let mut names = editor.file_names(directory);
    names.retain(|name| endings.iter().any(|ending| name.ends_with(ending)));
    names.sort();
    let mut files: Vec<_> = names.iter().filter_map(|name| editor.file(&format!("{directory}/{name}"))).collect();
    // A file may have several names.
    let mut known = BTreeSet::new();
    files.retain(|file| known.insert(file.path.clone()));
    if files.is_empty() { Err(no_root(directory, endings)) } else { Ok(files) }
}

fn no_root(directory: &str, endings: &[&str]) -> NotFetched {
    NotFetched::NoRoot(format!("{directory}/*{}", endings.first().copied().unwrap_or_default()))
}
