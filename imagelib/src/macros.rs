//! Implementations that many types of the crate share.

/// Gives each variant of an enum its name: `as_str` and `Display`. With an error type, also `ALL` and `FromStr`, whose error
/// holds the beginning of the unknown text.
macro_rules! named_variants {
    ($type:ident { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            /// The name as text.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
    ($type:ident, $error:ident { $($variant:ident => $name:literal),+ $(,)? }) => {
        named_variants!($type { $($variant => $name),+ });

        impl $type {
            /// All variants.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];
        }

        impl std::str::FromStr for $type {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                let found = Self::ALL.into_iter().find(|variant| variant.as_str() == text);
                found.ok_or_else(|| $error(text.chars().take(64).collect()))
            }
        }
    };
}

/// Implements `Debug` with the given fields only. The other fields may hold secrets, or are too long to print.
macro_rules! debug_only {
    ($type:ident { $($field:ident),+ }) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))$(.field(stringify!($field), &self.$field))+.finish_non_exhaustive()
            }
        }
    };
}
