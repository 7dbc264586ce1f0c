//! What a live ISO has for network boot.

use std::collections::BTreeMap;

use super::initrds::{appendix, delivered, grown, members};
use super::missing_for_ignition;
use crate::base::Format;
use crate::base::live::{EntryView, LiveIso, stays_in_initramfs};
use crate::boot_config::Selection;
use crate::delivery::Members;
use crate::image::changes::Change;
use crate::image::{FileName, Image, ImageError};
use crate::overlay::{Overlay, Segment, Sizes};
use crate::recipe::Recipe;
use crate::source::Role;
use vocabulary::report::Report;

/// The files for network boot of a system that needs nothing else from its medium.
pub(super) fn plan(recipe: &Recipe, size: u64, mut report: Report, live: &LiveIso) -> Result<Image, ImageError> {
    let refuse = |reason| Err(ImageError::Format { format: Format::Initrd, reason });
    let selection = Selection::of(&recipe.boot_entries);
    let usable = |entry: &EntryView<'_>| entry.initrd.is_some_and(|initrd| initrd.state.is_ok());
    let Some(entry) = live.chosen(&selection).find(usable) else {
        return refuse("none of its boot entries loads an initrd that can be extended");
    };
    let kernel = entry.kernel().and_then(|path| live.editor()?.file(path));
    let on_iso = entry.initrd.filter(|initrd| initrd.esp.is_none());
    let (Some(initrd), Some(kernel), true) = (on_iso, kernel, entry.linux.initrds.len() == 1) else {
        return refuse("its boot entry does not load one kernel and one initrd from the ISO file system");
    };
    if !stays_in_initramfs(delivered(recipe, initrd)) {
        return refuse("its root file system is on the medium, which a network boot does not have");
    }
    let Members { archive, embedded, report: known } = members(recipe, initrd, live.root_file_system())?;
    report.append(known);
    let sizes = Sizes::from([(Role::Iso, size)]);
    let appendix = appendix(recipe, initrd, &archive);
    let is_grown = appendix.is_some();
    let extended = Overlay::concatenated(&sizes, grown(initrd, appendix))?;
    let kernel = Segment::base(Role::Iso, kernel.extent.range());
    let change = Change::grown(FileName::Initrd.as_str(), initrd.size(), extended.size());
    let changes = is_grown.then_some(change).into_iter().collect();
    let files = BTreeMap::from([
        (FileName::Kernel, Overlay::concatenated(&sizes, vec![kernel])?),
        (FileName::Initrd, extended),
    ]);
    let mut edits = recipe.kernel_arguments.clone();
    edits.append.extend(missing_for_ignition(recipe, entry));
    let arguments = edits.apply_to(&entry.linux.arguments)?;
    Ok(Image { files, embedded, kernel_arguments: Some(arguments.to_string()), rootfs_argument: None, changes, report })
}
