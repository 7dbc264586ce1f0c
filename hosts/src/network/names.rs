//! File names for profiles.

use std::collections::BTreeSet;

use super::{Keyfile, KeyfileName};

/// The longest stem that leaves room for the suffix within 255 bytes.
const MAX_STEM: usize = 255 - KeyfileName::SUFFIX.len();

/// Gives each profile its file: `(name as nmstate gives it, content)` becomes a keyfile, sorted by name.
///
/// Names that are safe stay as they are. In others, every character but letters, digits, `.`, `_` and `-` becomes
/// `_`, as does a leading dot. A name that is taken gets `-2`, `-3`, … at its end; names that differ in case only
/// count as the same, because FAT and plain ISO 9660 cannot tell them apart. Names that were safe come first, so
/// that a changed one never takes theirs.
pub(super) fn name_files(mut files: Vec<(String, String)>) -> Vec<Keyfile> {
    files.sort();
    let (safe, unsafe_): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(name, _)| name.parse::<KeyfileName>().is_ok());
    let mut stems = Stems::default();
    let mut keyfiles: Vec<Keyfile> = Vec::with_capacity(safe.len() + unsafe_.len());
    for (name, content) in safe.into_iter().chain(unsafe_) {
        let stem = stems.take(name.strip_suffix(KeyfileName::SUFFIX).unwrap_or(&name), MAX_STEM);
        keyfiles.extend(format!("{stem}{}", KeyfileName::SUFFIX).parse().ok().map(|name| Keyfile { name, content }));
    }
    keyfiles.sort();
    keyfiles
}

/// Names of files in one directory, without their suffixes.
#[derive(Debug, Default)]
pub(super) struct Stems(BTreeSet<String>);

impl Stems {
    /// A safe stem of at most `longest` bytes for `name`, which nobody else has.
    pub(super) fn take(&mut self, name: &str, longest: usize) -> String {
        let safe = sanitise(name);
        let mut count = 1_usize;
        loop {
            let suffix = if count == 1 { String::new() } else { format!("-{count}") };
            let stem: String = safe.chars().take(longest.saturating_sub(suffix.len())).collect();
            let stem = stem + &suffix;
            if self.0.insert(stem.to_ascii_lowercase()) {
                return stem;
            }
            count += 1;
        }
    }
}

fn sanitise(stem: &str) -> String {
    let mut safe: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' }).collect();
    if safe.is_empty() || safe.starts_with('.') {
        safe.replace_range(..usize::from(!safe.is_empty()), "_");
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(ids: &[&str]) -> Vec<String> {
        let files = ids.iter().map(|id| (format!("{id}.nmconnection"), String::new())).collect();
        name_files(files).into_iter().map(|keyfile| keyfile.name.to_string()).collect()
    }

    #[test]
    fn names_are_safe_unique_and_keep_what_was_safe() {
        assert_eq!(
            names(&["a b", "a_b", "a/b", "A_B", "../x", "", "ä"]),
            [
                "A_B.nmconnection",
                "_-2.nmconnection",
                "_._x.nmconnection",
                "_.nmconnection",
                "a_b-2.nmconnection",
                "a_b-3.nmconnection",
                "a_b-4.nmconnection"
            ]
        );
        let long = "x".repeat(300);
        let found = names(&[&long, &long]);
        assert!(found.iter().all(|name| name.len() == 255), "{found:?}");
        assert_eq!(found.len(), 2);
        let reversed = names(&["a_b", "a b"]);
        assert_eq!(reversed, names(&["a b", "a_b"]));
    }
}
