//! Images over a kernel and an initramfs: the initramfs grows by one archive, the other files stay as they are.

use std::collections::BTreeMap;

use super::changes::Change;
use super::{COREOS_ROOTFS_ARGUMENT, FileName, Image, ImageError};
use crate::base::{Format, KernelInitrdBase, Role};
use crate::delivery::{self, DeliveryProfile, Members};
use crate::initramfs;
use crate::kernel_arguments::KernelArguments;
use crate::overlay::{Content, Overlay, Segment, Sizes};
use crate::recipe::Recipe;

pub(super) fn plan(recipe: &Recipe, base: &KernelInitrdBase) -> Result<Image, ImageError> {
    if recipe.format != Format::Initrd {
        let reason = "it is a kernel and an initramfs; ask for 'initrd'";
        return Err(ImageError::Format { format: recipe.format, reason });
    }
    if base.customised && !recipe.replace_embedded {
        return Err(ImageError::Customised { found: "an Ignition config or keyfiles in its initramfs".to_owned() });
    }
    let Members { archive, embedded, report } =
        delivery::members(base.profile, &recipe.additions, recipe.ignition.as_ref(), &base.tree)?;
    let needed: KernelArguments = base.profile.kernel_arguments().parse()?;
    let arguments = recipe.kernel_arguments.apply_to(&needed)?;
    let sizes = Sizes::from([(Role::Initrd, base.initrd_size)]);
    let initrd = Overlay::concatenated(&sizes, grown(Role::Initrd, 0..base.initrd_size, &archive))?;
    let changes = vec![Change::grown(FileName::Initrd.as_str(), base.initrd_size, initrd.size())];
    let mut files = BTreeMap::from([(FileName::Initrd, initrd)]);
    for (name, role, size) in
        [(FileName::Kernel, Role::Kernel, base.kernel_size), (FileName::Rootfs, Role::Rootfs, base.rootfs_size)]
    {
        if let Some(size) = size {
            files.insert(name, Overlay::patched(role, size, vec![])?);
        }
    }
    let fetches_rootfs = base.profile == DeliveryProfile::Coreos && base.rootfs_size.is_some();
    let rootfs_argument = fetches_rootfs.then_some(COREOS_ROOTFS_ARGUMENT);
    Ok(Image { files, embedded, kernel_arguments: Some(arguments.to_string()), rootfs_argument, changes, report })
}

/// The initramfs that lies at `initrd` in a file of the base, with `archive` as one more member behind it.
pub(super) fn grown(file: Role, initrd: std::ops::Range<u64>, archive: &crate::cpio::Archive) -> Vec<Segment> {
    let length = initrd.end.saturating_sub(initrd.start);
    let appendix = initramfs::appendix(length, archive);
    vec![Segment::Base { file, offset: initrd.start, length }, Segment::Own(Content::Bytes(appendix.into()))]
}
