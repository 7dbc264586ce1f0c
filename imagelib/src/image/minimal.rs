//! The minimal ISO of a live system: without the root file system, which the system fetches over the network.

use std::collections::BTreeSet;

use super::ImageError;
use crate::base::live::{LiveIso, RootFile};
use crate::boot_config::Selection;
use crate::delivery::NotFetched;
use crate::kernel_arguments::{KernelArgument, KernelArgumentEdits};
use crate::overlay::Segment;
use crate::recipe::{Recipe, RootfsLocation, RootfsUrl};
use crate::source::Role;
use vocabulary::report::{DocumentPath, Report};

/// What a minimal ISO leaves out, and the kernel arguments that lead elsewhere.
pub(super) struct Minimal {
    /// The path of the root file system on the ISO.
    pub(super) path: String,
    /// Its content.
    pub(super) rootfs: Segment,
    delete: BTreeSet<String>,
    append: Option<KernelArgument>,
}

/// Finds out what the systems of the chosen entries fetch. Refuses the image if one of them does not.
pub(super) fn plan(
    recipe: &Recipe,
    live: &LiveIso,
    selection: &Selection,
    rootfs_url: Option<&RootfsUrl>,
) -> Result<Minimal, ImageError> {
    if recipe.boot_entries.is_empty() && live.usable_ukis().next().is_some() {
        return Err(NotFetched::UnifiedKernelImage.into());
    }
    let mut delete = BTreeSet::new();
    let mut found: Option<RootFile<'_>> = None;
    for entry in live.entries().filter(|entry| selection.has(entry.entry)) {
        let of_entry = |reason| ImageError::NotFetched { entry: entry.entry.title.clone(), reason };
        let root = live.root_file(&entry, recipe.delivery).map_err(of_entry)?;
        if let Some(other) = found.as_ref().filter(|other| other.path != root.path) {
            return Err(of_entry(NotFetched::Several(root.path, other.path.clone())));
        }
        delete.extend(root.arguments.iter().filter(|argument| root.way.replaces(argument)).map(str::to_owned));
        found.get_or_insert(root);
    }
    let root = found.ok_or(NotFetched::NoEntry)?;
    let append = url_argument(recipe, &root, rootfs_url)?;
    let rootfs = Segment::base(Role::Iso, root.extent.range());
    Ok(Minimal { path: root.path, rootfs, delete, append })
}

/// The kernel argument with the URL, unless the user's own have one.
fn url_argument(
    recipe: &Recipe,
    root: &RootFile<'_>,
    rootfs_url: Option<&RootfsUrl>,
) -> Result<Option<KernelArgument>, ImageError> {
    let edits = &recipe.kernel_arguments;
    if edits.append.iter().any(|argument| root.way.is_url(argument.as_str())) {
        return Ok(None);
    }
    let url = match &recipe.rootfs {
        Some(RootfsLocation::Url(url)) => Some(url),
        Some(RootfsLocation::MediaPlane(_)) | None => rootfs_url,
    };
    let url = url.ok_or(ImageError::NoRootfsUrl)?;
    let mut arguments = root.arguments.clone();
    edits.append.iter().for_each(|argument| arguments.append(argument));
    root.way.check_url(url.as_str(), root.tree, &arguments)?;
    Ok(Some(root.way.argument(url.as_str()).parse()?))
}

impl Minimal {
    /// Adds the changes to kernel arguments.
    pub(super) fn add_arguments(&self, edits: &mut KernelArgumentEdits) {
        let known: BTreeSet<String> = edits.delete.iter().map(|argument| argument.trim().to_owned()).collect();
        edits.delete.extend(self.delete.iter().filter(|argument| !known.contains(*argument)).cloned());
        edits.append.extend(self.append.clone());
    }
}

/// Warns about entries that were not chosen: their systems lose their root file system.
pub(super) fn left_alone(live: &LiveIso, selection: &Selection) -> Report {
    let mut report = Report::new();
    let others = live.entries().filter(|entry| !selection.has(entry.entry));
    let titles: BTreeSet<String> = others.map(|entry| format!("{:?}", entry.entry.title)).collect();
    if !titles.is_empty() {
        let titles = titles.into_iter().collect::<Vec<_>>().join(", ");
        let message = format!(
            "are not among the chosen ones, and may start systems whose root file system is no longer on the medium: {titles}"
        );
        report.warning("root-left-out", &DocumentPath::document("boot entries"), message);
    }
    report
}
