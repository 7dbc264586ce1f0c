//! Paths in boot configurations.

use std::str::FromStr;

use super::error::BootConfigError;
use vocabulary::checked_text;

/// An absolute path that every boot loader reads as written, without quotes.
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

/// The path without empty, `.` and `..` components. `None` if it leaves the root, or is the root.
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

/// Relative paths start from the loader's working directory; `::` is PXELINUX's sign for the server's root.
pub(super) fn resolve_syslinux(written: &str, directory: &str) -> Option<String> {
    let path = written.strip_prefix("::").unwrap_or(written);
    if path.starts_with('/') || path.len() < written.len() {
        return absolute(path);
    }
    // `server::path` and URLs are on another machine.
    if path.is_empty() || path.contains("::") || path.contains("://") {
        return None;
    }
    absolute(&format!("{directory}/{path}"))
}
