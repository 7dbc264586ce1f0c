//! Text in pictures: how wide it may become, and what of it is fit for XML.
//!
//! Fonts are those of whoever looks. Widths are therefore bounds: of `DejaVu Sans Bold`, among the widest of usual
//! fonts, and of fixed fonts, which agree.

/// The maximum length of a name in a picture, in characters.
const MAX_CHARACTERS: usize = 40;

/// A font, by what it is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Font {
    pub(super) fixed: bool,
    pub(super) size: i64,
    pub(super) bold: bool,
}

impl Font {
    pub(super) const TITLE: Self = Self { fixed: false, size: 22, bold: true };
    pub(super) const NAME: Self = Self { fixed: true, size: 14, bold: true };
    pub(super) const KIND: Self = Self { fixed: false, size: 11, bold: true };
    pub(super) const FACT: Self = Self { fixed: false, size: 11, bold: false };
    pub(super) const ADDRESS: Self = Self { fixed: true, size: 12, bold: false };

    /// How many pixels a text takes at most.
    pub(super) fn width(self, text: &str) -> i64 {
        let thousandths: i64 = text.chars().map(|c| if self.fixed { fixed(c) } else { proportional(c) }).sum();
        (thousandths * self.size + 999) / 1000
    }
}

/// In thousandths of the font's size.
fn fixed(c: char) -> i64 {
    if c.is_ascii() { 620 } else { 1250 }
}

fn proportional(c: char) -> i64 {
    match c {
        ' ' | 'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '/' | '-' => 430,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' => 530,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1110,
        '+' | '=' | '<' | '>' | '~' | '&' | '#' => 900,
        c if c.is_ascii_uppercase() => 880,
        c if c.is_ascii() => 730,
        _ => 1250,
    }
}

/// A name as it is shown: one that is too long ends in an ellipsis.
pub(super) fn shortened(text: &str) -> String {
    limited(text, MAX_CHARACTERS)
}

/// At most so many characters of a text, all of which can be shown.
pub(super) fn limited(text: &str, longest: usize) -> String {
    let mut shown: String = text.chars().take(longest).map(shown).collect();
    if text.chars().nth(longest).is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

/// A character, or what stands for one that XML does not allow (XML 1.0 §2.2), or that changes what is around it.
fn shown(c: char) -> char {
    let reorders =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    if c.is_control() || reorders || matches!(c, '\u{fffe}' | '\u{ffff}') { '\u{fffd}' } else { c }
}

/// Text as it stands in XML.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(shown(c)),
        }
    }
    escaped
}
