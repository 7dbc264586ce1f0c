//! Texts from elsewhere on one line, and what types that are written as one text share.

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
    fn foreign_text_cannot_drive_the_terminal() {
        assert_eq!(one_line("FCOS\x1b[2J\n ü\u{9b}"), "FCOS\\u{1b}[2J\\n ü\\u{9b}");
    }
}
