//! All boots at a glance: how many are in which state, and a row for each, with those first that need to be watched.

use askama::Template;
use askama::filters::HtmlSafe;

use super::filter::{Filter, Page};
use crate::boots::{Counts, Group, Listed, Listing};

/// All boots at a glance.
pub(super) struct Board<'a> {
    pub(super) headline: Headline,
    pub(super) groups: Groups,
    pub(super) rows: Page<&'a Listed>,
}

/// How many hosts are in which state, by the last boot of each host.
#[derive(Debug, Template)]
#[template(path = "headline.html")]
pub(super) struct Headline {
    counts: Counts,
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

impl HtmlSafe for Groups {}

impl<'a> Board<'a> {
    /// What a filter selects of a listing.
    pub(super) fn of(listing: &'a Listing, filter: &Filter) -> Self {
        let chosen = filter.group.as_deref().and_then(|name| Group::ALL.into_iter().find(|group| group.name() == name));
        let search = filter.search.to_lowercase();
        let found = listing.boots().iter().filter(|listed| {
            chosen.is_none_or(|chosen| chosen == listed.group) && (search.is_empty() || listed.boot.is_called(&search))
        });
        Self {
            headline: Headline { counts: listing.counts },
            groups: groups(listing, filter),
            rows: filter.select(found.collect()),
        }
    }
}

fn groups(listing: &Listing, filter: &Filter) -> Groups {
    let link = |label, count, group: Option<&str>| GroupLink {
        label,
        count,
        href: format!("?{}", Filter { group: group.map(str::to_owned), ..filter.clone() }.query(1)),
        is_current: filter.group.as_deref() == group,
    };
    let mut links = vec![link("all", listing.boots().len(), None)];
    for group in Group::ALL {
        let count = listing.count(group);
        if count > 0 {
            links.push(link(group.name(), count, Some(group.name())));
        }
    }
    Groups { links }
}
