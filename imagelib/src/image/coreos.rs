//! Images over a CoreOS live ISO: patches in its embed areas. The length stays, and every boot table with it.

use std::collections::BTreeMap;

use super::changes::{self, Change};
use super::kernel_initrd::grown;
use super::{COREOS_ROOTFS_ARGUMENT, FileName, Image, ImageError};
use crate::base::{Format, IsoBase, LiveFiles, Role};
use crate::compression::Compression;
use crate::cpio::Archive;
use crate::delivery::{self, Members};
use crate::iso::coreos::{CoreosIso, KernelArgumentAreas};
use crate::kernel_arguments::KernelArguments;
use crate::overlay::{Overlay, Segment, Sizes};
use crate::recipe::Recipe;
use crate::report::DocumentPath;

pub(super) fn plan(
    recipe: &Recipe,
    base: &IsoBase,
    areas: &CoreosIso,
    live: Option<&LiveFiles>,
) -> Result<Image, ImageError> {
    let refuse = |reason| Err(ImageError::Format { format: recipe.format, reason });
    if !areas.is_pristine() && !recipe.replace_embedded {
        return Err(ImageError::Customised { found: customisation(areas) });
    }
    let Members { archive, embedded, report: delivery } = members(recipe, areas)?;
    let mut report = base.report();
    report.append(delivery);
    let published = areas.kernel_arguments().map_or(KernelArguments::default(), |areas| areas.default().clone());
    let (files, arguments, changes) = match (recipe.format, live) {
        (Format::Iso, _) => iso(recipe, base, areas, &archive, &published)?,
        (Format::Initrd, Some(live)) => network_boot(recipe, base, live, &archive, &published)?,
        (Format::Initrd, None) => return refuse("it has no /images/pxeboot with a kernel and an initrd"),
        (Format::MinimalIso | Format::Usb | Format::Data, _) => return refuse("it is an ISO; ask for 'iso'"),
    };
    let rootfs_argument = files.contains_key(&FileName::Rootfs).then_some(COREOS_ROOTFS_ARGUMENT);
    Ok(Image { files, embedded, kernel_arguments: Some(arguments.to_string()), rootfs_argument, changes, report })
}

/// The files, the kernel arguments of their boot entries, and what is changed of the base.
type Plan = (BTreeMap<FileName, Overlay>, KernelArguments, Vec<Change>);

fn iso(
    recipe: &Recipe,
    base: &IsoBase,
    areas: &CoreosIso,
    archive: &Archive,
    published: &KernelArguments,
) -> Result<Plan, ImageError> {
    // An image that is customised already may carry other arguments than it was published with. They go, like all
    // else that it carries.
    let edited = recipe.kernel_arguments.apply_to(published)?;
    let current = areas.kernel_arguments().map(KernelArgumentAreas::current);
    let differ = current.unwrap_or(published) != &edited;
    let mut changes =
        vec![Change::embedded(format!("/{}", areas.ignition().file()), areas.ignition().length(), changes::ADDITIONS)];
    if let Some(areas) = areas.kernel_arguments().filter(|_| differ) {
        for area in areas.areas() {
            let place = area.file().map_or_else(|| format!("offset {}", area.offset()), |file| format!("/{file}"));
            changes.push(Change::embedded(place, areas.size(), changes::KERNEL_ARGUMENTS));
        }
    }
    let patches = areas.embed(fitting(archive, areas.ignition().length())?, differ.then_some(&edited))?;
    let file = Overlay::patched(Role::Iso, base.size, patches)?;
    Ok((BTreeMap::from([(FileName::BootIso, file)]), edited, changes))
}

/// The archive as it is where it fits, and compressed where it does not.
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
    let range = |range: &std::ops::Range<u64>| -> Result<Overlay, ImageError> {
        let segment =
            Segment::Base { file: Role::Iso, offset: range.start, length: range.end.saturating_sub(range.start) };
        Ok(Overlay::concatenated(&sizes, vec![segment])?)
    };
    let initrd = Overlay::concatenated(&sizes, grown(Role::Iso, live.initrd.clone(), archive))?;
    let initrd_size = initrd.size();
    let mut files = BTreeMap::from([(FileName::Kernel, range(&live.kernel)?), (FileName::Initrd, initrd)]);
    if let Some(rootfs) = &live.rootfs {
        files.insert(FileName::Rootfs, range(rootfs)?);
    }
    // There is no medium to find the root file system on; the boot script names its address instead.
    let arguments = recipe.kernel_arguments.apply_to(&published.without("coreos.liveiso"))?;
    let (old, new) = (live.initrd.end.saturating_sub(live.initrd.start), initrd_size);
    Ok((files, arguments, vec![Change::grown(FileName::Initrd.as_str(), old, new)]))
}

fn members(recipe: &Recipe, areas: &CoreosIso) -> Result<Members, ImageError> {
    let reads_keyfiles = areas.features().live_initrd_network;
    let mut members = delivery::embed_area(&recipe.additions, recipe.ignition.as_ref(), reads_keyfiles)?;
    if reads_keyfiles {
        return Ok(members);
    }
    members.report.warning(
        "no-live-initrd-network",
        &DocumentPath::document("base"),
        "is an older CoreOS whose initramfs does not read keyfiles: the network is configured from the booted system on, \
         and an Ignition config that fetches parts over the network finds none",
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
