//! What BIOSes start from a CD, and which menus that reads.

use std::collections::BTreeSet;

use super::configurations::Configuration;
use super::defaults::Menu;
use super::grub_menus;
use crate::boot_config::Loader;
use crate::boot_medium::{is_grub, is_isolinux};
use crate::iso::el_torito::BootEntry;
use crate::source::Source;

/// How many bytes of a boot loader to search.
const BEGINNING: u64 = 32 << 10;
/// The configuration of the GRUB before GRUB 2, whose name is in it.
const LEGACY: &[u8] = b"/boot/grub/menu.lst";

/// Where ISOLINUX looks for its configuration. It reads the first one that exists (`iso_open_config` in `core/fs/iso9660/iso9660.c`).
const DIRECTORIES: [&str; 5] = ["/boot/isolinux", "/isolinux", "/boot/syslinux", "/syslinux", ""];
/// The names of that configuration, in each of the directories.
const NAMES: [&str; 2] = ["isolinux.cfg", "syslinux.cfg"];

/// A boot loader that BIOSes start without emulation, recognised by a text in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BiosLoader {
    /// ISOLINUX, which reads only its own menus.
    Isolinux,
    /// GRUB 2, which reads only its own menus.
    Grub,
    /// The GRUB before GRUB 2, which reads `menu.lst`.
    LegacyGrub,
    /// Another one, which may be an ISOLINUX or a GRUB of a form that dayone does not know.
    Other,
}

impl BiosLoader {
    /// Looks into the image of an entry of the boot catalog. What cannot be read is another loader.
    pub(super) fn of(source: &dyn Source, entry: &BootEntry) -> Self {
        let bytes = source.read_vec(entry.image.offset, entry.image.length.min(BEGINNING)).unwrap_or_default();
        if is_isolinux(&bytes) {
            Self::Isolinux
        } else if is_grub(&bytes) {
            Self::Grub
        } else if bytes.windows(LEGACY.len()).any(|window| window == LEGACY) {
            Self::LegacyGrub
        } else {
            Self::Other
        }
    }

    /// The menus that it may read.
    pub(super) fn menus<'m>(
        self,
        configurations: &[Configuration],
        menus: &'m [Menu<'m>],
    ) -> impl Iterator<Item = &'m Menu<'m>> {
        let loaders: &[Loader] = match self {
            Self::Isolinux => &[Loader::Syslinux],
            Self::Grub => &[Loader::Grub],
            Self::LegacyGrub => &[],
            Self::Other => &[Loader::Syslinux, Loader::Grub],
        };
        let groups = if self == Self::Isolinux { isolinux_groups(configurations) } else { None };
        // A configuration without entries may continue with any other one, by a module that dayone does not know.
        let groups = groups.filter(|groups| menus.iter().any(|menu| groups.contains(&menu.first.found.group)));
        menus.iter().filter(move |menu| {
            let found = &menu.first.found;
            let may_be_read = groups.as_ref().is_none_or(|groups| groups.contains(&found.group));
            menu.first.esp.is_none() && loaders.contains(&found.config.loader()) && may_be_read
        })
    }
}

/// The groups of the configuration that ISOLINUX reads, and of those to which that one leads. `None` if dayone does not know which:
/// no configuration is where ISOLINUX looks for it, as on openSUSE's media, which have it in `/boot/x86_64/loader`.
fn isolinux_groups(configurations: &[Configuration]) -> Option<BTreeSet<usize>> {
    let at = |path: &str| -> BTreeSet<usize> {
        let on_iso = configurations.iter().filter(|known| known.esp.is_none());
        on_iso.filter(|known| known.path().eq_ignore_ascii_case(path)).map(|known| known.found.group).collect()
    };
    let mut paths = DIRECTORIES.iter().flat_map(|directory| NAMES.map(|name| format!("{directory}/{name}")));
    let first = paths.find_map(|path| Some(at(&path)).filter(|groups| !groups.is_empty()))?;
    let (groups, leads_elsewhere) = grub_menus::reached(configurations, first);
    (!leads_elsewhere).then_some(groups)
}
