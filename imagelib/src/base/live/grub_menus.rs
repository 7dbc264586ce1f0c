//! To which menus the configurations of GRUB on an EFI system partition lead.

use std::collections::BTreeSet;

use super::configurations::Configuration;
use super::defaults::Menu;

/// The menus to which the configurations of GRUB on one EFI system partition lead, as far as dayone knows.
pub(super) struct GrubMenus {
    /// Their groups.
    groups: BTreeSet<usize>,
    /// Whether a configuration leads to one whose name only GRUB knows.
    leads_elsewhere: bool,
}

impl GrubMenus {
    pub(super) fn find(configurations: &[Configuration], esp: usize, menus: &[Menu<'_>]) -> Self {
        let own = configurations.iter().filter(|known| known.is_grub_on(esp));
        let (groups, leads_elsewhere) = reached(configurations, own.map(|known| known.found.group).collect());
        let with_entries = menus.iter().filter(|menu| !menu.is_for_loopback()).map(|menu| menu.first.found.group);
        Self { groups: with_entries.filter(|group| groups.contains(group)).collect(), leads_elsewhere }
    }

    /// Whether GRUB may read the menu. If no menu is known to which the configurations lead, or there are no configurations, GRUB
    /// may have another one in its own program, which leads anywhere.
    pub(super) fn may_have(&self, menu: &Menu<'_>) -> bool {
        self.leads_elsewhere || self.groups.is_empty() || self.groups.contains(&menu.first.found.group)
    }

    /// Whether the configurations lead to no menu, as far as dayone knows.
    pub(super) fn are_none(&self) -> bool {
        self.groups.is_empty() && !self.leads_elsewhere
    }
}

/// The configurations of GRUB on an EFI system partition that only continue with a file that is not on the medium: the path of each,
/// and that of the file.
pub(super) fn dead_ends(configurations: &[Configuration], esp: usize) -> Vec<(&str, &str)> {
    let own = configurations.iter().filter(|known| known.is_grub_on(esp)).map(|known| &known.found);
    let last = own.filter(|found| found.leads_to.is_empty() && !found.leads_elsewhere);
    let without_entries = last.filter(|found| found.config.entries().is_empty());
    without_entries
        .filter_map(|found| Some((found.path.trim_start_matches('/'), found.missing.first()?.as_str())))
        .collect()
}

/// The groups of configurations to which these groups lead, with themselves, and whether one of them leads to a configuration whose
/// name only the loader knows.
pub(super) fn reached(configurations: &[Configuration], mut groups: BTreeSet<usize>) -> (BTreeSet<usize>, bool) {
    let mut count = 0;
    while count < groups.len() {
        count = groups.len();
        let known = in_groups(configurations, &groups);
        let led_to: Vec<usize> = known.flat_map(|known| known.found.leads_to.iter().copied()).collect();
        groups.extend(led_to);
    }
    let leads_elsewhere = in_groups(configurations, &groups).any(|known| known.found.leads_elsewhere);
    (groups, leads_elsewhere)
}

fn in_groups<'a>(
    configurations: &'a [Configuration],
    groups: &BTreeSet<usize>,
) -> impl Iterator<Item = &'a Configuration> {
    configurations.iter().filter(|known| groups.contains(&known.found.group))
}
