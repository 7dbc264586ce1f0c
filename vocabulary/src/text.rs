//! What newtypes over a checked text have in common.

/// Everything but the check itself, which is the type's `FromStr`: its text, and the conversions by which serde reads
/// it through that check.
#[macro_export]
macro_rules! checked_text {
    ($name:ident, $error:ty) => {
        impl $name {
            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, $error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
