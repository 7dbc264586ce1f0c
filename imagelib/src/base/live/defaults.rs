//! What boots by default, as far as the text of the menus determines it.

use super::configurations::Configuration;
use crate::boot_config::{BootEntry, DefaultEntry, Loader};

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

/// A menu. A boot loader may read it from several configurations.
#[derive(Debug, Clone)]
pub(super) struct Menu<'a> {
    pub(super) entries: Vec<MenuEntry<'a>>,
    /// The configuration that the loader reads first.
    pub(super) first: &'a Configuration,
    /// Those that this one includes, which may name the default without having an entry.
    others: Vec<&'a Configuration>,
}

/// What a menu boots by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MenuDefault {
    /// A system that dayone can customise. With the index of its initrd if the default entry is certain.
    Reached(Option<usize>),
    /// A system that dayone cannot customise: the entry and the reason.
    Unreached(String, String),
    /// Nothing on the medium.
    Nothing,
}

/// Returns what a menu boots by default. If it is not certain which entry is the default, one customisable entry is enough.
pub(super) fn default_of(menu: &Menu<'_>) -> MenuDefault {
    let unattended = menu.after_timeout().filter(|known| matches!(known.starts, Starts::Unchangeable(_)));
    let certain = unattended.or_else(|| menu.chosen()).filter(|known| *known.starts != Starts::Nothing);
    let any = || menu.entries.iter().find(|known| matches!(known.starts, Starts::Linux(_) | Starts::Uki(_)));
    let first_unchangeable = || menu.entries.iter().find(|known| matches!(known.starts, Starts::Unchangeable(_)));
    match certain.or_else(any).or_else(first_unchangeable) {
        Some(MenuEntry { starts: Starts::Linux(initrd), .. }) => MenuDefault::Reached(certain.map(|_| *initrd)),
        Some(MenuEntry { starts: Starts::Uki(_), .. }) => MenuDefault::Reached(None),
        Some(MenuEntry { configuration, entry, starts: Starts::Unchangeable(reason) }) => {
            MenuDefault::Unreached(describe_entry(configuration, entry), reason.clone())
        }
        _ => MenuDefault::Nothing,
    }
}

/// The name of an entry in messages.
pub(super) fn describe_entry(configuration: &Configuration, entry: &BootEntry) -> String {
    format!("boot entry {:?} of {}", entry.title, configuration.path())
}

impl<'a> Menu<'a> {
    /// Whether only GRUB on a local disk reads it, to start the ISO as a file.
    pub(super) fn is_for_loopback(&self) -> bool {
        self.first.path().ends_with("/loopback.cfg")
    }

    /// The first thing that one of the configurations says about the default.
    fn first_setting<T>(&self, of: impl Fn(&'a DefaultEntry) -> Option<T>) -> Option<T> {
        let all = std::iter::once(self.first).chain(self.others.iter().copied());
        all.map(|configuration| configuration.found.config.default_entry()).find_map(of)
    }

    fn labelled(&self, label: &str) -> Option<&MenuEntry<'a>> {
        self.entries.iter().find(|known| known.entry.id.as_deref() == Some(label))
    }

    /// What SYSLINUX boots at the end of its time limit, which may be another entry than its default.
    fn after_timeout(&self) -> Option<&MenuEntry<'a>> {
        self.labelled(self.first_setting(|default| default.after_timeout.as_deref())?)
    }

    fn chosen(&self) -> Option<&MenuEntry<'a>> {
        let written = self.first_setting(|default| default.written.as_deref());
        match self.first.found.config.loader() {
            // If the loader shows a menu, the menu's own default counts.
            Loader::Syslinux => {
                let marked = self.first_setting(|default| default.marked.as_deref());
                let shows_menu = self.first_setting(|default| default.shows_menu.then_some(())).is_some();
                let named = [marked, written].into_iter().flatten().find_map(|label| self.labelled(label));
                named.or_else(|| self.entries.first().filter(|_| shows_menu))
            }
            Loader::Grub => match written {
                None | Some("0") => self.entries.iter().find(|known| !known.entry.title.is_empty()),
                Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => self.entry_at(number.parse().ok()?),
                Some(name) => {
                    let titled = self.entries.iter().find(|known| known.entry.title == name);
                    titled.or_else(|| self.labelled(name))
                }
            },
            Loader::SystemdBoot => None,
        }
    }

    /// The entry of GRUB's menu with this number. `None` where submenus, conditions or other configurations change the count.
    fn entry_at(&self, number: usize) -> Option<&MenuEntry<'a>> {
        let config = &self.first.found.config;
        let is_alone = self.others.is_empty() && config.includes().next().is_none();
        let is_whole = is_alone && config.default_entry().is_countable;
        let mut entries = self.entries.iter().filter(|known| !known.entry.title.is_empty()).collect::<Vec<_>>();
        // An entry with several kernels occurs several times.
        entries.dedup_by_key(|known| *known.entry.lines.start());
        entries.into_iter().nth(number).filter(|_| is_whole)
    }
}

/// The menus with entries.
pub(super) fn menus<'a>(configurations: &'a [Configuration], starts: &'a [Vec<Starts>]) -> Vec<Menu<'a>> {
    // GRUB reads a menu from its EFI system partition and from the ISO file system, so the file system does not matter.
    let key = |configuration: &Configuration| configuration.found.group;
    let mut menus: Vec<Menu<'_>> = Vec::new();
    for (configuration, starts) in configurations.iter().zip(starts) {
        let known = configuration.found.config.entries().iter().zip(starts);
        let known = known.map(|(entry, starts)| MenuEntry { configuration, entry, starts });
        match menus.iter_mut().find(|menu| key(menu.first) == key(configuration)) {
            Some(menu) => {
                menu.entries.extend(known);
                menu.others.push(configuration);
            }
            None => menus.push(Menu { entries: known.collect(), first: configuration, others: Vec::new() }),
        }
    }
    menus.retain(|menu| !menu.entries.is_empty());
    menus
}
