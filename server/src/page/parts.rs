//! The parts of a view that change while it is open, and which of them a browser has already.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use askama::Template;
use serde::Serialize;

/// The parts of a view that change while it is open.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Elements, by their ids.
    pub(super) elements: Vec<(String, String)>,
    /// The items of the view's list, in their order; none if the view has no list.
    pub(super) rows: Option<Vec<(String, String)>>,
}

impl Parts {
    /// Adds an element.
    pub(super) fn add(&mut self, id: &str, element: &impl Template) {
        self.elements.push((id.to_owned(), rendered(element)));
    }
}

/// Renders a template. Writing to memory does not fail.
pub(super) fn rendered(template: &impl Template) -> String {
    template.render().unwrap_or_default()
}

/// What a browser has already. It keeps a digest of each part, and no text.
#[derive(Debug, Default)]
pub(super) struct Sent {
    digests: BTreeMap<String, u64>,
    order: Vec<String>,
}

/// What a browser gets: ids with HTML, or with nothing if the browser has the HTML.
#[derive(Serialize)]
struct Change<'a> {
    elements: Vec<(&'a str, &'a str)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<(&'a str, Option<&'a str>)>>,
}

impl Sent {
    /// What a browser has to change, in JSON; none if nothing.
    pub(super) fn change(&mut self, parts: &Parts) -> Option<String> {
        let mut digests = BTreeMap::new();
        let mut is_new = |id: &str, html: &str| {
            let mut hasher = DefaultHasher::new();
            html.hash(&mut hasher);
            let digest = hasher.finish();
            digests.insert(id.to_owned(), digest);
            self.digests.get(id) != Some(&digest)
        };
        let mut elements = Vec::new();
        for (id, html) in &parts.elements {
            if is_new(id, html) {
                elements.push((id.as_str(), html.as_str()));
            }
        }
        let rows: Option<Vec<(&str, Option<&str>)>> = parts.rows.as_ref().map(|rows| {
            rows.iter().map(|(id, html)| (id.as_str(), is_new(id, html).then_some(html.as_str()))).collect()
        });
        let order: Vec<String> = rows.iter().flatten().map(|(id, _)| (*id).to_owned()).collect();
        let is_changed =
            !elements.is_empty() || order != self.order || rows.iter().flatten().any(|(_, html)| html.is_some());
        (self.digests, self.order) = (digests, order);
        // Serialising to memory fails only for maps whose keys are not texts.
        is_changed.then(|| serde_json::to_string(&Change { elements, rows }).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[(&str, &str)]) -> Parts {
        let rows = rows.iter().map(|(id, html)| ((*id).to_owned(), (*html).to_owned())).collect();
        Parts { elements: vec![("headline".to_owned(), "1 of 2".to_owned())], rows: Some(rows) }
    }

    #[test]
    fn only_what_has_changed_is_sent() {
        let mut sent = Sent::default();
        let first = sent.change(&rows(&[("a", "1"), ("b", "2")])).unwrap();
        assert_eq!(first, r#"{"elements":[["headline","1 of 2"]],"rows":[["a","1"],["b","2"]]}"#);
        assert_eq!(sent.change(&rows(&[("a", "1"), ("b", "2")])), None);
        let one = sent.change(&rows(&[("a", "1"), ("b", "3")])).unwrap();
        assert_eq!(one, r#"{"elements":[],"rows":[["a",null],["b","3"]]}"#);
        let order = sent.change(&rows(&[("b", "3"), ("a", "1")])).unwrap();
        assert_eq!(order, r#"{"elements":[],"rows":[["b",null],["a",null]]}"#);
        assert_eq!(sent.change(&rows(&[("b", "3")])).unwrap(), r#"{"elements":[],"rows":[["b",null]]}"#);
        assert_eq!(
            sent.change(&rows(&[("a", "1"), ("b", "3")])).unwrap(),
            r#"{"elements":[],"rows":[["a","1"],["b",null]]}"#
        );
    }
}
