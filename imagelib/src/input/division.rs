//! YAML streams divided between their documents without being read.

/// `text` divided before the lines that begin a document, each part with the number of lines before it. In one piece
/// where something else may begin or end documents.
pub(super) fn parts(text: &str) -> Vec<(usize, &str)> {
    // A search of the whole text for what is nearly always missing is faster than one of every line.
    let any_return = text.contains('\r');
    let odd = |line: &str| line.starts_with(['%', '.']) || (any_return && holds_return(line));
    let ends_line = |c| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
    if (!text.is_ascii() && text.contains(ends_line)) || text.split_inclusive('\n').any(odd) {
        return vec![(0, text)];
    }
    let (mut parts, mut start, mut start_line, mut at) = (Vec::new(), 0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let begins =
            line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if begins && at > start {
            parts.extend(text.get(start..at).map(|part| (start_line, part)));
            (start, start_line) = (at, number);
        }
        at += line.len();
    }
    parts.extend(text.get(start..).map(|part| (start_line, part)));
    parts
}

/// Whether there is a carriage return in the line other than at its end.
fn holds_return(line: &str) -> bool {
    line.trim_end_matches(['\r', '\n']).contains('\r')
}

/// `text` divided between documents into streams of about `size` bytes, whose documents are those of `text`.
pub(super) fn streams(text: &str, size: usize) -> Vec<&str> {
    let mut streams = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (number, (_, part)) in parts(text).into_iter().enumerate() {
        // What is before the first marker may be comments alone, which are a document to nobody but a reader that has
        // nothing else.
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
