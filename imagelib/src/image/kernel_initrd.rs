//! Images over a kernel and an initramfs: the initramfs grows by one archive, and the other files do not change. With the
//! base's boot loaders, dayone makes media around them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::changes::Change;
use super::disk::warn_of_bios;
use super::{COREOS_ROOTFS_ARGUMENT, FileName, Image, ImageError, names_rootfs, warn_of_rootfs};
use crate::base::{Format, KernelInitrdBase, Role};
use crate::boot_medium::BootMedium;
use crate::cpio::Archive;
use crate::delivery::{self, DeliveryProfile, Members, RootFileSystem};
use crate::digest::Digest;
use crate::initramfs;
use crate::kernel_arguments::KernelArguments;
use crate::overlay::{Overlay, Segment};
use crate::recipe::{Recipe, RootfsLocation, RootfsUrl};
use vocabulary::report::DocumentPath;

/// The volume identifier of an ISO around a kernel.
const LABEL: &str = "DAYONE";

pub(super) fn plan(
    recipe: &Recipe,
    base: &KernelInitrdBase,
    rootfs_url: Option<&RootfsUrl>,
) -> Result<Image, ImageError> {
    if base.customised && !recipe.replace_embedded {
        return Err(ImageError::Customised("an Ignition config in its initramfs".to_owned()));
    }
    let profile = recipe.delivery.unwrap_or(base.profile);
    let needed: KernelArguments = profile.kernel_arguments().parse()?;
    let mut arguments = recipe.kernel_arguments.apply_to(&needed)?;
    let root = RootFileSystem::named_in(arguments.iter());
    let (ignition, path) = (recipe.ignition.as_ref(), DocumentPath::document("initrd"));
    let Members { archive, embedded, mut report } =
        delivery::members_with_network(profile, &recipe.additions, ignition, None, &base.tree, root, &path)?;
    let keys = delivery::network_arguments(profile, &base.tree, &recipe.additions, arguments.iter());
    let place = DocumentPath::document("kernel arguments");
    delivery::warn_of_arguments(&mut report, &keys, &place);
    if let Some(key) = delivery::config_argument(profile, arguments.iter()) {
        delivery::warn_of_config(&mut report, key, &place);
    }
    if profile == DeliveryProfile::Coreos {
        delivery::warn_of_installation(&mut report, &recipe.additions, ignition, arguments.iter());
    }
    let initrd = if profile.takes_files() {
        grown(Role::Initrd, 0..base.initrd_size, &archive)
    } else {
        vec![Segment::base(Role::Initrd, 0..base.initrd_size)]
    };
    let sizes = base.sizes();
    let mut rootfs = base.rootfs_size.map(|size| Overlay::patched(Role::Rootfs, size, vec![])).transpose()?;
    let fetches_rootfs = profile == DeliveryProfile::Coreos && !names_rootfs(&arguments);

    let (mut files, rootfs_argument, changes) = if recipe.format == Format::Initrd {
        let initrd = Overlay::concatenated(&sizes, initrd)?;
        let change = Change::grown(FileName::Initrd.as_str(), base.initrd_size, initrd.size());
        let changes = profile.takes_files().then_some(change).into_iter().collect();
        let mut files = BTreeMap::from([(FileName::Initrd, initrd)]);
        if let Some(size) = base.kernel_size {
            files.insert(FileName::Kernel, Overlay::patched(Role::Kernel, size, vec![])?);
        }
        (files, (fetches_rootfs && rootfs.is_some()).then_some(COREOS_ROOTFS_ARGUMENT), changes)
    } else {
        let url = match &recipe.rootfs {
            Some(RootfsLocation::Url(url)) => {
                rootfs = None;
                Some(url)
            }
            Some(RootfsLocation::MediaPlane(_)) | None => rootfs_url,
        };
        match url {
            Some(url) if fetches_rootfs => arguments.append(&format!("{COREOS_ROOTFS_ARGUMENT}={url}").parse()?),
            None if fetches_rootfs && !delivery::has_rootfs(&base.tree) => warn_of_rootfs(&mut report),
            _ => {}
        }
        if recipe.format == Format::Usb && base.loaders.bios.is_some() {
            warn_of_bios(&mut report);
        }
        let (name, segments) = medium(recipe, base, initrd, &arguments)?;
        let medium = Overlay::concatenated(&sizes, segments)?;
        let changes = vec![Change::authored(name.as_str(), "made around the files of the base", medium.size())];
        (BTreeMap::from([(name, medium)]), None, changes)
    };
    files.extend(rootfs.map(|rootfs| (FileName::Rootfs, rootfs)));
    Ok(Image { files, embedded, kernel_arguments: Some(arguments.to_string()), rootfs_argument, changes, report })
}

/// A medium that starts the kernel with its initramfs.
fn medium(
    recipe: &Recipe,
    base: &KernelInitrdBase,
    initrd: Vec<Segment>,
    arguments: &KernelArguments,
) -> Result<(FileName, Vec<Segment>), ImageError> {
    let whole = |file, length| vec![Segment::base(file, 0..length)];
    let medium = BootMedium {
        label: LABEL.to_owned(),
        kernel: whole(Role::Kernel, base.kernel_size.unwrap_or(0)),
        initrd,
        arguments: arguments.clone(),
        bios: base.loaders.bios.clone(),
        esp: None,
    };
    Ok(match (recipe.format, &base.loaders.esp) {
        (Format::Usb, Some(esp)) => {
            let identity = Digest::of(recipe.id().as_bytes());
            (FileName::BootDisk, medium.disk(esp, identity)?)
        }
        (_, Some(esp)) => (FileName::BootIso, medium.with_esp(esp)?.layout()?),
        (_, None) => (FileName::BootIso, medium.layout()?),
    })
}

/// The initramfs at `initrd` in a file of the base, with `archive` appended.
pub(super) fn grown(file: Role, initrd: Range<u64>, archive: &Archive) -> Vec<Segment> {
    let base = Segment::base(file, initrd);
    let appendix = initramfs::appendix(base.length(), archive);
    vec![base, Segment::bytes(appendix)]
}
