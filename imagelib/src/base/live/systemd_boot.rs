//! What systemd-boot starts: entries of its menu, and unified kernel images, which it lists by itself.

use super::defaults::{MenuEntry, Starts, describe_entry};
use crate::boot_config::Loader;
use crate::boot_medium::Program;
use crate::disk::fat::{FatFile, FatImage};
use crate::source::Source;

/// Where systemd-boot looks for unified kernel images (Boot Loader Specification, type 2).
const UNIFIED_KERNEL_IMAGES: &str = "efi/linux/";

/// The default of systemd-boot, if dayone cannot change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnchangeableDefault {
    /// A unified kernel image, by its path.
    Image(String),
    /// An entry, and the reason.
    Entry(String, String),
}

/// Whether systemd-boot looks at the file as a unified kernel image.
pub(super) fn is_listed(file: &FatFile) -> bool {
    let name = file.path.to_ascii_lowercase();
    let name = name.strip_prefix(UNIFIED_KERNEL_IMAGES).and_then(|name| name.strip_suffix(".efi"));
    name.is_some_and(|name| !name.contains('/'))
}

/// The path and the sort key of the file, if it is a unified kernel image that systemd-boot lists.
pub(super) fn image(source: &dyn Source, file: &FatFile) -> Option<(String, String)> {
    if !is_listed(file) {
        return None;
    }
    match Program::at(source, &file.extents) {
        Program::UnifiedKernelImage { sort_key } => Some((file.path.clone(), sort_key)),
        _ => None,
    }
}

/// The default if dayone cannot change it: what `default` in `loader.conf` selects, or else the first entry of the list. Entries
/// with a sort key come first (`boot_entry_compare`).
pub(super) fn default<'a>(
    fat: &FatImage,
    images: &[(String, String)],
    entries: impl Iterator<Item = &'a MenuEntry<'a>>,
) -> Option<UnchangeableDefault> {
    let configuration = fat.read("loader/loader.conf").unwrap_or_default();
    let configuration = String::from_utf8_lossy(&configuration).into_owned();
    let default = configuration.lines().rev().find_map(|line| {
        let (key, value) = line.trim().split_once([' ', '\t'])?;
        (key == "default").then(|| value.trim().to_ascii_lowercase())
    });
    let entries: Vec<&MenuEntry<'_>> =
        entries.filter(|known| known.configuration.found.config.loader() == Loader::SystemdBoot).collect();
    if let Some(pattern) = default.filter(|default| !default.starts_with('@')) {
        let image = images.iter().find(|(path, _)| matches(&pattern, &file_name(path)));
        let meant = |known: &&&MenuEntry<'_>| {
            let name = file_name(known.configuration.path());
            // Before 2022, `default` named entries without `.conf`.
            matches(&pattern, &name) || matches(&pattern, name.trim_end_matches(".conf"))
        };
        let meant: Vec<&&MenuEntry<'_>> = entries.iter().filter(meant).collect();
        if image.is_some() || meant.iter().any(|known| matches!(known.starts, Starts::Linux(_) | Starts::Uki(_))) {
            return image.map(|(path, _)| UnchangeableDefault::Image(path.clone()));
        }
        let away = meant.into_iter().find_map(|known| match known.starts {
            Starts::Unchangeable(reason) => {
                Some(UnchangeableDefault::Entry(describe_entry(known.configuration, known.entry), reason.clone()))
            }
            Starts::Linux(_) | Starts::Uki(_) | Starts::Nothing => None,
        });
        if away.is_some() {
            return away;
        }
    }
    let (path, key) = images.iter().min_by(|one, other| one.1.cmp(&other.1))?;
    let mut keys =
        entries.iter().filter_map(|known| known.configuration.found.config.default_entry().sort_key.as_ref());
    (!keys.any(|own| own < key)).then(|| UnchangeableDefault::Image(path.clone()))
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase()
}

/// Whether a name matches a pattern with `*` and `?`.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut within) = (0, 0);
    // The position of the last `*`, and how far into the name it reaches.
    let mut star: Option<(usize, usize)> = None;
    while let Some(next) = name.get(within) {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, within));
                at += 1;
            }
            Some(byte) if byte == next || *byte == b'?' => (at, within) = (at + 1, within + 1),
            _ => match &mut star {
                Some((start, reach)) => {
                    *reach += 1;
                    (at, within) = (*start + 1, *reach);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("live.conf", "live.conf", true),
            ("live", "live.conf", false),
            ("li*e*f", "live.conf", true),
            ("*", "", true),
            ("?ive*", "live.efi", true),
            ("*.efi", "live.conf", false),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXbX", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        assert!(!matches(&"*a".repeat(2000), &"a".repeat(1999)));
    }
}
