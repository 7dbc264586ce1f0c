//! Where a system without its medium fetches its root file system from.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use vocabulary::checked_text;

/// The longest URL that leaves room for other kernel arguments, in bytes.
const LONGEST: usize = 1024;

/// Why a text is not the URL of a root file system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RootfsUrlError {
    /// Another scheme, or none.
    #[error("the URL of the root file system must begin with http:// or https://")]
    Scheme,
    /// What would end the kernel argument, or change its meaning.
    #[error("the URL of the root file system contains {0:?}; percent-encode it")]
    Character(char),
    /// Too long.
    #[error("the URL of the root file system has {0} bytes; a kernel command line has room for at most {LONGEST}")]
    Length(usize),
}

/// A URL as a kernel argument can carry it: printable ASCII without blanks and quotes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RootfsUrl(String);

checked_text!(RootfsUrl, RootfsUrlError);

impl FromStr for RootfsUrl {
    type Err = RootfsUrlError;

    fn from_str(text: &str) -> Result<Self, RootfsUrlError> {
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        if rest.is_none_or(str::is_empty) {
            return Err(RootfsUrlError::Scheme);
        }
        if let Some(wrong) = text.chars().find(|c| !c.is_ascii_graphic() || matches!(c, '"' | '\'' | '\\' | '`')) {
            return Err(RootfsUrlError::Character(wrong));
        }
        if text.len() > LONGEST {
            return Err(RootfsUrlError::Length(text.len()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// Where the root file system is fetched from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootfsLocation {
    /// From this URL.
    Url(RootfsUrl),
    /// From beside the image itself, under this address of a media plane: what follows it depends on the image's token,
    /// which only its server knows.
    MediaPlane(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_kernel_argument_can_carry_is_a_url() {
        let error = |text: &str| text.parse::<RootfsUrl>().unwrap_err();
        assert_eq!("http://192.0.2.1/rootfs.img".parse::<RootfsUrl>().unwrap().as_str(), "http://192.0.2.1/rootfs.img");
        assert_eq!(error("ftp://192.0.2.1/x"), RootfsUrlError::Scheme);
        assert_eq!(error("https://"), RootfsUrlError::Scheme);
        assert_eq!(error("http://a/b c"), RootfsUrlError::Character(' '));
        assert_eq!(error("http://a/\"x"), RootfsUrlError::Character('"'));
        assert_eq!(error(&format!("http://{}", "a".repeat(1024))), RootfsUrlError::Length(1031));
    }
}
