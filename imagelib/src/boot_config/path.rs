//! Paths in boot configurations.

use std::str::FromStr;

use super::error::BootConfigError;
use vocabulary::checked_text;

/// A path that every boot loader reads as it is written, without quotes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BootPath(String);

checked_text!(BootPath, BootConfigError);

impl FromStr for BootPath {
    type Err = BootConfigError;

    fn from_str(text: &str) -> Result<Self, BootConfigError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+/~".contains(&byte);
        if text.len() > 1 && text.bytes().all(plain) && absolute(text).as_deref() == Some(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(BootConfigError::Path(text.chars().take(255).collect()))
    }
}

/// A path from the root without empty, `.` and `..` components. One that leaves the root, or names it, is none.
pub(super) fn absolute(path: &str) -> Option<String> {
    let mut components: Vec<&str> = Vec::new();
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." => drop(components.pop()?),
            name => components.push(name),
        }
    }
    if components.is_empty() { None } else { Some(format!("/{}", components.join("/"))) }
}

/// Relative paths belong to the loader's working directory; `::` is PXELINUX's mark of the server's root.
pub(super) fn resolve_syslinux(written: &str, directory: &str) -> Option<String> {
    let path = written.strip_prefix("::").unwrap_or(written);
    if path.starts_with('/') || path.len() < written.len() {
        return absolute(path);
    }
    // `server::path` and URLs are another machine's.
    if path.is_empty() || path.contains("::") || path.contains("://") {
        return None;
    }
    absolute(&format!("{directory}/{path}"))
}
