//! Texts from elsewhere on one line and of limited length, and what types that are written as one text share.

use std::borrow::Cow;

/// Puts foreign text on one line, and escapes control characters, which could recolour or rewrite a terminal.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// Leaves out the middle of a text that has more than `longest` bytes. An error then still has what it begins with, such as a place, and
/// what it ends with, such as the valid words.
pub fn without_middle(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return text.into();
    }
    let half = longest / 2;
    let begin = text.get(..text.floor_char_boundary(half)).unwrap_or_default();
    let end = text.get(text.ceil_char_boundary(text.len() - half)..).unwrap_or_default();
    format!("{begin} … {end}").into()
}

/// Lets serde read a type through its `FromStr` and write it through its `Display`, for types with
/// `#[serde(try_from = "String", into = "String")]`.
#[macro_export]
macro_rules! serde_as_text {
    ($name:ty, $error:ty) => {
        impl TryFrom<String> for $name {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, $error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    };
}

/// All that a newtype over a text needs besides its check, which is its `FromStr`.
#[macro_export]
macro_rules! checked_text {
    ($name:ident, $error:ty) => {
        impl $name {
            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        $crate::serde_as_text!($name, $error);
    };
}

/// `Display` of an enum whose variants are words, with the words that serde writes. With an error, also `FromStr`.
#[macro_export]
macro_rules! text_as_serde {
    ($name:ident) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                serde::Serialize::serialize(self, f)
            }
        }
    };
    ($name:ident, $error:ident $(:: $variant:ident)?) => {
        $crate::text_as_serde!($name);

        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                use serde::de::{Deserialize, IntoDeserializer, value};
                let read: Result<Self, value::Error> = Self::deserialize(text.into_deserializer());
                read.map_err(|_| $error$(::$variant)?(text.to_owned()))
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        assert_eq!(without_middle("12345678", 8), "12345678");
        assert_eq!(without_middle("123456789", 8), "1234 … 6789");
        assert_eq!(without_middle("äöü", 4), "ä … ü");
        assert_eq!(without_middle("äöü", 3), " … ");
    }

    #[test]
    fn foreign_text_cannot_drive_the_terminal() {
        assert_eq!(one_line("FCOS\x1b[2J\n ü\u{9b}"), "FCOS\\u{1b}[2J\\n ü\\u{9b}");
    }
}
