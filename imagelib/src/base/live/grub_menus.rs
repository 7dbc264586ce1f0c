//! To which menus the configurations of GRUB on an EFI system partition lead.

use std::collections::BTreeSet;

use super::configurations::Configuration;
use super::defaults::Menu;
use super::paths::{BootPaths, Finder, Firmware};

/// The menus to which the configurations of GRUB on one EFI system partition lead, as far as dayone knows.
pub(super) struct GrubMenus {
    /// Their groups.
    groups: BTreeSet<usize>,
    /// Whether a configuration leads to one whose name only GRUB knows.
    leads_elsewhere: bool,
}

impl GrubMenus {
    pub(super) fn find(finder: &Finder<'_>, esp: usize, menus: &[Menu<'_>]) -> Self {
        let own = finder.configurations.iter().filter(|known| known.is_grub_on(esp));
        let mut groups: BTreeSet<usize> = own.map(|known| known.found.group).collect();
        let mut count = 0;
        while count < groups.len() {
            count = groups.len();
            let known = in_groups(finder, &groups).into_iter();
            groups.extend(known.flat_map(|known| known.found.leads_to.iter().copied()));
        }
        let leads_elsewhere = in_groups(finder, &groups).into_iter().any(|known| known.found.leads_elsewhere);
        let with_entries = menus.iter().filter(|menu| !menu.is_for_loopback()).map(|menu| menu.first.found.group);
        Self { groups: with_entries.filter(|group| groups.contains(group)).collect(), leads_elsewhere }
    }

    /// Whether GRUB may read the menu. If no menu is known to which the configurations lead, or there are no configurations, GRUB
    /// may have another one in its own program, which leads anywhere.
    pub(super) fn may_have(&self, menu: &Menu<'_>) -> bool {
        self.leads_elsewhere || self.groups.is_empty() || self.groups.contains(&menu.first.found.group)
    }

    /// Adds the configurations that only continue with files that are not on the medium. Returns whether there is one and
    /// nothing else leads to a menu, so that GRUB certainly reads nothing that dayone changes.
    pub(super) fn add_dead_ends(
        &self,
        finder: &Finder<'_>,
        esp: usize,
        at: impl Fn(&str) -> String,
        paths: &mut BootPaths,
    ) -> bool {
        let is_default = self.groups.is_empty() && !self.leads_elsewhere;
        let mut found_any = false;
        for Configuration { found, .. } in finder.configurations.iter().filter(|known| known.is_grub_on(esp)) {
            if !found.leads_to.is_empty() || found.leads_elsewhere || !found.config.entries().is_empty() {
                continue;
            }
            if let Some(missing) = found.missing.first() {
                let reason = format!("continues with {missing}, which was not found on the medium");
                paths.add(at(found.path.trim_start_matches('/')), reason, is_default.then_some(Firmware::Uefi));
                found_any = true;
            }
        }
        found_any && is_default
    }
}

fn in_groups<'a>(finder: &Finder<'a>, groups: &BTreeSet<usize>) -> Vec<&'a Configuration> {
    finder.configurations.iter().filter(|known| groups.contains(&known.found.group)).collect()
}
