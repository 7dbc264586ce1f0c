//! Which character separates the values of a table. Spreadsheets write semicolons where a comma is the decimal mark, and tabs into
//! the clipboard.

use csv::ByteRecord;

use super::lines::Lines;

/// A character that separates values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Separator {
    pub(super) byte: u8,
    /// Its name in messages.
    pub(super) name: &'static str,
}

const ALL: [Separator; 3] = [
    Separator { byte: b',', name: "comma" },
    Separator { byte: b';', name: "semicolon" },
    Separator { byte: b'\t', name: "tab" },
];

/// The line with which Excel announces the separator: `sep=;`.
const ANNOUNCEMENT: &[u8] = b"sep=";

impl Separator {
    /// Returns the separator that the line of names has most of outside quotation marks; a comma if it has none. If two of them are
    /// equally frequent, returns a message and the number of the line.
    pub(super) fn of(text: &[u8]) -> Result<Self, (String, usize)> {
        let [comma, ..] = ALL;
        let Some((names, number)) = names(text) else { return Ok(comma) };
        if let Some(announced) = names.strip_prefix(ANNOUNCEMENT)
            && let Some(separator) = ALL.into_iter().find(|separator| announced == [separator.byte])
        {
            return Ok(separator);
        }
        let mut counts = ALL.map(|separator| (count(names, separator.byte), separator));
        // Stable, so that a comma stays first if there is none of them.
        counts.sort_by(|(a, _), (b, _)| b.cmp(a));
        let [(first, separator), (second, other), _] = counts;
        if first > 0 && first == second {
            let message = format!(
                "has the column names, with as many {}s as {}s, so dayone cannot tell which of them separates columns; put column \
                 names that contain one in quotation marks",
                separator.name, other.name
            );
            return Err((message, number));
        }
        Ok(separator)
    }

    /// Whether the record is Excel's line about the separator, read with that separator.
    pub(super) fn is_announcement(record: &ByteRecord) -> bool {
        let mut values = record.iter();
        values.next() == Some(ANNOUNCEMENT) && values.next() == Some(b"") && values.next().is_none()
    }
}

/// Returns the first line that is neither blank nor a comment, and its number. A line ends outside quotation marks only.
fn names(text: &[u8]) -> Option<(&[u8], usize)> {
    let mut rest = text;
    loop {
        let mut quoted = false;
        let is_comment = rest.starts_with(b"#");
        let end = rest.iter().position(|byte| {
            quoted ^= *byte == b'"' && !is_comment;
            matches!(byte, b'\n' | b'\r') && !quoted
        });
        let line = rest.get(..end.unwrap_or(rest.len()))?;
        // A tab may be a separator, but a line of separators only has no names.
        let is_blank = line.iter().all(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b';'));
        if !is_comment && !is_blank {
            return Some((line, Lines::of(text).line_at(text.len() - rest.len())));
        }
        rest = rest.get(end? + 1..)?;
    }
}

fn count(line: &[u8], wanted: u8) -> usize {
    let mut quoted = false;
    let mut count = 0;
    for byte in line {
        quoted ^= *byte == b'"';
        count += usize::from(*byte == wanted && !quoted);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_one_in_the_names_separates() {
        for (text, expected) in [
            ("name,a\nx;y,z\n", b','),
            ("name;a\nx,y;z\n", b';'),
            ("name\ta\n", b'\t'),
            ("name\n", b','),
            ("", b','),
            ("\n\r\n# a;b;c\n \t \nname;a,b;c\n", b';'),
            (";;;\nname,a\n", b','),
            ("name,\"a;b;c\"\n", b','),
            ("\"na\nme;;\",a\n", b','),
            ("name,address,comment (old; new)\n", b','),
            ("sep=;\r\nname;a\r\n", b';'),
            ("sep=\t\nname\ta\n", b'\t'),
            ("# a,b,c\rname;a\r", b';'),
        ] {
            assert_eq!(Separator::of(text.as_bytes()).map(|separator| separator.byte), Ok(expected), "{text:?}");
        }
        let (message, line) = Separator::of(b"#\n\nname;a,b\n").unwrap_err();
        assert!(message.contains("as many commas as semicolons"), "{message}");
        assert_eq!(line, 3);
        assert_eq!(Separator::of(b"#\r\rname;a,b\r").map_err(|(_, line)| line), Err(3));
    }
}
