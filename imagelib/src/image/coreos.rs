//! Images over a CoreOS live ISO: patches in its embed areas. If these have room, the size and the boot tables of the ISO do
//! not change.

use std::collections::BTreeMap;
use std::ops::Range;

use super::changes::{self, Change};
use super::kernel_initrd::grown;
use super::{COREOS_ROOTFS_ARGUMENT, FileName, Image, ImageError, names_rootfs, warn_of_rootfs};
use crate::base::{CoreosBase, Format, IsoBase, LiveFiles, Role};
use crate::compression::Compression;
use crate::cpio::Archive;
use crate::delivery::{self, DeliveryProfile, Members};
use crate::iso;
use crate::iso::coreos::{CoreosIso, Grown, KernelArgumentAreas, MinimalIso};
use crate::kernel_arguments::KernelArguments;
use crate::overlay::{Overlay, Segment, Sizes};
use crate::recipe::{Recipe, RootfsLocation, RootfsUrl};
use vocabulary::report::DocumentPath;

/// The argument by which a system finds its medium, and there its root file system.
const MEDIUM_ARGUMENT: &str = "coreos.liveiso";

pub(super) fn plan(
    recipe: &Recipe,
    base: &IsoBase,
    system: &CoreosBase,
    rootfs_url: Option<&RootfsUrl>,
) -> Result<Image, ImageError> {
    let CoreosBase { areas, live, .. } = system;
    let refuse = |reason| Err(ImageError::Format { format: recipe.format, reason });
    if !areas.is_pristine() && !recipe.replace_embedded {
        return Err(ImageError::Customised(customisation(areas)));
    }
    let Members { archive, embedded, report: delivery } = members(recipe, areas)?;
    let mut report = base.report();
    report.append(delivery);
    let published = areas.kernel_arguments().map_or(KernelArguments::default(), |areas| areas.default().clone());
    let (files, arguments, changes) = match (recipe.format, live) {
        (Format::Iso, _) => iso(recipe, system, &archive, &published)?,
        (Format::MinimalIso, live) => {
            let minimal = system.minimal.as_ref();
            let minimal = minimal.map_err(|reason| ImageError::NoMinimalIso(reason.clone()))?;
            let rootfs = live.as_ref().and_then(|live| live.rootfs.as_ref());
            let url = match &recipe.rootfs {
                Some(RootfsLocation::Url(url)) => Some(url),
                Some(RootfsLocation::MediaPlane(_)) | None => rootfs_url,
            };
            minimal_iso(recipe, base, (minimal, rootfs), url, &archive)?
        }
        (Format::Initrd, Some(live)) => network_boot(recipe, base, live, &archive, &published)?,
        (Format::Initrd, None) => return refuse("it has no /images/pxeboot with a kernel and an initrd"),
        // Data images have no base, and disks are made of the ISO.
        (Format::Usb | Format::Data, _) => return refuse("it is an ISO; ask for 'iso'"),
    };
    let must_fetch = match recipe.format {
        Format::MinimalIso => true,
        Format::Iso => has_no_medium(areas, &arguments),
        _ => false,
    };
    if must_fetch && !names_rootfs(&arguments) {
        warn_of_rootfs(&mut report);
    }
    if let Some(key) = delivery::config_argument(DeliveryProfile::Coreos, arguments.iter()) {
        delivery::warn_of_config(&mut report, key, &DocumentPath::document("kernel arguments"));
    }
    delivery::warn_of_installation(&mut report, &recipe.additions, recipe.ignition.as_ref(), arguments.iter());
    let fetched = files.contains_key(&FileName::Rootfs) && !names_rootfs(&arguments);
    let rootfs_argument = fetched.then_some(COREOS_ROOTFS_ARGUMENT);
    Ok(Image { files, embedded, kernel_arguments: Some(arguments.to_string()), rootfs_argument, changes, report })
}

/// Whether a system with these arguments looks for no medium with its root file system: that of a minimal ISO.
fn has_no_medium(areas: &CoreosIso, arguments: &KernelArguments) -> bool {
    areas.kernel_arguments().is_some() && *arguments == arguments.without(MEDIUM_ARGUMENT)
}

/// The files, the kernel arguments of their boot entries, and what is changed of the base.
type Plan = (BTreeMap<FileName, Overlay>, KernelArguments, Vec<Change>);

fn iso(
    recipe: &Recipe,
    CoreosBase { areas, growth, .. }: &CoreosBase,
    archive: &Archive,
    published: &KernelArguments,
) -> Result<Plan, ImageError> {
    // A customised base may carry other arguments than it was published with. They go, like everything else that it carries.
    let edited = recipe.kernel_arguments.apply_to(published)?;
    let current = areas.kernel_arguments().map(KernelArgumentAreas::current);
    let differ = current.unwrap_or(published) != &edited;
    let Grown { overlay, changes } =
        growth.plan(areas, fitting(archive, areas.ignition().length())?, differ.then_some(&edited))?;
    let changes = what_changes(areas, differ, &changes);
    Ok((BTreeMap::from([(FileName::BootIso, overlay)]), edited, changes))
}

