//! Images over a live ISO without embed areas: its initramfs images grow, and its boot menus change.
//!
//! Only boot loaders read these files, and boot loaders see the whole medium. What the running system reads does not move, so
//! the system also finds it if it mounts a partition that could not grow ([`crate::iso::edit`]). dayone therefore lists such a
//! partition as a change, but does not warn about it.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::{self, Change};
use super::{FileName, Image, ImageError};
use crate::base::live::{
    EntryView, EspPlace, LiveInitrd, LiveIso, NotCustomisable, Surveyed, stays_in_initramfs, unreached, unreached_paths,
};
use crate::base::{Format, IsoBase};
use crate::boot_config::{Edits, Selection, Skipped};
use crate::delivery::{self, DeliveryProfile, EmbeddedFile, Members};
use crate::disk::fat::{FatEdit, FatPath};
use crate::initramfs;
use crate::iso::edit::{Edit, EditPlan};
use crate::kernel_arguments::KernelArgumentEdits;
use crate::overlay::{Overlay, Patch, Segment, Sizes};
use crate::recipe::Recipe;
use crate::source::Role;
use vocabulary::report::{DocumentPath, Report};

/// The name of an EFI system partition outside the files of the ISO, in the list of changes.
const PARTITION: &str = "EFI system partition";

pub(super) fn plan(recipe: &Recipe, base: &IsoBase, live: &LiveIso) -> Result<Image, ImageError> {
    if live.is_customised() {
        return Err(NotCustomisable::Customised.into());
    }
    if recipe.format == Format::Initrd {
        return network_boot(recipe, base, live);
    }
    let mut report = base.report();
    if !changes_nothing(recipe) {
        check_paths(recipe, live)?;
        report.append(unreached_paths(live));
    }
    let selection = selection(recipe);
    // The menus come first, because this step knows which entries exist.
    let arguments = arguments(recipe, live, &selection, &mut report);
    let mut edits = MediumEdits::default();
    changed_menus(recipe, live, &selection, &arguments, &mut edits, &mut report)?;
    let embedded = grown_initrds(recipe, live, &selection, &mut edits, &mut report)?;
    let mut edits = edits.of_iso(live)?;
    edits.push(Edit::Mark);
    let plan = live.editor().plan(edits)?;
    let changes = changes(live, &plan);
    let overlay = Overlay::concatenated(&Sizes::from([(Role::Iso, base.size)]), plan.segments()?)?;
    let files = BTreeMap::from([(FileName::BootIso, overlay)]);
    let first = chosen(live, &selection).next();
    let kernel_arguments = first.and_then(|entry| {
        // Another entry may have what this one lacks: the menus were checked as a whole.
        let mut own = arguments;
        own.delete.retain(|deleted| entry.linux.arguments.iter().any(|argument| argument == deleted.trim()));
        own.apply_to(&entry.linux.arguments).ok().map(|arguments| arguments.to_string())
    });
    Ok(Image { files, embedded, kernel_arguments, rootfs_argument: None, changes, report })
}

fn changes_nothing(recipe: &Recipe) -> bool {
    recipe.kernel_arguments.is_empty() && recipe.additions.is_empty() && recipe.ignition.is_none()
}

/// Refuses an ISO if one kind of firmware boots by default in a way that dayone cannot change, unless the user has named the
/// entries that hosts start.
fn check_paths(recipe: &Recipe, live: &LiveIso) -> Result<(), ImageError> {
    let default = live.unreached_paths().into_iter().find_map(|path| Some((path.default_of?, path)));
    match default.filter(|_| recipe.boot_entries.is_empty()) {
        Some((firmware, path)) => Err(ImageError::BootPath { firmware, path }),
        None => Ok(()),
    }
}

fn selection(recipe: &Recipe) -> Selection {
    if recipe.boot_entries.is_empty() { Selection::All } else { Selection::Titles(recipe.boot_entries.clone()) }
}

fn chosen<'a>(live: &'a LiveIso, selection: &'a Selection) -> impl Iterator<Item = EntryView<'a>> {
    live.entries().filter(|entry| selection.has(entry.entry))
}

