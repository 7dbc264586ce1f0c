//! All boots in the order in which people look at them. A listing is made from the one before: what has not changed stays.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::bmc_key::{BmcKey, LastBoots};
use super::boot::{Boot, View};
use super::group::{Counted, Group};
use super::id::BootId;
use crate::natural_order::{Part, natural_key};

/// All boots of a server: by group, then by the name of the host, then the newest first.
#[derive(Debug, Default)]
pub struct Listing {
    boots: Vec<Listed>,
    /// How many boots there are, by the place of their group in [`Group::ALL`].
    by_group: [usize; Group::ALL.len()],
    /// How many hosts are in which state, by the last boot of each host.
    pub counts: Counts,
}

/// A boot in a listing.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its group.
    pub group: Group,
    /// The boot.
    pub boot: Arc<KnownBoot>,
}

/// A boot at one revision, with what is derived of it.
#[derive(Debug)]
pub struct KnownBoot {
    /// The boot.
    pub view: View,
    /// The host's name, or the address of its BMC.
    pub name: String,
    lower_case: String,
    order: Vec<Part>,
    key: Arc<BmcKey>,
}

/// How many hosts are in which state, without those whose boot was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All hosts.
    pub total: usize,
    /// Hosts that have booted.
    pub booted: usize,
    /// Hosts whose boot failed.
    pub failed: usize,
    /// Hosts of which dayone cannot tell whether they have booted.
    pub unknown: usize,
    /// Hosts that are booting.
    pub running: usize,
    /// Hosts whose boot waits for others.
    pub queued: usize,
}

impl Listing {
    /// Its boots, in their order.
    pub fn boots(&self) -> &[Listed] {
        &self.boots
    }

    /// How many boots there are in a group.
    pub fn count(&self, group: Group) -> usize {
        let counts = Group::ALL.iter().zip(self.by_group);
        counts.filter(|(other, _)| **other == group).map(|(_, count)| count).sum()
    }

    /// The listing of these boots, made from an earlier one. The earlier one itself if nothing has changed.
    pub(super) fn updated(earlier: &Arc<Self>, boots: &[Arc<Boot>]) -> Arc<Self> {
        let mut left: HashMap<BootId, &Arc<Boot>> = boots.iter().map(|boot| (boot.id(), boot)).collect();
        let mut is_changed = false;
        let mut known = Vec::with_capacity(boots.len());
        // The earlier order is almost the new one, which makes sorting cheap.
        for Listed { boot: then, .. } in &earlier.boots {
            match left.remove(&then.view.record.id) {
                Some(boot) if boot.revision() == then.view.revision => known.push(Arc::clone(then)),
                Some(boot) => {
                    is_changed = true;
                    known.push(Arc::new(KnownBoot::new(boot)));
                }
                None => is_changed = true,
            }
        }
        if !is_changed && left.is_empty() {
            return Arc::clone(earlier);
        }
        known.extend(left.into_values().map(|boot| Arc::new(KnownBoot::new(boot))));
        Arc::new(Self::of(known))
    }

    fn of(known: Vec<Arc<KnownBoot>>) -> Self {
        let mut boots: Vec<Listed> =
            groups(&known).into_iter().zip(known).map(|(group, boot)| Listed { group, boot }).collect();
        boots.sort_by(|one, other| one.order().cmp(&other.order()));
        let mut counts = Counts::default();
        for boot in &boots {
            counts.add(boot);
        }
        let by_group = Group::ALL.map(|group| boots.iter().filter(|boot| boot.group == group).count());
        Self { boots, by_group, counts }
    }
}

/// The groups of these boots.
fn groups(known: &[Arc<KnownBoot>]) -> Vec<Group> {
    let last = LastBoots::of(known.iter().map(|boot| (&*boot.key, boot.view.record.id)));
    let group = |boot: &Arc<KnownBoot>| {
        let record = &boot.view.record;
        Group::of(record, last.at(&boot.key) == Some(record.id))
    };
    known.iter().map(group).collect()
}

impl Listed {
    fn order(&self) -> (Group, &[Part], Reverse<BootId>) {
        (self.group, &self.boot.order, Reverse(self.boot.view.record.id))
    }

    /// How the boot counts among those of all hosts.
    pub fn counted(&self) -> Option<Counted> {
        self.group.counted(&self.boot.view.record)
    }
}

impl KnownBoot {
    fn new(boot: &Boot) -> Self {
        let view = boot.view();
        let name = view.record.name();
        let key = Arc::clone(&boot.key);
        Self { lower_case: name.to_lowercase(), order: natural_key(&name), key, name, view }
    }

    /// Whether the name contains a text, which is in lower case.
    pub fn is_called(&self, part: &str) -> bool {
        self.lower_case.contains(part)
    }
}

impl Counts {
    fn add(&mut self, boot: &Listed) {
        let Some(counted) = boot.counted() else { return };
        self.total += 1;
        *match counted {
            Counted::Booted => &mut self.booted,
            Counted::Failed => &mut self.failed,
            Counted::Unknown => &mut self.unknown,
            Counted::Running => &mut self.running,
            Counted::Queued => &mut self.queued,
        } += 1;
    }
}

#[cfg(test)]
mod tests;
