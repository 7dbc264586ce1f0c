//! Checks of a recipe against the kind of its base.

use super::{ImageError, initramfs_server};
use crate::base::{Base, DeliveryProfile, IsoSystem};
use crate::recipe::Recipe;

/// Refuses options that would have no effect.
pub(super) fn check(recipe: &Recipe, base: &Base) -> Result<(), ImageError> {
    let system = match base {
        Base::Iso(iso) => Some(&iso.system),
        Base::Disk(_) | Base::KernelInitrd(_) | Base::Nothing => None,
    };
    let has_menus = matches!(base, Base::Disk(_)) || matches!(system, Some(IsoSystem::Live(_)));
    if !recipe.boot_entries.is_empty() && !has_menus {
        return Err(ImageError::NoEffect {
            what: "a boot entry",
            reason: "only the boot menus of live ISOs other than CoreOS's have entries to choose from",
        });
    }
    let other_profile = recipe.delivery.is_some_and(|profile| profile != DeliveryProfile::Coreos);
    if other_profile && matches!(system, Some(IsoSystem::Coreos(_))) {
        return Err(ImageError::NoEffect {
            what: "a delivery profile",
            reason: "a CoreOS live ISO has embed areas for its own, 'coreos'",
        });
    }
    if recipe.initramfs_network.is_some() && initramfs_server(recipe, base).is_none() {
        return Err(ImageError::NoEffect {
            what: "the network of the initramfs",
            reason: "only a minimal-iso of live-boot or casper that fetches its root file system from an IPv4 address has one",
        });
    }
    if recipe.rootfs.is_some() && !base.fetches_rootfs(recipe.format) {
        return Err(ImageError::NoEffect {
            what: "the URL of a root file system",
            reason: "only a minimal-iso, and media around the kernel and initramfs of CoreOS, fetch theirs from one",
        });
    }
    Ok(())
}
