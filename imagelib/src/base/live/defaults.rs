//! What boots by default, as far as the text of the menus determines it.

use super::configurations::Configuration;
use crate::boot_config::{BootConfig, BootEntry, Loader};

/// What an entry of a menu starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Starts {
    /// A Linux kernel with an initrd on the medium, which has this index.
    Linux(usize),
    /// A unified kernel image that takes addons, which has this index.
    Uki(usize),
    /// A system to which dayone cannot add anything, with the reason.
    Unchangeable(String),
    /// Nothing on the medium: the local disk, the firmware's setup, a memory test.
    Nothing,
}

/// An entry and what it starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct MenuEntry<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) entry: &'a BootEntry,
    pub(super) starts: &'a Starts,
}

/// What a menu, which may consist of several files, boots by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MenuDefault {
    /// A system that dayone can customise. With the index of its initrd if the default entry is certain.
    Reached(Option<usize>),
    /// A system that dayone cannot customise: the entry and the reason.
    Unreached(String, String),
    /// Nothing on the medium.
    Nothing,
}

/// The default of a menu. If it is not certain which entry is the default, one customisable entry is enough.
pub(super) fn of(menu: &[MenuEntry<'_>]) -> MenuDefault {
    let of_nobody = after_timeout(menu).filter(|known| matches!(known.starts, Starts::Unchangeable(_)));
    let certain = of_nobody.or_else(|| chosen(menu)).filter(|known| *known.starts != Starts::Nothing);
    let any = || menu.iter().find(|known| matches!(known.starts, Starts::Linux(_) | Starts::Uki(_)));
    let first_away = || menu.iter().find(|known| matches!(known.starts, Starts::Unchangeable(_)));
    match certain.or_else(any).or_else(first_away) {
        Some(MenuEntry { starts: Starts::Linux(initrd), .. }) => MenuDefault::Reached(certain.map(|_| *initrd)),
        Some(MenuEntry { starts: Starts::Uki(_), .. }) => MenuDefault::Reached(None),
        Some(MenuEntry { configuration, entry, starts: Starts::Unchangeable(reason) }) => {
            MenuDefault::Unreached(place(configuration, entry), reason.clone())
        }
        _ => MenuDefault::Nothing,
    }
}

/// The name of an entry in messages.
pub(super) fn place(configuration: &Configuration, entry: &BootEntry) -> String {
    format!("boot entry {:?} of {}", entry.title, configuration.path())
}

/// What SYSLINUX boots if nobody presses a key in time, which may be another entry than its default.
fn after_timeout<'a, 'b>(menu: &'b [MenuEntry<'a>]) -> Option<&'b MenuEntry<'a>> {
    let configs = menu.iter().map(|known| &known.configuration.found.config);
    let label = configs.into_iter().find_map(|config| config.default_entry().after_timeout.as_deref())?;
    menu.iter().find(|known| known.entry.id.as_deref() == Some(label))
}

fn chosen<'a, 'b>(menu: &'b [MenuEntry<'a>]) -> Option<&'b MenuEntry<'a>> {
    let config = |known: &MenuEntry<'a>| -> &'a BootConfig { &known.configuration.found.config };
    let first = menu.first()?;
    let named =
        |name: &str| menu.iter().find(|known| known.entry.title == name || known.entry.id.as_deref() == Some(name));
    let said = |of: fn(&BootConfig) -> Option<&str>| menu.iter().find_map(|known| of(config(known)));
    match config(first).loader() {
        // If the loader shows a menu, the menu's own default counts.
        Loader::Syslinux => {
            let marked = said(|config| config.default_entry().marked.as_deref());
            let written = said(|config| config.default_entry().written.as_deref());
            let of_label = |label: &str| menu.iter().find(|known| known.entry.id.as_deref() == Some(label));
            let first = || menu.iter().find(|known| config(known).default_entry().shows_menu);
            marked.and_then(of_label).or_else(|| written.and_then(of_label)).or_else(first)
        }
        Loader::Grub => match said(|config| config.default_entry().written.as_deref()) {
            None | Some("0") => menu.iter().find(|known| !known.entry.title.is_empty()),
            // Submenus count, too, and entries of other files, and dayone does not know them. Nor does it know what an empty
            // number means.
            Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                number.parse().ok().and_then(|number| {
                    let is_whole = config(first).includes().is_empty() && config(first).default_entry().is_countable;
                    let mut entries = menu.iter().filter(|known| !known.entry.title.is_empty()).collect::<Vec<_>>();
                    // An entry with several kernels occurs several times.
                    entries.dedup_by_key(|known| *known.entry.lines.start());
                    entries.into_iter().nth(number).filter(|_| is_whole)
                })
            }
            Some(name) => named(name),
        },
        Loader::SystemdBoot => None,
    }
}

/// The menus: the entries of all configurations that a loader reads together.
pub(super) fn menus<'a>(configurations: &'a [Configuration], starts: &'a [Vec<Starts>]) -> Vec<Vec<MenuEntry<'a>>> {
    let mut menus: Vec<(Option<usize>, Loader, usize, Vec<MenuEntry<'a>>)> = Vec::new();
    for (configuration, starts) in configurations.iter().zip(starts) {
        let found = &configuration.found;
        let key = (configuration.esp, found.config.loader(), found.group);
        let known = found.config.entries().iter().zip(starts);
        let known = known.map(|(entry, starts)| MenuEntry { configuration, entry, starts });
        match menus.iter_mut().find(|(esp, loader, group, _)| (*esp, *loader, *group) == key) {
            Some((.., menu)) => menu.extend(known),
            None => menus.push((key.0, key.1, key.2, known.collect())),
        }
    }
    menus.into_iter().map(|(.., menu)| menu).filter(|menu| !menu.is_empty()).collect()
}
