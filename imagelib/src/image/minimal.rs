//! The minimal ISO of a live system: without the root file system, which the system fetches over the network.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::{FileName, ImageError};
use crate::base::live::{LiveIso, RootFile};
use crate::base::{Base, Format, IsoBase, IsoSystem};
use crate::boot_config::Selection;
use crate::delivery::{FetchedRoot, NotFetched};
use crate::kernel_arguments::{KernelArgument, KernelArgumentEdits};
use crate::overlay::Segment;
use crate::recipe::{Recipe, RootfsLocation, RootfsUrl};
use crate::source::Role;
use crate::url_server::UrlServer;
use vocabulary::report::{DocumentPath, Report};

/// What a minimal ISO leaves out, and the kernel arguments that lead elsewhere.
pub(super) struct Minimal {
    /// The paths of the root file system, or of its parts, on the ISO.
    pub(super) paths: Vec<String>,
    /// What the system fetches.
    pub(super) rootfs: Segment,
    /// Its name beside the image.
    pub(super) file_name: FileName,
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
        if let Some(other) = found.as_ref().filter(|other| other.paths != root.paths) {
            return Err(of_entry(NotFetched::Several(root.paths.join(", "), other.paths.join(", "))));
        }
        delete.extend(root.arguments.iter().filter(|argument| root.way.replaces(argument)).map(str::to_owned));
        found.get_or_insert(root);
    }
    let root = found.ok_or(NotFetched::NoEntry)?;
    let append = url_argument(recipe, &root, rootfs_url)?;
    let rootfs = Segment::base(Role::Iso, root.fetched);
    Ok(Minimal { paths: root.paths, rootfs, file_name: file_name(root.way), delete, append })
}

/// The name beside the image of the root file system that the system of a recipe fetches.
pub fn rootfs_name(recipe: &Recipe, base: &Base) -> FileName {
    way(recipe, base).map_or(FileName::Rootfs, file_name)
}

/// The server from which the system of a recipe fetches its root file system, if the recipe must have the network of the initramfs for
/// that ([`Recipe::initramfs_network`]). `None` also if planning the image fails for another reason.
pub fn initramfs_server(recipe: &Recipe, base: &Base) -> Option<Ipv4Addr> {
    let way = way(recipe, base).filter(|way| way.needs_network())?;
    let server = match own_url(recipe, way) {
        Some(url) => UrlServer::of_url(url),
        None => recipe.rootfs.as_ref()?.server(),
    };
    match server {
        UrlServer::Ipv4(server) => Some(server),
        UrlServer::Other(_) => None,
    }
}

fn file_name(way: FetchedRoot) -> FileName {
    match way {
        FetchedRoot::Livenet | FetchedRoot::Anaconda => FileName::Rootfs,
        FetchedRoot::LiveBoot => FileName::RootSquashfs,
        FetchedRoot::Casper => FileName::RootIso,
    }
}

/// How the systems of the chosen entries fetch their root file system.
fn way(recipe: &Recipe, base: &Base) -> Option<FetchedRoot> {
    let Base::Iso(IsoBase { system: IsoSystem::Live(live), .. }) = base else { return None };
    if recipe.format != Format::MinimalIso {
        return None;
    }
    let selection = Selection::of(&recipe.boot_entries);
    let mut chosen = live.entries().filter(|entry| selection.has(entry.entry));
    chosen.find_map(|entry| live.root_file(&entry, recipe.delivery).ok().map(|root| root.way))
}

/// The URL in the user's own kernel arguments.
fn own_url(recipe: &Recipe, way: FetchedRoot) -> Option<&str> {
    recipe.kernel_arguments.append.iter().filter_map(|argument| way.url(argument.as_str())).next_back()
}

/// The kernel argument with the URL, unless the user's own have one.
fn url_argument(
    recipe: &Recipe,
    root: &RootFile<'_>,
    rootfs_url: Option<&RootfsUrl>,
) -> Result<Option<KernelArgument>, ImageError> {
    let edits = &recipe.kernel_arguments;
    if let Some(own) = own_url(recipe, root.way) {
        check_network(recipe, root, own)?;
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
    check_network(recipe, root, url.as_str())?;
    Ok(Some(root.way.argument(url.as_str()).parse()?))
}

/// Fails if the initramfs needs a network that leads to the server of the URL, and has none.
fn check_network(recipe: &Recipe, root: &RootFile<'_>, url: &str) -> Result<(), NotFetched> {
    if !root.way.needs_network() {
        return Ok(());
    }
    root.way.check_url(url, root.tree, root.arguments)?;
    let server = UrlServer::of_url(url);
    let known = recipe.initramfs_network.as_ref().map(|network| UrlServer::Ipv4(network.server));
    if known.as_ref() == Some(&server) {
        Ok(())
    } else {
        Err(NotFetched::NoNetwork(root.way.name(), server.to_string()))
    }
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
