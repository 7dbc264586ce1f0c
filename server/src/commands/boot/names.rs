//! The order of names.

/// A piece of a name: `node-2` comes before `node-10`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Digits without leading zeros, the shorter first.
    Number(usize, String),
    Text(String),
}

/// A name in its pieces, which sort in the order that people count in.
pub(super) fn by_number(name: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for character in name.chars() {
        match (character.is_ascii_digit(), parts.last_mut()) {
            (true, Some(Part::Number(length, digits))) => {
                if digits == "0" {
                    digits.clear();
                }
                digits.push(character);
                *length = digits.len();
            }
            (true, _) => parts.push(Part::Number(1, character.to_string())),
            (false, Some(Part::Text(text))) => text.push(character),
            (false, _) => parts.push(Part::Text(character.to_string())),
        }
    }
    parts
}
