//! Images over a kernel and an initramfs: the initramfs grows by one archive, the other files stay as they are.

use std::collections::BTreeMap;

use super::payload::Payload;
use super::{COREOS_ROOTFS_ARGUMENT, FileName, Image, ImageError};
use crate::base::{DeliveryProfile, Format, KernelInitrdBase, Role};
use crate::initramfs;
use crate::kernel_arguments::KernelArguments;
use crate::overlay::{Content, Overlay, Segment, Sizes};
use crate::recipe::Recipe;
use crate::report::{DocumentPath, Report};

/// What Ignition waits for on the kernel's command line; a CoreOS ISO has them there already.
const IGNITION_ARGUMENTS: &str = "ignition.firstboot ignition.platform.id=metal";

pub(super) fn plan(recipe: &Recipe, base: &KernelInitrdBase) -> Result<Image, ImageError> {
    if recipe.format != Format::Initrd {
        let reason = "it is a kernel and an initramfs; ask for 'initrd'";
        return Err(ImageError::Format { format: recipe.format, reason });
    }
    if base.customised && !recipe.replace_embedded {
        return Err(ImageError::Customised { found: "an Ignition config or keyfiles in its initramfs".to_owned() });
    }
    let (payload, arguments) = match base.profile {
        DeliveryProfile::Coreos => (Payload::coreos(recipe)?, IGNITION_ARGUMENTS),
        DeliveryProfile::RootInInitramfs => (Payload::root_in_initramfs(recipe)?, ""),
    };
    let arguments = recipe.kernel_arguments.apply_to(&arguments.parse::<KernelArguments>()?)?;
    let embedded = payload.embedded();
    let archive = payload.archive_for(&base.tree)?;
    let mut files = BTreeMap::from([(
        FileName::Initrd,
        Overlay::concatenated(
            &Sizes::from([(Role::Initrd, base.initrd_size)]),
            grown(Role::Initrd, 0..base.initrd_size, &archive),
        )?,
    )]);
    for (name, role, size) in
        [(FileName::Kernel, Role::Kernel, base.kernel_size), (FileName::Rootfs, Role::Rootfs, base.rootfs_size)]
    {
        if let Some(size) = size {
            files.insert(name, Overlay::patched(role, size, vec![])?);
        }
    }
    let mut report = Report::new();
    if base.profile == DeliveryProfile::RootInInitramfs && !base.has_network_manager {
        report.warning(
            "no-network-manager",
            &DocumentPath::document("initrd"),
            "has no NetworkManager: nothing there reads keyfiles; use an initramfs with NetworkManager, or make sure \
             that the root file system that follows has it",
        );
    }
    let fetches_rootfs = base.profile == DeliveryProfile::Coreos && base.rootfs_size.is_some();
    let rootfs_argument = fetches_rootfs.then_some(COREOS_ROOTFS_ARGUMENT);
    Ok(Image { files, embedded, kernel_arguments: Some(arguments.to_string()), rootfs_argument, report })
}

/// The initramfs that lies at `initrd` in a file of the base, with `archive` as one more member behind it.
pub(super) fn grown(file: Role, initrd: std::ops::Range<u64>, archive: &crate::cpio::Archive) -> Vec<Segment> {
    let length = initrd.end.saturating_sub(initrd.start);
    let appendix = initramfs::appendix(length, archive);
    vec![Segment::Base { file, offset: initrd.start, length }, Segment::Own(Content::Bytes(appendix.into()))]
}
