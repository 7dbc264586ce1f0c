//! Splits a line into words as Python's `shlex.split` does, by which pykickstart reads kickstart files.

/// Why a line has no words: a quote without its end, or a backslash at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unclosed;

/// Returns the words of a line. A `#` outside quotes begins a comment, in a word, too.
pub(super) fn split(line: &str) -> Result<Vec<String>, Unclosed> {
    let mut words = Vec::new();
    // `Some` if a word has begun; an empty one needs quotes.
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '#' => break,
            '\\' => word.get_or_insert_default().push(characters.next().ok_or(Unclosed)?),
            '\'' | '"' => quoted(character, &mut characters, word.get_or_insert_default())?,
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Reads up to the end of a quote.
fn quoted(quote: char, characters: &mut impl Iterator<Item = char>, word: &mut String) -> Result<(), Unclosed> {
    loop {
        match characters.next().ok_or(Unclosed)? {
            character if character == quote => return Ok(()),
            '\\' if quote == '"' => {
                let escaped = characters.next().ok_or(Unclosed)?;
                // Only these two lose their backslash.
                if escaped != '"' && escaped != '\\' {
                    word.push('\\');
                }
                word.push(escaped);
            }
            character => word.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Python 3.11 answers to the same.
    #[test]
    fn words_are_those_of_python() {
        for (line, words) in [
            ("network --device=eno1 --ip 192.0.2.1\r\n", &["network", "--device=eno1", "--ip", "192.0.2.1"][..]),
            ("a\t'b c'd \"e f\"", &["a", "b cd", "e f"]),
            ("a '' \"\"", &["a", "", ""]),
            ("a# b", &["a"]),
            ("a #b 'c", &["a"]),
            ("'#' \\# a", &["#", "#", "a"]),
            (r#""a\"b\\c\d" 'e\f' g\ h"#, &[r#"a"b\c\d"#, r"e\f", "g h"]),
            ("ü\u{a0}x", &["ü\u{a0}x"]),
            ("", &[]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        for unclosed in ["a 'b", "\"a\\\"", "a\\", "'a\""] {
            assert_eq!(split(unclosed), Err(Unclosed), "{unclosed}");
        }
    }
}
