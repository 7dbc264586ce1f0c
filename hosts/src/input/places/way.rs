//! The steps of a [`DocumentPath`](vocabulary::report::DocumentPath), read from its text.

use std::borrow::Cow;

/// One step from a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step<'w> {
    Key(Cow<'w, str>),
    Index(usize),
}

/// For a way from the top of a text: the number of the document that it leads into, and the rest of the way.
pub(super) fn in_stream(way: &str) -> Option<(usize, &str)> {
    let (number, rest) = way.trim_start().strip_prefix("document ")?.split_once(':')?;
    Some((number.parse().ok()?, rest))
}

/// The first step of `way`, and what is behind it; none where the way ends, or is none.
pub(super) fn first(way: &str) -> Option<(Step<'_>, &str)> {
    let way = way.trim_start_matches([':', ' ', '.']);
    if let Some(quoted) = way.strip_prefix("[\"") {
        return key(quoted).map(|(key, rest)| (Step::Key(Cow::Owned(key)), rest));
    }
    if let Some(rest) = way.strip_prefix('[') {
        let (index, rest) = rest.split_once(']')?;
        return Some((Step::Index(index.parse().ok()?), rest));
    }
    let end = way.find(['.', '[', ':']).unwrap_or(way.len());
    let (key, rest) = way.split_at_checked(end).filter(|(key, _)| !key.is_empty())?;
    Some((Step::Key(Cow::Borrowed(key)), rest))
}

/// A key that is written with Rust's escapes, up to its closing quote and bracket.
fn key(quoted: &str) -> Option<(String, &str)> {
    let (mut key, mut rest) = (String::new(), quoted);
    loop {
        let (at, c) = rest.char_indices().find(|(_, c)| matches!(c, '"' | '\\'))?;
        key.push_str(rest.get(..at)?);
        rest = rest.get(at + 1..)?;
        if c == '"' {
            return Some((key, rest.strip_prefix(']')?));
        }
        let escaped = rest.chars().next()?;
        rest = rest.get(escaped.len_utf8()..)?;
        key.push(match escaped {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            'u' => {
                let (digits, behind) = rest.strip_prefix('{')?.split_once('}')?;
                rest = behind;
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            other => other,
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use vocabulary::report::DocumentPath;

    fn steps(mut way: &str) -> Vec<Step<'_>> {
        let mut steps = Vec::new();
        while let Some((step, rest)) = first(way) {
            steps.push(step);
            way = rest;
        }
        steps
    }

    #[test]
    fn documents_of_a_stream_are_numbered() {
        assert_eq!(in_stream(" document 12: items[3]: spec"), Some((12, " items[3]: spec")));
        assert_eq!(in_stream("document 1:[0]:"), Some((1, "[0]:")));
        assert_eq!(in_stream("interfaces[0]"), None);
    }

    proptest! {
        #[test]
        fn every_path_is_read_as_it_was_written(keys in prop::collection::vec(prop_oneof![
            "\\PC{1,8}".prop_map(|key| Step::Key(key.into())),
            "[\n\t\u{1}\"\\\\\\]: a]{1,8}".prop_map(|key| Step::Key(key.into())),
            "[a-z0-9/_-]{1,9}".prop_map(|key| Step::Key(key.into())),
            (0..20_usize).prop_map(Step::Index),
        ], 0..8), embedded in 0..8_usize) {
            let mut path = DocumentPath::document("Secret/s");
            for (index, key) in keys.iter().enumerate() {
                path = match key {
                    Step::Key(key) => path.key(key),
                    Step::Index(index) => path.index(*index),
                };
                if index == embedded {
                    path = path.embedded_document();
                }
            }
            prop_assert_eq!(steps(path.as_subject().strip_prefix("Secret/s:").unwrap()), keys);
        }
    }
}
