//! The initramfs images of a live ISO: an archive goes behind each that a chosen entry loads.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::live::{EntryView, LiveInitrd, LiveIso, NotCustomisable, Surveyed, unreached};
use crate::boot_config::Selection;
use crate::cpio::Archive;
use crate::delivery::{self, DeliveryProfile, EmbeddedFile, Members, RootFileSystem};
use crate::disk::fat::FatEdit;
use crate::image::ImageError;
use crate::image::medium_edits::MediumEdits;
use crate::initramfs;
use crate::iso::edit::Edit;
use crate::overlay::Segment;
use crate::recipe::Recipe;
use crate::source::Role;
use vocabulary::report::{DocumentPath, Report};

/// Appends an archive to each initramfs that the chosen entries load.
pub(super) fn grown_initrds(
    recipe: &Recipe,
    live: &LiveIso,
    selection: &Selection,
    has_addons: bool,
    edits: &mut MediumEdits,
    report: &mut Report,
) -> Result<Vec<EmbeddedFile>, ImageError> {
    let mut embedded = Vec::new();
    if !recipe.has_files() && recipe.initramfs_network.is_none() {
        report.append(talos_findings(recipe, live, selection));
        return Ok(embedded);
    }
    let mut grown_any = false;
    let mut first_refusal = None;
    let mut refused: Vec<(&LiveInitrd, String)> = Vec::new();
    let mut seen = BTreeSet::new();
    for initrd in live.chosen(selection).flat_map(EntryView::initrds) {
        if !seen.insert((initrd.esp, initrd.path.as_str())) {
            continue;
        }
        match members(recipe, initrd, live.root_file_system()) {
            Ok(Members { archive, embedded: files, report: known }) => {
                match (initrd.esp, appendix(recipe, initrd, &archive)) {
                    (_, None) => {}
                    (None, Some(appendix)) => {
                        let content = grown(initrd, Some(appendix));
                        edits.iso.push(Edit::Replace { path: initrd.path.clone(), content });
                    }
                    (Some(esp), Some(appendix)) => {
                        edits.in_esp(esp, &initrd.path, FatEdit::Append(appendix.into()))?;
                    }
                }
                grown_any = true;
                report.append(known);
                for file in files {
                    // Several initramfs images bring the same files.
                    if !embedded.contains(&file) {
                        embedded.push(file);
                    }
                }
            }
            Err(error) => {
                let message = format!("gets no network configuration: {error}");
                report.warning("initrd-unchanged", &DocumentPath::document(&initrd.path), message);
                refused.push((initrd, error.to_string()));
                first_refusal.get_or_insert(error);
            }
        }
    }
    report.append(unreached(live.chosen(selection)));
    report.append(shared(live, selection, &seen));
    if grown_any && recipe.boot_entries.is_empty() {
        check_defaults(live, &refused)?;
    }
    match first_refusal {
        // The installer or the rescue system of a menu may be of another kind than its first system.
        Some(refusal) if !grown_any && !has_addons => Err(refusal),
        None if !grown_any && !has_addons => {
            let initrds: BTreeSet<String> = live.chosen(selection).map(|entry| entry.linux.initrds.join(" ")).collect();
            Err(NotCustomisable::NoInitrd(initrds.into_iter().collect::<Vec<_>>().join(", ")).into())
        }
        _ => Ok(embedded),
    }
}

/// Findings about systems of Talos in the chosen entries, whose whole configuration is a kernel argument.
fn talos_findings(recipe: &Recipe, live: &LiveIso, selection: &Selection) -> Report {
    let mut report = Report::new();
    if recipe.changes_nothing() {
        return report;
    }
    let mut seen = BTreeSet::new();
    for initrd in live.chosen(selection).flat_map(EntryView::initrds) {
        let Ok(Surveyed { tree, .. }) = &initrd.state else { continue };
        if delivered(recipe, initrd) == DeliveryProfile::Talos && seen.insert((initrd.esp, &initrd.path)) {
            let path = DocumentPath::document(&initrd.path);
            report.append(delivery::report(DeliveryProfile::Talos, tree, Some(&recipe.additions), &path));
        }
    }
    report
}

/// Refuses an image in which the default system of one kind of firmware gets no configuration, while other systems get theirs.
fn check_defaults(live: &LiveIso, refused: &[(&LiveInitrd, String)]) -> Result<(), ImageError> {
    for (firmware, initrds) in live.default_initrds() {
        let reason = |initrd: &&LiveInitrd| refused.iter().find(|(known, _)| std::ptr::eq(*known, *initrd));
        let reasons: Option<Vec<_>> = initrds.iter().map(reason).collect();
        if let Some((initrd, reason)) = reasons.as_deref().and_then(<[_]>::first) {
            let path = initrd.path.clone();
            return Err(ImageError::DefaultInitrd { firmware, path, reason: reason.clone() });
        }
    }
    Ok(())
}

/// Warns about entries that were not chosen but load an initramfs that grows.
fn shared(live: &LiveIso, selection: &Selection, grown: &BTreeSet<(Option<usize>, &str)>) -> Report {
    let mut report = Report::new();
    let mut sharers: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for entry in live.entries().filter(|entry| !selection.has(entry.entry)) {
        for initrd in entry.initrds().filter(|initrd| grown.contains(&(initrd.esp, initrd.path.as_str()))) {
            sharers.entry(&initrd.path).or_default().insert(format!("{:?}", entry.entry.title));
        }
    }
    for (initrd, titles) in sharers {
        let titles = titles.into_iter().collect::<Vec<_>>().join(", ");
        let message = format!("is loaded by other boot entries, too, which therefore get the same additions: {titles}");
        report.warning("initrd-shared", &DocumentPath::document(initrd), message);
    }
    report
}

pub(super) fn members(recipe: &Recipe, initrd: &LiveInitrd, root: RootFileSystem) -> Result<Members, ImageError> {
    let Surveyed { detected, tree, .. } = match &initrd.state {
        Ok(surveyed) => surveyed,
        Err(reason) => {
            return Err(ImageError::Initrd { path: initrd.path.clone(), reason: reason.clone() });
        }
    };
    let profile = recipe.delivery.unwrap_or(detected.profile);
    let (ignition, network) = (recipe.ignition.as_ref(), recipe.initramfs_network.as_ref());
    let path = DocumentPath::document(&initrd.path);
    Ok(delivery::members_with_network(profile, &recipe.additions, ignition, network, tree, root, &path)?)
}

/// The delivery profile of the system in an initramfs.
pub(super) fn delivered(recipe: &Recipe, initrd: &LiveInitrd) -> DeliveryProfile {
    let detected = initrd.state.as_ref().map_or(DeliveryProfile::Unknown, |surveyed| surveyed.detected.profile);
    recipe.delivery.unwrap_or(detected)
}

/// What goes behind an initramfs; none, where its system takes nothing from there.
pub(super) fn appendix(recipe: &Recipe, initrd: &LiveInitrd, archive: &Archive) -> Option<Vec<u8>> {
    delivered(recipe, initrd).takes_files().then(|| initramfs::appendix(initrd.size(), archive))
}

pub(super) fn grown(initrd: &LiveInitrd, appendix: Option<Vec<u8>>) -> Vec<Segment> {
    let base = initrd.extents.iter().map(|range| Segment::base(Role::Iso, range.clone()));
    base.chain(appendix.map(Segment::bytes)).collect()
}
