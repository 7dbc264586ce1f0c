//! Which part of a long list a view shows.

use askama::Template;
use askama::filters::HtmlSafe;
use url::form_urlencoded;

/// How many entries a view shows at once. The largest server has thousands of boots.
pub(super) const PAGE: usize = 50;

/// What the query of a view selects. A query that is wrong selects what can be read of it: people edit addresses by hand.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Filter {
    /// The name of a group of boots: `failed`.
    pub(super) group: Option<String>,
    /// A part of a host's name.
    pub(super) search: String,
    /// The page, from 1.
    pub(super) page: usize,
}

impl Filter {
    /// Reads a query.
    pub(super) fn of(query: Option<&str>) -> Self {
        let mut filter = Self { group: None, search: String::new(), page: 1 };
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match &*name {
                "group" => filter.group = Some(value.into_owned()).filter(|group| !group.is_empty()),
                "search" => value.trim().clone_into(&mut filter.search),
                "page" => filter.page = value.parse().unwrap_or(1).max(1),
                _ => {}
            }
        }
        filter
    }

    /// Whether the list has a host with this name, in any case of letters.
    pub(super) fn finds(&self, name: &str) -> bool {
        self.search.is_empty() || name.to_lowercase().contains(&self.search.to_lowercase())
    }

    /// The query for a page of the same list.
    pub(super) fn query(&self, page: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(group) = &self.group {
            query.append_pair("group", group);
        }
        if !self.search.is_empty() {
            query.append_pair("search", &self.search);
        }
        if page > 1 {
            query.append_pair("page", &page.to_string());
        }
        query.finish()
    }

    /// The entries of the page. A page behind the last one is the last one.
    pub(super) fn select<T>(&self, entries: Vec<T>) -> Page<T> {
        let total = entries.len();
        let last = total.div_ceil(PAGE).max(1);
        let page = self.page.min(last);
        let first = (page - 1) * PAGE;
        let link = |page: usize| format!("?{}", self.query(page));
        Page {
            entries: entries.into_iter().skip(first).take(PAGE).collect(),
            total,
            first: first + 1,
            previous: (page > 1).then(|| link(page - 1)),
            next: (page < last).then(|| link(page + 1)),
        }
    }
}

/// A page of a list.
#[derive(Debug)]
pub(super) struct Page<T> {
    /// Its entries.
    pub(super) entries: Vec<T>,
    /// How many entries the list has.
    pub(super) total: usize,
    /// The number of its first entry, from 1.
    pub(super) first: usize,
    /// Where the page before is.
    pub(super) previous: Option<String>,
    /// Where the next page is.
    pub(super) next: Option<String>,
}

impl<T> Page<T> {
    /// The number of its last entry.
    pub(super) fn last(&self) -> usize {
        self.first + self.entries.len() - 1
    }

    /// The same page with other entries.
    pub(super) fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        let Self { entries, total, first, previous, next } = self;
        Page { entries: entries.into_iter().map(change).collect(), total, first, previous, next }
    }

    /// Its place in the list, with the links to the other pages.
    pub(super) fn pager(&self) -> Pager {
        let (first, last, total) = (self.first, self.last(), self.total);
        Pager { first, last, total, previous: self.previous.clone(), next: self.next.clone() }
    }
}

/// The place of a page in its list, with links to other pages.
#[derive(Debug, Template)]
#[template(path = "pager.html")]
pub(super) struct Pager {
    first: usize,
    last: usize,
    total: usize,
    previous: Option<String>,
    next: Option<String>,
}

impl HtmlSafe for Pager {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_a_part_of_the_list() {
        let filter = Filter::of(Some("page=2&group=failed&search=a%26b&other=1"));
        let page = filter.select((0..120).collect());
        assert_eq!((page.first, page.last(), page.total, page.entries[0]), (51, 100, 120, 50));
        assert_eq!(page.previous.unwrap(), "?group=failed&search=a%26b");
        assert_eq!(page.next.unwrap(), "?group=failed&search=a%26b&page=3");
        let last = Filter::of(Some("page=99")).select((0..51).collect());
        assert_eq!((last.first, last.last(), last.next), (51, 51, None));
        let empty = Filter::of(Some("page=x")).select(Vec::<u8>::new());
        assert_eq!((empty.total, empty.previous, empty.next), (0, None, None));
    }
}
