//! How cells show numbers and texts.

use std::collections::BTreeMap;

use super::package::Package;
use super::problem::Problem;
use super::xml::Events;

/// How many styles a workbook may have. Excel allows fewer.
const MAX_STYLES: usize = 100_000;

/// How a cell shows an integer that is not above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// As it is stored.
    Stored,
    /// The cell looks empty.
    Nothing,
    /// In any other form.
    Otherwise,
}

/// How a cell shows a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// An integer above zero as it is stored, perhaps with separators of thousands. Negative integers and zero have forms of their own.
    Integer { negative: Shown, zero: Shown },
    /// As a date or a time.
    Date,
    /// In any other form.
    Other,
}

impl Format {
    /// All integers as they are stored.
    pub(super) const PLAIN: Self = Self::Integer { negative: Shown::Stored, zero: Shown::Stored };
}

/// The formats of cells by the numbers of their styles, each with whether it shows texts as they are stored.
pub(super) struct Styles(Vec<(Format, bool)>);

impl Styles {
    /// Reads the styles of a workbook. Without any, all numbers are shown as they are stored.
    pub(super) fn read(package: &mut Package<'_, '_>, part: Option<&str>) -> Result<Self, Problem> {
        let mut formats = Vec::new();
        let Some(part) = part else { return Ok(Self(formats)) };
        let Some(text) = package.part(part)? else { return Ok(Self(formats)) };
        let mut codes: BTreeMap<String, (Format, bool)> = BTreeMap::new();
        let mut events = Events::of(&text, part);
        // Other lists have the same elements: the styles of styles, and formats that depend on values.
        let (mut in_codes, mut in_styles) = (false, false);
        while let Some(event) = events.next()? {
            in_codes = (in_codes || event.opens("numFmts").is_some()) && !event.closes("numFmts");
            in_styles = (in_styles || event.opens("cellXfs").is_some()) && !event.closes("cellXfs");
            if let Some(code) = event.opens("numFmt").filter(|_| in_codes) {
                let (id, code) =
                    (code.attribute("numFmtId").unwrap_or_default(), code.attribute("formatCode").unwrap_or_default());
                package.take(id.len() + code.len())?;
                codes.insert(id, (by_code(&code), shows_texts(&code)));
            }
            if let Some(style) = event.opens("xf").filter(|_| in_styles) {
                let id = style.attribute("numFmtId").unwrap_or_else(|| "0".to_owned());
                formats.push(codes.get(&id).copied().unwrap_or_else(|| (built_in(&id), true)));
                if formats.len() > MAX_STYLES {
                    return Err(format!("has more than {MAX_STYLES} styles"));
                }
            }
        }
        Ok(Self(formats))
    }

    /// Returns the format of style `number`. Style 0 is that of cells without a style.
    pub(super) fn format(&self, number: usize) -> Format {
        let unknown = if number == 0 { Format::PLAIN } else { Format::Other };
        self.0.get(number).map_or(unknown, |(format, _)| *format)
    }

    /// Whether cells of style `number` show texts as they are stored.
    pub(super) fn shows_texts(&self, number: usize) -> bool {
        self.0.get(number).is_none_or(|(_, shows_texts)| *shows_texts)
    }
}

/// Returns the format with a number that has a fixed meaning (ISO/IEC 29500-1, 18.8.30). Those from 27 on are dates in Chinese,
/// Japanese, Korean or Thai.
fn built_in(id: &str) -> Format {
    match id.parse().unwrap_or(u32::MAX) {
        // General, 0, #,##0 and text.
        0 | 1 | 3 | 49 => Format::PLAIN,
        14..=22 | 27..=36 | 45..=47 | 50..=58 | 71..=81 => Format::Date,
        _ => Format::Other,
    }
}

