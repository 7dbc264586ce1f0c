//! All boots at a glance: how many are in which state, and a row for each, with those first that need to be watched.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use askama::Template;
use askama::filters::HtmlSafe;

use super::filter::{Filter, Page};
use super::group::Group;
use super::row::{Row, name};
use crate::api::Api;
use crate::boots::{BootId, BootState, Step, StepState, View};
use crate::natural_order::natural_key;

/// All boots at a glance.
pub(super) struct Board {
    pub(super) headline: Headline,
    pub(super) groups: Groups,
    pub(super) rows: Page<Row>,
}

/// How many hosts are in which state, by the last boot of each host.
#[derive(Debug, Default, PartialEq, Eq, Template)]
#[template(path = "headline.html")]
pub(super) struct Headline {
    /// How many hosts there are, without those whose boot was deleted.
    total: usize,
    booted: usize,
    failed: usize,
    running: usize,
    queued: usize,
    unknown: usize,
}

/// Links to the groups that have boots.
#[derive(Debug, Template)]
#[template(path = "groups.html")]
pub(super) struct Groups {
    links: Vec<GroupLink>,
}

#[derive(Debug)]
struct GroupLink {
    label: &'static str,
    count: usize,
    href: String,
    is_current: bool,
}

impl HtmlSafe for Headline {}

impl Headline {
    fn of(boots: &[(Group, View)]) -> Self {
        let mut headline = Self::default();
        for (group, view) in boots {
            let booted = view.record.step(Step::Booted).is_some_and(|step| step.state == StepState::Done);
            let count = match group {
                Group::Earlier => continue,
                _ if booted => &mut headline.booted,
                Group::Running if view.record.state == BootState::Ejecting => continue,
                Group::Ejected => continue,
                Group::Running => &mut headline.running,
                Group::Failed => &mut headline.failed,
                Group::Unknown => &mut headline.unknown,
                Group::Queued => &mut headline.queued,
                Group::Booted => &mut headline.booted,
            };
            *count += 1;
            headline.total += 1;
        }
        headline
    }
}

impl HtmlSafe for Groups {}

/// All boots with their groups, in the order in which they are shown.
fn grouped(api: &Api) -> Vec<(Group, View)> {
    let views: Vec<View> = api.boots.all().iter().map(|boot| boot.view()).collect();
    // Later ids replace earlier ones.
    let latest: BTreeMap<String, BootId> =
        views.iter().map(|view| (view.record.bmc.address.to_string(), view.record.id)).collect();
    let group = |view: &View| {
        let is_latest = latest.get(&view.record.bmc.address.to_string()) == Some(&view.record.id);
        if is_latest || !view.record.is_ended() { Group::of(&view.record) } else { Group::Earlier }
    };
    let mut boots: Vec<(Group, View)> = views.into_iter().map(|view| (group(&view), view)).collect();
    boots.sort_by_cached_key(|(group, view)| (*group, natural_key(&name(&view.record)), Reverse(view.record.id)));
    boots
}

impl Board {
    /// Takes a snapshot of what a filter selects. Waits for the disk: the first time, this reads directories of images.
    pub(super) fn of(api: &Api, filter: &Filter) -> Self {
        let boots = grouped(api);
        let headline = Headline::of(&boots);
        let groups = groups(&boots, filter);
        let chosen = filter.group.as_deref().and_then(|name| Group::ALL.iter().find(|(_, known)| *known == name));
        let found = boots.into_iter().filter(|(group, view)| {
            chosen.is_none_or(|(chosen, _)| chosen == group) && filter.finds(&name(&view.record))
        });
        let page = filter.select(found.collect());
        Self { headline, groups, rows: page.map(|(group, view)| Row::new(api, &view, group)) }
    }
}

fn groups(boots: &[(Group, View)], filter: &Filter) -> Groups {
    let link = |label, count, group: Option<&str>| GroupLink {
        label,
        count,
        href: format!("?{}", Filter { group: group.map(str::to_owned), ..filter.clone() }.query(1)),
        is_current: filter.group.as_deref() == group,
    };
    let mut links = vec![link("all", boots.len(), None)];
    for (group, label) in Group::ALL {
        let count = boots.iter().filter(|(other, _)| *other == group).count();
        if count > 0 {
            links.push(link(label, count, Some(label)));
        }
    }
    Groups { links }
}
