//! Splits YAML streams between documents without reading them.

use memchr::{memchr_iter, memmem};

/// Splits `text` before the lines that begin a document. Each part has the number of lines before it. If something unusual
/// may begin or end documents, the text stays in one part.
pub(in crate::input) fn parts(text: &str) -> Vec<(usize, &str)> {
    if is_unusual(text) {
        return vec![(0, text)];
    }
    let begins = |at: &usize| {
        let rest = text.get(*at..).and_then(|line| line.strip_prefix("---"));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
    };
    let (mut parts, mut start, mut start_line) = (Vec::new(), 0, 0);
    for at in memmem::find_iter(text.as_bytes(), "\n---").map(|line_end| line_end + 1).filter(begins) {
        if let Some(part) = text.get(start..at) {
            parts.push((start_line, part));
            (start, start_line) = (at, start_line + memchr_iter(b'\n', part.as_bytes()).count());
        }
    }
    parts.extend(text.get(start..).map(|part| (start_line, part)));
    parts
}

/// Whether the text has directives, document end markers or unusual line ends.
fn is_unusual(text: &str) -> bool {
    let begins_line = |with: &str| memmem::find(text.as_bytes(), with.as_bytes()).is_some();
    let ends_line = |c| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
    text.starts_with(['%', '.'])
        || begins_line("\n%")
        || begins_line("\n.")
        || (!text.is_ascii() && text.contains(ends_line))
        || (text.contains('\r') && text.split_inclusive('\n').any(has_return))
}

/// Whether the line has a carriage return elsewhere than at its end.
fn has_return(line: &str) -> bool {
    line.trim_end_matches(['\r', '\n']).contains('\r')
}

/// Splits `text` between documents into streams of about `size` bytes, which together have the same documents.
pub(super) fn streams(text: &str, size: usize) -> Vec<&str> {
    let mut streams = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (number, (_, part)) in parts(text).into_iter().enumerate() {
        // The part before the first marker may consist of comments. Alone, it would be read as an empty document.
        if number > 1 && end - start >= size {
            streams.extend(text.get(start..end));
            start = end;
        }
        end += part.len();
    }
    streams.extend(text.get(start..));
    streams
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_begin_with_documents() {
        let text = "# c\n---\na: |\n  ---\n---\nb: 1\n--- c\n----\n---";
        assert_eq!(streams(text, 1), ["# c\n---\na: |\n  ---\n", "---\nb: 1\n", "--- c\n----\n", "---"]);
        assert_eq!(streams(text, 25), ["# c\n---\na: |\n  ---\n---\nb: 1\n", "--- c\n----\n---"]);
        assert_eq!(streams(text, 1000), [text]);
        assert_eq!(streams("", 1), [""]);
        for odd in ["%YAML 1.1\n", "...\n", "a\r---\n", "a: \u{2028}\n"] {
            let text = format!("{text}\n{odd}---\na");
            assert_eq!(streams(&text, 1), [&text], "{odd:?}");
        }
    }
}
