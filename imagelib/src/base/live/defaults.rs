//! What is booted when nobody chooses: as far as the menus alone say it.

use super::configurations::Configuration;
use crate::boot_config::{BootConfig, BootEntry, Loader};

/// Where an entry of a menu leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Leads {
    /// To a Linux kernel with an initrd that can be found. With its index.
    To(usize),
    /// To a system to which nothing can be added. With the reason.
    Away(String),
    /// To no system of the medium: to the disk, to the firmware's setup, to a memory test.
    Nowhere,
}

/// An entry, and where it leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) entry: &'a BootEntry,
    pub(super) leads: &'a Leads,
}

/// What one menu, which may be spread over several files, boots when nobody chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Default {
    /// A system that can be customised. With its initrd where it is certain which entry it is.
    Reached(Option<usize>),
    /// One that cannot: which entry, and why.
    Unreached(String, String),
    /// No system of the medium.
    Nothing,
}

/// The default of a menu. Where the menu does not say for certain which entry it is, one good entry is enough.
pub(super) fn of(menu: &[Known<'_>]) -> Default {
    let certain = chosen(menu).filter(|known| *known.leads != Leads::Nowhere);
    let any = || menu.iter().find(|known| matches!(known.leads, Leads::To(_)));
    let first_away = || menu.iter().find(|known| matches!(known.leads, Leads::Away(_)));
    match certain.or_else(any).or_else(first_away) {
        Some(Known { leads: Leads::To(initrd), .. }) => Default::Reached(certain.map(|_| *initrd)),
        Some(Known { configuration, entry, leads: Leads::Away(reason) }) => {
            Default::Unreached(place(configuration, entry), reason.clone())
        }
        _ => Default::Nothing,
    }
}

/// How an entry is called in messages.
pub(super) fn place(configuration: &Configuration, entry: &BootEntry) -> String {
    format!("boot entry {:?} of {}", entry.title, configuration.path())
}

fn chosen<'a, 'b>(menu: &'b [Known<'a>]) -> Option<&'b Known<'a>> {
    let config = |known: &Known<'a>| -> &'a BootConfig { &known.configuration.found.config };
    let first = menu.first()?;
    let named =
        |name: &str| menu.iter().find(|known| known.entry.title == name || known.entry.id.as_deref() == Some(name));
    let said = |of: fn(&BootConfig) -> Option<&str>| menu.iter().find_map(|known| of(config(known)));
    match config(first).loader() {
        // Where a menu is shown, its own default counts.
        Loader::Syslinux => {
            let marked = said(|config| config.default_entry().marked.as_deref());
            let written = said(|config| config.default_entry().written.as_deref());
            let of_label = |label: &str| menu.iter().find(|known| known.entry.id.as_deref() == Some(label));
            marked.and_then(of_label).or_else(|| written.and_then(of_label))
        }
        Loader::Grub => match said(|config| config.default_entry().written.as_deref()) {
            None | Some("0") => menu.iter().find(|known| !known.entry.title.is_empty()),
            // Submenus count as well, and are not known here.
            // An empty one is not known either.
            Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => None,
            Some(name) => named(name),
        },
        Loader::SystemdBoot => None,
    }
}

/// The entries of the configurations that are read together, for each such group.
pub(super) fn menus<'a>(configurations: &'a [Configuration], leads: &'a [Vec<Leads>]) -> Vec<Vec<Known<'a>>> {
    let mut menus: Vec<(Option<usize>, Loader, usize, Vec<Known<'a>>)> = Vec::new();
    for (configuration, leads) in configurations.iter().zip(leads) {
        let found = &configuration.found;
        let key = (configuration.esp, found.config.loader(), found.group);
        let known = found.config.entries().iter().zip(leads);
        let known = known.map(|(entry, leads)| Known { configuration, entry, leads });
        match menus.iter_mut().find(|(esp, loader, group, _)| (*esp, *loader, *group) == key) {
            Some((.., menu)) => menu.extend(known),
            None => menus.push((key.0, key.1, key.2, known.collect())),
        }
    }
    menus.into_iter().map(|(.., menu)| menu).filter(|menu| !menu.is_empty()).collect()
}