/// Returns the format with this code. `LibreOffice` writes codes for formats that have a number.
fn by_code(code: &str) -> Format {
    if let Some(format) = of_integers(code) {
        return format;
    }
    // Texts in quotes and what is in brackets, such as a colour, stand for themselves.
    let (mut quoted, mut bracketed, mut letters) = (false, false, code.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '"' if !bracketed => quoted = !quoted,
            '\\' | '_' | '*' if !quoted => drop(letters.next()),
            // An elapsed time has its unit in brackets.
            '[' if !quoted => bracketed = !matches!(letters.clone().next(), Some('h' | 'H' | 'm' | 'M' | 's' | 'S')),
            ']' => bracketed = false,
            'd' | 'D' | 'm' | 'M' | 'y' | 'Y' | 'h' | 'H' | 's' | 'S' if !quoted && !bracketed => return Format::Date,
            _ => {}
        }
    }
    Format::Other
}

/// Returns the format with this code if it surely shows integers above zero as they are stored. A code has sections, separated by
/// semicolons: for numbers above zero, below zero, zero, and texts (ISO/IEC 29500-1, 18.8.31).
fn of_integers(code: &str) -> Option<Format> {
    let mut sections: Vec<&str> = code.split(';').map(without_locale).collect();
    // Conditions may select any section, and a semicolon in a text separates nothing.
    if sections.iter().any(|section| section.contains(['[', '"', '\\', '_', '*'])) {
        return None;
    }
    // If the section for texts is the only section, it shows numbers as they are stored.
    if sections == ["@"] {
        return Some(Format::PLAIN);
    }
    if sections.len() > 1 && sections.last() == Some(&"@") {
        sections.pop();
    }
    let mut sections = sections.into_iter();
    let zero = zero_in(sections.next()?)?;
    let negative = match sections.next() {
        None => Shown::Stored,
        // The sign is not shown unless the section has it.
        Some(section) if section.strip_prefix('-').and_then(zero_in).is_some() => Shown::Stored,
        Some(_) => Shown::Otherwise,
    };
    let zero = match sections.next() {
        None => zero,
        Some("") => Shown::Nothing,
        Some(section) => zero_in(section).unwrap_or(Shown::Otherwise),
    };
    Some(Format::Integer { negative, zero })
}

/// Returns how a section shows zero, if it shows integers as they are stored. `#` is a digit that is left out if it is a leading zero.
fn zero_in(section: &str) -> Option<Shown> {
    let plain = ["General", "#,##0"];
    match section.trim_start_matches('#') {
        "" if !section.is_empty() => Some(Shown::Nothing),
        "0" => Some(Shown::Stored),
        _ => plain.iter().any(|plain| section.eq_ignore_ascii_case(plain)).then_some(Shown::Stored),
    }
}

/// Returns the letters before `end`, and skips it.
fn until(letters: &mut std::str::Chars<'_>, end: char) -> String {
    letters.take_while(|letter| *letter != end).collect()
}

/// Returns a section without the language before it, as in `[$-407]General`. Larger numbers in the brackets also choose other digits, or
/// the format of the system.
fn without_locale(section: &str) -> &str {
    let stripped = section.strip_prefix("[$-").and_then(|rest| rest.split_once(']'));
    match stripped {
        Some((locale, rest)) if u32::from_str_radix(locale, 16).is_ok_and(|locale| locale < 0x8000) => rest,
        _ => section,
    }
}