/// The minimal ISO and the root file system that it fetches, unless the recipe gives another URL.
fn minimal_iso(
    recipe: &Recipe,
    base: &IsoBase,
    (minimal, rootfs): (&MinimalIso, Option<&Range<u64>>),
    rootfs_url: Option<&RootfsUrl>,
    archive: &Archive,
) -> Result<Plan, ImageError> {
    let areas = minimal.areas();
    let published = areas.kernel_arguments().map_or(KernelArguments::default(), |areas| areas.default().clone());
    let mut arguments = recipe.kernel_arguments.apply_to(&published)?;
    if let Some(url) = rootfs_url.filter(|_| !names_rootfs(&arguments)) {
        arguments.append(&format!("{COREOS_ROOTFS_ARGUMENT}={}", url.as_str()).parse()?);
    }
    let Grown { overlay, changes } = minimal.plan(fitting(archive, areas.ignition().length())?, &arguments)?;
    let mut all = vec![Change::new(
        FileName::Rootfs.as_str(),
        "left out of the ISO",
        (rootfs.map_or(0, |range| range.end.saturating_sub(range.start)), 0),
        changes::FETCHED,
    )];
    all.extend(what_changes(areas, true, &changes));
    let mut files = BTreeMap::from([(FileName::BootIso, overlay)]);
    if let (Some(rootfs), None | Some(RootfsLocation::MediaPlane(_))) = (rootfs, &recipe.rootfs) {
        files.insert(FileName::Rootfs, range_of(base, rootfs)?);
    }
    Ok((files, arguments, all))
}

/// The changes: embed areas that are written in place, and what the editor has moved.
fn what_changes(areas: &CoreosIso, arguments_differ: bool, edited: &[iso::edit::Change]) -> Vec<Change> {
    let ignition = format!("/{}", areas.ignition().file());
    let mut written = vec![(ignition, areas.ignition().length(), changes::ADDITIONS)];
    if let Some(areas) = areas.kernel_arguments().filter(|_| arguments_differ) {
        for area in areas.areas() {
            let place = area.file().map_or_else(|| format!("offset {}", area.offset()), |file| format!("/{file}"));
            written.push((place, areas.size(), changes::KERNEL_ARGUMENTS));
        }
    }
    let mut all = Vec::new();
    for (place, size, why) in written {
        all.push(match edited.iter().find(|change| change.subject == place) {
            Some(change) => Change::from_editor(change, why),
            None => Change::embedded(place, size, why),
        });
    }
    let follows = edited.iter().filter(|change| all.iter().all(|there| there.subject != change.subject));
    let follows: Vec<_> = follows.map(|change| Change::from_editor(change, changes::FOLLOWS)).collect();
    all.extend(follows);
    all
}

fn range_of(base: &IsoBase, range: &Range<u64>) -> Result<Overlay, ImageError> {
    Ok(Overlay::concatenated(&Sizes::from([(Role::Iso, base.size)]), vec![Segment::base(Role::Iso, range.clone())])?)
}

/// The archive, compressed only if it does not fit otherwise.
fn fitting(archive: &Archive, room: u64) -> Result<Vec<u8>, ImageError> {
    let raw = archive.to_bytes();
    if raw.len() as u64 <= room { Ok(raw) } else { Ok(Compression::Gzip.compress(&raw)?) }
}

/// The ISO's own files for network boot: ranges of it, the initramfs with one more archive behind it.
fn network_boot(
    recipe: &Recipe,
    base: &IsoBase,
    live: &LiveFiles,
    archive: &Archive,
    published: &KernelArguments,
) -> Result<Plan, ImageError> {
    let sizes = Sizes::from([(Role::Iso, base.size)]);
    let initrd = Overlay::concatenated(&sizes, grown(Role::Iso, live.initrd.clone(), archive))?;
    let initrd_size = initrd.size();
    let mut files = BTreeMap::from([(FileName::Kernel, range_of(base, &live.kernel)?), (FileName::Initrd, initrd)]);
    if let Some(rootfs) = &live.rootfs {
        files.insert(FileName::Rootfs, range_of(base, rootfs)?);
    }
    // There is no medium with the root file system; the boot script gives its URL instead.
    let arguments = recipe.kernel_arguments.apply_to(&published.without(MEDIUM_ARGUMENT))?;
    let (old, new) = (live.initrd.end.saturating_sub(live.initrd.start), initrd_size);
    Ok((files, arguments, vec![Change::grown(FileName::Initrd.as_str(), old, new)]))
}

fn members(recipe: &Recipe, areas: &CoreosIso) -> Result<Members, ImageError> {
    let reads_keyfiles = areas.features().live_initrd_network;
    let mut members = delivery::embed_area(&recipe.additions, recipe.ignition.as_ref(), reads_keyfiles)?;
    if reads_keyfiles || recipe.additions.keyfiles.is_empty() {
        return Ok(members);
    }
    members.report.warning(
        "no-live-initrd-network",
        &DocumentPath::document("base"),
        "is an older CoreOS whose initramfs does not read keyfiles: only the booted system configures the network, and \
         without DHCP, an Ignition config cannot fetch anything before that",
    );
    Ok(members)
}

fn customisation(areas: &CoreosIso) -> String {
    let mut found = Vec::new();
    if !areas.ignition().is_empty() {
        found.push("its Ignition embed area is in use");
    }
    if areas.kernel_arguments().is_some_and(|areas| areas.current() != areas.default()) {
        found.push("its kernel arguments were changed");
    }
    found.join(", ")
}
