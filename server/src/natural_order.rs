//! The natural order of names: `node-2` comes before `node-10`.

/// A part of a name: a number or other text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The number of digits, and the digits without leading zeros.
    Number(usize, String),
    Text(String),
}

/// Splits a name into parts that compare in natural order.
pub(crate) fn natural_key(name: &str) -> Vec<Part> {
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
