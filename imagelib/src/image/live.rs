//! Images over a live ISO without embed areas: its initramfs images grow, and its boot menus change.
//!
//! Only boot loaders read these files, and boot loaders see the whole medium. What the running system reads does not move, so
//! the system also finds it if it mounts a partition that could not grow ([`crate::iso::edit`]). dayone therefore lists such a
//! partition as a change, but does not warn about it.

mod initrds;
mod network_boot;

use std::collections::{BTreeMap, BTreeSet};

use self::initrds::{delivered, grown_initrds};
use super::changes::{self, Change};
use super::medium_edits::{MediumEdits, PARTITION};
use super::minimal;
use super::uki::{self, Addons};
use super::{FileName, Image, ImageError};
use crate::base::Format;
use crate::base::live::{EntryView, EspPlace, LiveIso, NotCustomisable, unreached_paths};
use crate::boot_config::{Edits, Selection, Skipped};
use crate::delivery::{self, DeliveryProfile};
use crate::disk::fat::FatEdit;
use crate::iso::Extent;
use crate::iso::edit::Edit;
use crate::kernel_arguments::{KernelArgument, KernelArgumentEdits};
use crate::overlay::{Overlay, Segment, Sizes};
use crate::recipe::{Recipe, RootfsLocation, RootfsUrl};
use crate::source::Role;
use vocabulary::report::{DocumentPath, Report};

/// An image over a medium.
pub(super) struct PlannedMedium {
    pub(super) image: Image,
    /// What of the medium is elsewhere in the image, from and to.
    pub(super) moved: Vec<(Extent, Extent)>,
}

impl From<Image> for PlannedMedium {
    fn from(image: Image) -> Self {
        Self { image, moved: Vec::new() }
    }
}

/// Plans an image over a medium of this size. The report has what is known about the medium.
pub(super) fn plan(
    recipe: &Recipe,
    size: u64,
    mut report: Report,
    live: &LiveIso,
    rootfs_url: Option<&RootfsUrl>,
) -> Result<PlannedMedium, ImageError> {
    if live.is_customised() {
        return Err(NotCustomisable::Customised.into());
    }
    if recipe.format == Format::Initrd {
        return Ok(network_boot::plan(recipe, size, report, live)?.into());
    }
    let selection = Selection::of(&recipe.boot_entries);
    let is_minimal = recipe.format == Format::MinimalIso;
    let minimal = is_minimal.then(|| minimal::plan(recipe, live, &selection, rootfs_url)).transpose()?;
    if is_minimal || !recipe.changes_nothing() {
        check_paths(recipe, live)?;
        report.append(unreached_paths(live));
    }
    // The menus come first, because this step knows which entries exist.
    let mut arguments = arguments(recipe, live, &selection, &mut report);
    let missing: BTreeSet<_> = live.chosen(&selection).flat_map(|entry| missing_for_ignition(recipe, entry)).collect();
    let mut edits = MediumEdits::default();
    if let Some(minimal) = &minimal {
        minimal.add_arguments(&mut arguments);
        report.append(minimal::left_alone(live, &selection));
        edits.iso.extend(minimal.paths.iter().map(|path| Edit::Remove { path: path.clone() }));
    }
    let menus =
        Edits { selection: selection.clone(), arguments, missing: missing.into_iter().collect(), initrds: Vec::new() };
    let mut addons = uki::plan(recipe, live)?;
    let has_addons = !addons.is_empty();
    if !has_addons || live.entries().next().is_some() {
        changed_menus(recipe, live, &menus, &mut edits, &mut report)?;
    }
    warn_of_arguments(recipe, live, &menus, &mut report);
    let mut embedded = grown_initrds(recipe, live, &selection, has_addons, &mut edits, &mut report)?;
    add(&mut addons, recipe, &mut edits)?;
    report.append(std::mem::take(&mut addons.report));
    for file in std::mem::take(&mut addons.embedded) {
        // Menus and unified kernel images bring the same files.
        if !embedded.contains(&file) {
            embedded.push(file);
        }
    }
    let mut reasons = Reasons::of(recipe, live, &addons);
    reasons.left_out = minimal.as_ref().map(|minimal| minimal.paths.as_slice()).unwrap_or_default();
    let (name, overlay, changes, moved) = if let Some(editor) = live.editor() {
        let mut edits = edits.of_iso(live)?;
        edits.push(Edit::Mark);
        let plan = editor.plan(edits)?;
        let changes = plan.changes.iter().map(|change| Change::from_editor(change, reasons.why(&change.subject)));
        let overlay = Overlay::concatenated(&Sizes::from([(Role::Iso, size)]), plan.segments()?)?;
        (FileName::BootIso, overlay, changes.collect(), plan.moved)
    } else {
        let changes = edits.esps.values().map(|_| Change::patched(PARTITION, reasons.why(PARTITION))).collect();
        let overlay = Overlay::patched(Role::Iso, size, edits.of_disk(live)?)?;
        (FileName::BootDisk, overlay, changes, Vec::new())
    };
    let mut files = BTreeMap::from([(name, overlay)]);
    if let (Some(minimal), None | Some(RootfsLocation::MediaPlane(_))) = (&minimal, &recipe.rootfs) {
        let rootfs = Overlay::concatenated(&Sizes::from([(Role::Iso, size)]), vec![minimal.rootfs.clone()])?;
        files.insert(minimal.file_name, rootfs);
    }
    let kernel_arguments =
        live.chosen(&selection).next().map(|entry| menus.changed(&entry.linux.arguments).to_string());
    let kernel_arguments = kernel_arguments.or_else(|| uki::kernel_arguments(recipe, live));
    let image = Image { files, embedded, kernel_arguments, rootfs_argument: None, changes, report };
    Ok(PlannedMedium { image, moved })
}

