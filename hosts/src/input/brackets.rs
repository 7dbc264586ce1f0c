//! A bound on nested brackets in YAML text, checked before the text reaches libyaml, whose scanner looks at every
//! open bracket for each token: 300 KB of `{a: {a: …` cost it 20 s. For the same reason, on `%TAG` lines.

use memchr::{memchr_iter, memchr2_iter};

use super::yaml::Problem;

/// Brackets open at once. The reader behind refuses anything deeper than 128 anyway; the rest is room for texts
/// whose brackets only look as if they were YAML's.
const DEPTH: usize = 500;
/// Lines that begin with `%`.
const DIRECTIVES: usize = 16;

/// Refuses `text` if it may have more than [`DEPTH`] brackets open at once.
///
/// Only a full YAML scanner knows which brackets are open. This one takes each line for itself: as long as every line
/// of a document closes what it opens, and says so clearly, nothing is open between lines. From the first line on
/// that does not (brackets over several lines, quoted text over several lines), all opening brackets of the document
/// count, and no closing one: never fewer than are open.
pub(super) fn check(text: &str) -> Result<(), Problem> {
    if is_plain(text) {
        return Ok(());
    }
    within(text, DEPTH).map_err(|message| Problem::new("invalid-yaml", message))
}

/// Whether `text` has not even as many opening brackets, and percent signs, as may be open and begin lines.
fn is_plain(text: &str) -> bool {
    memchr2_iter(b'[', b'{', text.as_bytes()).nth(DEPTH).is_none()
        && memchr_iter(b'%', text.as_bytes()).nth(DIRECTIVES).is_none()
}

fn within(text: &str, limit: usize) -> Result<(), &'static str> {
    // Once a line of the document has not been clear: how many brackets it and the lines since then open.
    let mut unclear: Option<usize> = None;
    let mut directives = 0;
    for line in text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) {
        let line = match line.strip_prefix("---").or_else(|| line.strip_prefix("...")) {
            Some(rest) if rest.is_empty() || rest.starts_with([' ', '\t']) => {
                unclear = None;
                rest
            }
            _ => line,
        };
        let depth = match (unclear, closed_depth(line)) {
            (None, Some(depth)) => depth,
            (before, _) => *unclear.insert(before.unwrap_or(0) + line.matches(['[', '{']).count()),
        };
        if depth > limit {
            return Err(
                "has too many open brackets; write it without brackets, as JSON, or as several documents (---)",
            );
        }
        directives += usize::from(line.starts_with('%'));
        if directives > DIRECTIVES {
            return Err("has too many YAML directives (lines that begin with %)");
        }
    }
    Ok(())
}

/// How deep the brackets of `line` go, if it certainly closes all that it opens. Certainly means: under the assumption
/// that nothing is open where it begins, quotes and opening brackets stand only where a value can begin.
fn closed_depth(line: &str) -> Option<usize> {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut chars = line.chars().peekable();
    // The last character that is not a space, whether a space follows it, and whether a `:` follows a quoted key.
    let (mut previous, mut spaced, mut after_quoted_key) = (None, true, false);
    // Whether nothing but `- ` and `? ` has been seen.
    let mut leading = true;
    while let Some(c) = chars.next() {
        let value_begins = match previous {
            Some('[' | '{' | ',') if depth > 0 => true,
            Some(':') => spaced || (depth > 0 && after_quoted_key),
            _ => leading && depth == 0,
        };
        match c {
            ' ' | '\t' => {
                spaced = true;
                continue;
            }
            '#' if spaced => break,
            '"' | '\'' if value_begins => loop {
                match chars.next()? {
                    '\\' if c == '"' => drop(chars.next()),
                    '\'' if c == '\'' && chars.peek() == Some(&'\'') => drop(chars.next()),
                    end if end == c => break,
                    _ => {}
                }
            },
            // An apostrophe within a word is one.
            '"' | '\'' if spaced || !previous.is_some_and(char::is_alphanumeric) => return None,
            '[' | '{' => {
                if !value_begins {
                    return None;
                }
                depth += 1;
                deepest = deepest.max(depth);
            }
            ']' | '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        after_quoted_key = c == ':' && !spaced && matches!(previous, Some('"' | '\''));
        leading = leading && matches!(c, '-' | '?') && chars.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
        (previous, spaced) = (Some(c), false);
    }
    (depth == 0).then_some(deepest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_yaml::Value;

    use super::*;

    #[test]
    fn lines_that_people_write_are_clear() {
        for (line, depth) in [
            ("", 0),
            ("- name: eth0 # don't [", 0),
            ("  servers: [\"8.8.8.8\", '::1']", 1),
            ("- {ip: 192.0.2.1, prefix-length: 24}", 1),
            ("{\"a\":{\"b\":[\"[\",\"it's\",\"\\\"\"]}}", 3),
            ("'it''s': []", 1),
            ("description: the host's name", 0),
        ] {
            assert_eq!(closed_depth(line), Some(depth), "{line}");
        }
        for line in ["a: [", "]", "a: \"x", "a 'b: [ ' ]", "a, 'b: [ ' ]", "{a:\"b: \"]}", "x [y]"] {
            assert_eq!(closed_depth(line), None, "{line}");
        }
    }

    #[test]
    fn many_brackets_pass_when_they_are_closed() {
        assert_eq!(check(&"- {a: [1, 2], b: \"[\"}\n".repeat(100_000)), Ok(()));
        assert_eq!(check(&"---\na: [\n".repeat(100_000)), Ok(()));
        for bomb in ["[", "{a: ", "- [\n", "{\"]\": ", "%TAG !a! b\n", "{a \"b: \"]]\", c \"d: [ \n", "{\"\n]]\": "] {
            assert!(check(&bomb.repeat(2000)).is_err(), "{bomb:?}");
        }
    }

    fn nested(value: &Value) -> usize {
        match value {
            Value::Sequence(all) => 1 + all.iter().map(nested).max().unwrap_or(0),
            Value::Mapping(all) => all.iter().map(|(k, v)| nested(k).max(nested(v))).max().unwrap_or(0),
            _ => 0,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn never_counts_fewer_than_yaml_sees(text in "[\\[\\]\\[\\]\\[{},:'\"# a\n]{0,20}", end in "['\"]?\\]{0,4}") {
            let text = text + &end;
            let sees = serde_yaml::from_str::<Value>(&text).map_or(0, |value| nested(&value));
            prop_assert!(sees == 0 || within(&text, sees - 1).is_err(), "{text:?} {sees}");
        }
    }
}
