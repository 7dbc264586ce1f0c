//! What browsers follow: the parts of a view that change while it is open.

use serde::Serialize;
use url::form_urlencoded;

use super::filter::Filter;
use super::{boot_page, image_page, overview};
use crate::api::Api;
use crate::boots::Listed;
use crate::live::{BootPieces, Changes, Content, Subject};

/// A view that browsers follow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Followed {
    /// All boots, or a part of them.
    Overview(Filter),
    /// A boot.
    Boot(String),
    /// An image.
    Image(String),
}

/// What a browser gets: ids with HTML.
#[derive(Serialize)]
struct Change<'a> {
    elements: &'a [(&'a str, &'a str)],
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<&'a [(&'a str, &'a str)]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<&'a [&'a str]>,
}

impl Followed {
    /// What the query of a stream asks for.
    pub(super) fn of(query: Option<&str>) -> Self {
        let query = query.unwrap_or_default();
        let named = form_urlencoded::parse(query.as_bytes()).find_map(|(name, value)| match &*name {
            "boot" => Some(Self::Boot(value.into_owned())),
            "image" => Some(Self::Image(value.into_owned())),
            _ => None,
        });
        named.unwrap_or_else(|| Self::Overview(Filter::of(Some(query))))
    }
}

impl Subject for Followed {
    type Server = Api;
    type Cache = BootPieces;
    const EVENT: &'static str = "change";

    fn render(api: &Api, last: &mut BootPieces, subjects: &[Self]) -> Vec<Option<Content>> {
        let listing = api.boots.listing();
        let mut rows = BootPieces::default();
        let content = |subject: &Self| match subject {
            Self::Overview(filter) => {
                let row = |listed: &Listed| rows.of(last, listed, || overview::row(api, listed));
                Some(overview::content(&listing, filter, row))
            }
            Self::Boot(id) => boot_page::content(api, id),
            Self::Image(id) => image_page::content(api, id),
        };
        let contents = subjects.iter().map(content).collect();
        *last = rows;
        contents
    }

    fn encode(Changes { elements, rows, order }: &Changes<'_>) -> String {
        let change = Change { elements, rows: rows.as_deref(), order: order.as_deref() };
        // Serialising to memory fails only for maps whose keys are not texts.
        serde_json::to_string(&change).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_selects_a_view() {
        assert_eq!(Followed::of(Some("boot=x&group=failed")), Followed::Boot("x".to_owned()));
        assert_eq!(Followed::of(Some("image=y")), Followed::Image("y".to_owned()));
        assert_eq!(Followed::of(None), Followed::Overview(Filter::of(None)));
        assert!(Followed::of(Some("page=2")) > Followed::of(Some("page=1")));
    }

    #[test]
    fn browsers_get_what_has_changed_in_one_line() {
        let (elements, rows) = (vec![("headline", "1\nof 2")], vec![("boot-a", "<li>")]);
        let all = Changes { elements, rows: Some(rows), order: Some(vec!["boot-b", "boot-a"]) };
        let expected =
            r#"{"elements":[["headline","1\nof 2"]],"rows":[["boot-a","<li>"]],"order":["boot-b","boot-a"]}"#;
        assert_eq!(Followed::encode(&all), expected);
        let none = Changes { elements: vec![], rows: None, order: None };
        assert_eq!(Followed::encode(&none), r#"{"elements":[]}"#);
    }
}