/// Warns about arguments with which the chosen entries bring up NICs that the documents do not mention, or take another config.
fn warn_of_arguments(recipe: &Recipe, live: &LiveIso, menus: &Edits, report: &mut Report) {
    let mut keys = BTreeSet::new();
    let mut config_argument = None;
    for entry in live.chosen(&menus.selection) {
        let Some(initrd) = entry.initrd else { continue };
        let Ok(surveyed) = &initrd.state else { continue };
        let arguments = menus.changed(&entry.linux.arguments);
        let profile = delivered(recipe, initrd);
        keys.extend(delivery::network_arguments(profile, &surveyed.tree, &recipe.additions, arguments.iter()));
        config_argument = config_argument.or_else(|| delivery::config_argument(profile, arguments.iter()));
    }
    let place = DocumentPath::document("boot entries");
    delivery::warn_of_arguments(report, &keys, &place);
    if let Some(key) = config_argument {
        delivery::warn_of_config(report, key, &place);
    }
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

/// Puts addons and credentials beside the unified kernel images.
fn add(addons: &mut Addons, recipe: &Recipe, edits: &mut MediumEdits) -> Result<(), ImageError> {
    for (esp, path, edit) in addons.edits(recipe)? {
        edits.esps.entry(esp).or_default().push((path, edit));
    }
    Ok(())
}

/// Changes the kernel arguments in the boot loaders' configurations.
fn changed_menus(
    recipe: &Recipe,
    live: &LiveIso,
    wanted: &Edits,
    edits: &mut MediumEdits,
    report: &mut Report,
) -> Result<(), ImageError> {
    let configurations = live.configurations();
    let configs: Vec<_> = configurations.iter().map(|configuration| &configuration.found.config).collect();
    let edited = wanted.apply_to(&configs)?;
    for Skipped { title, reason } in edited.skipped.iter().filter(|_| !recipe.boot_entries.is_empty()) {
        let message = format!("does not change: {reason}");
        report.warning("boot-entry-unchanged", &DocumentPath::document(&format!("boot entry {title}")), message);
    }
    let is_same = |one: &str, other: &str| live.editor().is_some_and(|editor| editor.is_same_file(one, other));
    let mut menus: Vec<(&str, Vec<u8>)> = Vec::new();
    for (configuration, text) in configurations.iter().zip(edited.texts) {
        let Some(text) = text else { continue };
        let path = &configuration.found.path;
        match configuration.esp {
            None => match menus.iter().find(|(other, _)| is_same(other, path)) {
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

/// The user's changes. Also deletes the arguments that make the system verify the medium's checksum, which dayone removes.
fn arguments(recipe: &Recipe, live: &LiveIso, selection: &Selection, report: &mut Report) -> KernelArgumentEdits {
    let mut edits = recipe.kernel_arguments.clone();
    if recipe.changes_nothing() && recipe.format != Format::MinimalIso {
        return edits;
    }
    let mut checks = BTreeSet::new();
    for entry in live.chosen(selection) {
        let profile = entry.initrd.map(|initrd| delivered(recipe, initrd));
        let profile = profile.or(recipe.delivery).unwrap_or(DeliveryProfile::Unknown);
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

/// The kernel arguments without which the system of an entry would ignore what it gets. The menu of Flatcar's own ISO lacks one.
fn missing_for_ignition(recipe: &Recipe, entry: EntryView<'_>) -> Vec<KernelArgument> {
    if !recipe.has_files() {
        return Vec::new();
    }
    let KernelArgumentEdits { append, delete, .. } = &recipe.kernel_arguments;
    // If the recipe deletes an argument, no entry gets one of its key.
    let named = append.iter().map(KernelArgument::as_str).chain(delete.iter().map(String::as_str).map(str::trim));
    let command_line: Vec<&str> = entry.linux.arguments.iter().chain(named).collect();
    let missing = |initrd| delivered(recipe, initrd).missing_for_ignition(command_line.iter().copied());
    entry.initrds().flat_map(missing).collect()
}

/// Why the parts of a medium change.
struct Reasons<'a> {
    /// What gets the host's files.
    additions: BTreeSet<&'a str>,
    /// What gets kernel arguments.
    arguments: BTreeSet<&'a str>,
    /// What is left out because the system fetches it.
    left_out: &'a [String],
}

impl<'a> Reasons<'a> {
    fn of(recipe: &Recipe, live: &'a LiveIso, addons: &Addons) -> Self {
        let place = |esp: Option<usize>| match &live.esps().get(esp?)?.place {
            EspPlace::File { path, .. } => Some(path.as_str()),
            EspPlace::Partition => Some(PARTITION),
        };
        let initrds = live.initrds().iter().map(|initrd| place(initrd.esp).unwrap_or(&initrd.path));
        let menus = live.configurations().iter().map(|menu| place(menu.esp).unwrap_or(&menu.found.path));
        let mut reasons = Self { additions: initrds.collect(), arguments: menus.collect(), left_out: &[] };
        for place in addons.esps().into_iter().filter_map(|esp| place(Some(esp))) {
            if recipe.has_files() {
                reasons.additions.insert(place);
            }
            if !recipe.kernel_arguments.is_empty() {
                reasons.arguments.insert(place);
            }
        }
        reasons
    }

    fn why(&self, subject: &str) -> &'static str {
        if self.left_out.iter().any(|path| path == subject) {
            return changes::FETCHED;
        }
        match (self.additions.contains(subject), self.arguments.contains(subject)) {
            (true, true) => changes::BOTH,
            (true, false) => changes::ADDITIONS,
            (false, true) => changes::KERNEL_ARGUMENTS,
            (false, false) => changes::FOLLOWS,
        }
    }
}