/// Whether the format with this code shows texts as they are stored, perhaps with blanks around them. The fourth section is for texts, or
/// the last one if it has an `@`, which stands for the text. Without such a section, a text is shown as it is.
fn shows_texts(code: &str) -> bool {
    // Each section without blanks, colours and languages. A `"` stands for what it shows besides the text.
    let (mut sections, mut section, mut letters) = (Vec::new(), String::new(), code.chars());
    while let Some(letter) = letters.next() {
        let shows_more = match letter {
            '"' => !until(&mut letters, '"').trim().is_empty(),
            '\\' => letters.next().is_some_and(|letter| letter != ' '),
            // A colour, a language with a hyphen, or a currency.
            '[' => until(&mut letters, ']').strip_prefix('$').is_some_and(|currency| !currency.starts_with('-')),
            _ => false,
        };
        match letter {
            _ if shows_more => section.push('"'),
            ';' => sections.push(std::mem::take(&mut section)),
            // A blank as wide as the next letter; or the next letter as often as there is room.
            '_' | '*' => drop(letters.next()),
            '"' | '\\' | '[' | ' ' => {}
            other => section.push(other),
        }
    }
    sections.push(section);
    let of_texts = sections.get(3).or(sections.last().filter(|last| last.contains('@')));
    of_texts.is_none_or(|section| section == "@" || section.eq_ignore_ascii_case("General"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_told_from_other_formats() {
        for (code, expected) in [
            ("General", Format::PLAIN),
            ("@", Format::PLAIN),
            ("#,##0", Format::PLAIN),
            ("yyyy-mm-dd", Format::Date),
            ("[h]:mm", Format::Date),
            ("[$-407]d. mmm", Format::Date),
            ("0000", Format::Other),
            ("0.00", Format::Other),
            ("0 \"days\"", Format::Other),
            ("[Red]0", Format::Other),
            ("0\\h", Format::Other),
            ("\"", Format::Other),
            ("[", Format::Other),
            ("\\", Format::Other),
        ] {
            assert_eq!(by_code(code), expected, "{code}");
        }
        assert_eq!(["0", "14", "2", "x"].map(built_in), [Format::PLAIN, Format::Date, Format::Other, Format::Other]);
    }

    /// As `LibreOffice` 7.4 shows `abc`.
    #[test]
    fn texts_may_be_shown_in_another_form() {
        for code in [
            "General",
            "@",
            "0",
            "\"rack-\"0",
            ";;;@",
            "0;-0;0",
            "0;-0;0;@",
            "0;@",
            "0;-0;0;General",
            "[BLUE]@",
            "[$-407]@",
            "_-@_-",
            "* @",
            "@*-",
            "@\" \"",
            "\\ @",
            "\"@\"0",
            "_-* #,##0_-;-* #,##0_-;_-* \"-\"_-;_-@_-",
            "[=0]\"\";General",
            "",
            "\"",
            "[",
            "\\",
            "_",
        ] {
            assert!(shows_texts(code), "{code}");
        }
        for code in [
            ";;;",
            "\"rack-\"@",
            "@\" x\"",
            "\\x@",
            "0;-0;0;\"t:\"@",
            "0;-0;0;\"\"",
            "@@",
            "0;-@",
            "@\\;",
            "@ [$€-407]",
            "0;-0;0;\"x;\"@;",
        ] {
            assert!(!shows_texts(code), "{code}");
        }
    }

    /// As `LibreOffice` 7.4 shows 9000, -5 and 0.
    #[test]
    fn sections_are_for_other_integers() {
        let shown = |negative, zero| Format::Integer { negative, zero };
        let (stored, nothing, otherwise) = (Shown::Stored, Shown::Nothing, Shown::Otherwise);
        for (code, expected) in [
            ("##0", Format::PLAIN),
            ("#0", Format::PLAIN),
            ("[$-407]General", Format::PLAIN),
            ("[$-409]GENERAL;[$-409]-General", Format::PLAIN),
            ("0;-0", Format::PLAIN),
            ("0;-0;0", Format::PLAIN),
            ("0;@", Format::PLAIN),
            ("General;-General;General;@", Format::PLAIN),
            ("#,##0;-#,##0", Format::PLAIN),
            ("#", shown(stored, nothing)),
            ("##", shown(stored, nothing)),
            ("#;-#;@", shown(stored, nothing)),
            ("0;-0;;@", shown(stored, nothing)),
            ("0;-0;#", shown(stored, nothing)),
            ("General;General", shown(otherwise, stored)),
            ("0;", shown(otherwise, stored)),
            ("0;;", shown(otherwise, nothing)),
            ("0;-0;-0", shown(stored, otherwise)),
            ("0;-@", shown(otherwise, stored)),
            ("0;-0;@;@", shown(stored, otherwise)),
            ("@;0", Format::Other),
            ("[$-409]@", Format::PLAIN),
            ("[$-2000401]0", Format::Other),
            ("[$-F800]0", Format::Other),
            ("[$€-407]0", Format::Other),
            ("0;[<5]0", Format::Other),
            ("0;\"a;;\"", Format::Other),
            ("", Format::Other),
            (";", Format::Other),
            (";;;", Format::Other),
        ] {
            assert_eq!(by_code(code), expected, "{code}");
        }
    }
}