/// Appends an archive to each initramfs that the chosen entries load.
fn grown_initrds(
    recipe: &Recipe,
    live: &LiveIso,
    selection: &Selection,
    edits: &mut MediumEdits,
    report: &mut Report,
) -> Result<Vec<EmbeddedFile>, ImageError> {
    let mut embedded = Vec::new();
    if recipe.additions.is_empty() && recipe.ignition.is_none() {
        return Ok(embedded);
    }
    let mut grown_any = false;
    let mut first_refusal = None;
    let mut refused: Vec<(&LiveInitrd, String)> = Vec::new();
    let mut seen = BTreeSet::new();
    for initrd in chosen(live, selection).filter_map(|entry| entry.initrd) {
        if !seen.insert((initrd.esp, initrd.path.as_str())) {
            continue;
        }
        match members(recipe, initrd) {
            Ok(Members { archive, embedded: files, report: known }) => {
                let appendix = initramfs::appendix(initrd.size(), &archive);
                match initrd.esp {
                    None => {
                        let content = grown(initrd, appendix);
                        edits.iso.push(Edit::Replace { path: initrd.path.clone(), content });
                    }
                    Some(esp) => edits.in_esp(esp, &initrd.path, FatEdit::Append(appendix.into()))?,
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
    report.append(unreached(chosen(live, selection)));
    report.append(shared(live, selection, &seen));
    if grown_any && recipe.boot_entries.is_empty() {
        check_defaults(live, &refused)?;
    }
    match first_refusal {
        // The installer or the rescue system of a menu may be of another kind than its first system.
        Some(refusal) if !grown_any => Err(refusal),
        None if !grown_any => {
            let initrds: BTreeSet<String> =
                chosen(live, selection).map(|entry| entry.linux.initrds.join(" ")).collect();
            Err(NotCustomisable::NoInitrd(initrds.into_iter().collect::<Vec<_>>().join(", ")).into())
        }
        _ => Ok(embedded),
    }
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
        if let Some(initrd) = entry.initrd.filter(|initrd| grown.contains(&(initrd.esp, initrd.path.as_str()))) {
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

fn members(recipe: &Recipe, initrd: &LiveInitrd) -> Result<Members, ImageError> {
    let Surveyed { detected, tree, .. } = match &initrd.state {
        Ok(surveyed) => surveyed,
        Err(reason) => {
            return Err(ImageError::Initrd { path: initrd.path.clone(), reason: reason.clone() });
        }
    };
    let profile = recipe.delivery.unwrap_or(detected.profile);
    let members = delivery::members(profile, &recipe.additions, recipe.ignition.as_ref(), tree)?;
    Ok(Members { report: delivery::report(profile, tree, &DocumentPath::document(&initrd.path)), ..members })
}

fn grown(initrd: &LiveInitrd, appendix: Vec<u8>) -> Vec<Segment> {
    let base = initrd.extents.iter().map(|range| Segment::base(Role::Iso, range.clone()));
    base.chain([Segment::bytes(appendix)]).collect()
}

/// Edits of a medium.
#[derive(Default)]
struct MediumEdits {
    /// Of the ISO file system.
    iso: Vec<Edit>,
    /// Of the EFI system partitions, by index.
    esps: BTreeMap<usize, Vec<(FatPath, FatEdit)>>,
}

impl MediumEdits {
    fn in_esp(&mut self, esp: usize, path: &str, edit: FatEdit) -> Result<(), ImageError> {
        self.esps.entry(esp).or_default().push((path.trim_start_matches('/').parse()?, edit));
        Ok(())
    }

    /// All of them as edits of the ISO.
    fn of_iso(self, live: &LiveIso) -> Result<Vec<Edit>, ImageError> {
        let mut edits = self.iso;
        for (esp, files) in self.esps {
            let Some(esp) = live.esps().get(esp) else { continue };
            let patches = esp.fat.edit(&files)?;
            edits.push(match &esp.place {
                EspPlace::Partition => Edit::PatchImage { name: PARTITION.to_owned(), patches },
                EspPlace::File { path, offset } => {
                    Edit::Patch { path: path.clone(), patches: relative(patches, *offset) }
                }
            });
        }
        Ok(edits)
    }
}

/// Changes the kernel arguments in the boot loaders' configurations.
fn changed_menus(
    recipe: &Recipe,
    live: &LiveIso,
    selection: &Selection,
    arguments: &KernelArgumentEdits,
    edits: &mut MediumEdits,
    report: &mut Report,
) -> Result<(), ImageError> {
    let configurations = live.configurations();
    let configs: Vec<_> = configurations.iter().map(|configuration| &configuration.found.config).collect();
    let wanted = Edits { selection: selection.clone(), arguments: arguments.clone(), initrds: Vec::new() };
    let edited = wanted.apply_to(&configs)?;
    for Skipped { title, reason } in edited.skipped.iter().filter(|_| !recipe.boot_entries.is_empty()) {
        let message = format!("does not change: {reason}");
        report.warning("boot-entry-unchanged", &DocumentPath::document(&format!("boot entry {title}")), message);
    }
    let mut menus: Vec<(&str, Vec<u8>)> = Vec::new();
    for (configuration, text) in configurations.iter().zip(edited.texts) {
        let Some(text) = text else { continue };
        let path = &configuration.found.path;
        match configuration.esp {
            None => match menus.iter().find(|(other, _)| live.editor().is_same_file(other, path)) {
                None => menus.push((path, text)),
                Some((_, known)) if *known == text => {}
                Some((other, _)) => {
                    return Err(ImageError::SharedMenu([(*other).to_owned(), path.clone()]));
                }
            },
            Some(esp) => edits.in_esp(esp, path, FatEdit::Write(text.into()))?,
        }
    }
    edits.iso.extend(
        menus
            .into_iter()
            .map(|(path, text)| Edit::Replace { path: path.to_owned(), content: vec![Segment::bytes(text)] }),
    );
    Ok(())
}

fn relative(patches: Vec<Patch>, start: u64) -> Vec<Patch> {
    let patches = patches.into_iter();
    patches.map(|Patch { offset, content }| Patch { offset: offset.saturating_sub(start), content }).collect()
}

/// The user's changes. Also deletes the arguments that make the system verify the medium's checksum, which dayone removes.
fn arguments(recipe: &Recipe, live: &LiveIso, selection: &Selection, report: &mut Report) -> KernelArgumentEdits {
    let mut edits = recipe.kernel_arguments.clone();
    if changes_nothing(recipe) {
        return edits;
    }
    let mut checks = BTreeSet::new();
    for entry in chosen(live, selection) {
        let profile = entry.initrd.and_then(|initrd| initrd.state.as_ref().ok()).map(|found| found.detected.profile);
        let profile = recipe.delivery.or(profile).unwrap_or(DeliveryProfile::Unknown);
        let is_check = |argument: &&str| {
            let key = argument.split('=').next().unwrap_or_default();
            profile.medium_checks().contains(&key)
        };
        checks.extend(entry.linux.arguments.iter().filter(is_check).map(str::to_owned));
    }
    checks.retain(|check| !edits.delete.contains(check));
    for check in &checks {
        let message = format!("lose {check}: dayone changed the medium and removed the checksum that it verifies");
        report.warning("medium-check-removed", &DocumentPath::document("boot entries"), message);
    }
    edits.delete.extend(checks);
    edits
}

/// The editor's changes with their reasons.
fn changes(live: &LiveIso, plan: &EditPlan) -> Vec<Change> {
    let place = |esp: Option<usize>| match &live.esps().get(esp?)?.place {
        EspPlace::File { path, .. } => Some(path.as_str()),
        EspPlace::Partition => Some(PARTITION),
    };
    let initrds = live.initrds().iter().map(|initrd| place(initrd.esp).unwrap_or(&initrd.path));
    let initrds: BTreeSet<&str> = initrds.collect();
    let menus = live.configurations().iter().map(|menu| place(menu.esp).unwrap_or(&menu.found.path));
    let menus: BTreeSet<&str> = menus.collect();
    let why = |subject: &str| match (initrds.contains(subject), menus.contains(subject)) {
        (true, true) => changes::BOTH,
        (true, false) => changes::ADDITIONS,
        (false, true) => changes::KERNEL_ARGUMENTS,
        (false, false) => changes::FOLLOWS,
    };
    plan.changes.iter().map(|change| Change::from_editor(change, why(&change.subject))).collect()
}

/// The files for network boot of a system that needs nothing else from its medium.
fn network_boot(recipe: &Recipe, base: &IsoBase, live: &LiveIso) -> Result<Image, ImageError> {
    let refuse = |reason| Err(ImageError::Format { format: Format::Initrd, reason });
    let selection = selection(recipe);
    let usable = |entry: &EntryView<'_>| entry.initrd.is_some_and(|initrd| initrd.state.is_ok());
    let Some(entry) = chosen(live, &selection).find(usable) else {
        return refuse("none of its boot entries loads an initrd that can be extended");
    };
    let kernel = entry.kernel().and_then(|path| live.editor().file(path));
    let on_iso = entry.initrd.filter(|initrd| initrd.esp.is_none());
    let (Some(initrd), Some(kernel), true) = (on_iso, kernel, entry.linux.initrds.len() == 1) else {
        return refuse("its boot entry does not load one kernel and one initrd from the ISO file system");
    };
    let detected = initrd.state.as_ref().map_or(DeliveryProfile::Unknown, |surveyed| surveyed.detected.profile);
    if !stays_in_initramfs(recipe.delivery.unwrap_or(detected)) {
        return refuse("its root file system is on the medium, which a network boot does not have");
    }
    let Members { archive, embedded, report: known } = members(recipe, initrd)?;
    let mut report = base.report();
    report.append(known);
    let sizes = Sizes::from([(Role::Iso, base.size)]);
    let appendix = initramfs::appendix(initrd.size(), &archive);
    let extended = Overlay::concatenated(&sizes, grown(initrd, appendix))?;
    let kernel = Segment::base(Role::Iso, kernel.extent.range());
    let changes = vec![Change::grown(FileName::Initrd.as_str(), initrd.size(), extended.size())];
    let files = BTreeMap::from([
        (FileName::Kernel, Overlay::concatenated(&sizes, vec![kernel])?),
        (FileName::Initrd, extended),
    ]);
    let arguments = recipe.kernel_arguments.apply_to(&entry.linux.arguments)?;
    Ok(Image { files, embedded, kernel_arguments: Some(arguments.to_string()), rootfs_argument: None, changes, report })
}
