//! How cells show numbers.

use std::collections::BTreeMap;

use super::package::Package;
use super::problem::Problem;
use super::xml::Events;

/// How many styles a workbook may have. Excel allows fewer.
const MAX_STYLES: usize = 100_000;

/// How a cell shows an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// As it is stored.
    Plain,
    /// As a date or a time.
    Date,
    /// In any other form.
    Other,
}

/// The formats of cells by the numbers of their styles.
pub(super) struct Styles(Vec<Format>);

impl Styles {
    /// Reads the styles of a workbook. Without any, all numbers are shown as they are stored.
    pub(super) fn read(package: &mut Package<'_, '_>, part: Option<&str>) -> Result<Self, Problem> {
        let mut formats = Vec::new();
        let Some(part) = part else { return Ok(Self(formats)) };
        let Some(text) = package.part(part)? else { return Ok(Self(formats)) };
        let mut codes: BTreeMap<String, String> = BTreeMap::new();
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
                codes.insert(id, code);
            }
            if let Some(style) = event.opens("xf").filter(|_| in_styles) {
                let id = style.attribute("numFmtId").unwrap_or_else(|| "0".to_owned());
                formats.push(codes.get(&id).map_or_else(|| built_in(&id), |code| by_code(code)));
                if formats.len() > MAX_STYLES {
                    return Err(format!("has more than {MAX_STYLES} styles"));
                }
            }
        }
        Ok(Self(formats))
    }

    /// Returns the format of style `number`. Style 0 is that of cells without a style.
    pub(super) fn format(&self, number: usize) -> Format {
        let unknown = if number == 0 { Format::Plain } else { Format::Other };
        self.0.get(number).copied().unwrap_or(unknown)
    }
}

/// Returns the format with a number that has a fixed meaning (ISO/IEC 29500-1, 18.8.30). Those from 27 on are dates in Chinese,
/// Japanese, Korean or Thai.
fn built_in(id: &str) -> Format {
    match id.parse().unwrap_or(u32::MAX) {
        // General, 0, #,##0 and text.
        0 | 1 | 3 | 49 => Format::Plain,
        14..=22 | 27..=36 | 45..=47 | 50..=58 | 71..=81 => Format::Date,
        _ => Format::Other,
    }
}

/// Returns the format with this code. `LibreOffice` writes codes for formats that have a number.
fn by_code(code: &str) -> Format {
    let plain = ["General", "Standard", "0", "#", "#,##0", "@"];
    if plain.iter().any(|plain| code.eq_ignore_ascii_case(plain)) {
        return Format::Plain;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_told_from_other_formats() {
        for (code, expected) in [
            ("General", Format::Plain),
            ("@", Format::Plain),
            ("#,##0", Format::Plain),
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
        assert_eq!(["0", "14", "2", "x"].map(built_in), [Format::Plain, Format::Date, Format::Other, Format::Other]);
    }
}
