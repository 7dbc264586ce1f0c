//! Which files of a medium are boot configurations.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{BootConfig, Loader};

/// The size in bytes of the largest file that dayone reads as a configuration.
pub const MAX_CONFIG_SIZE: usize = 1 << 20;

/// The largest number of configurations that dayone reads on one file system.
pub const MAX_CONFIGS: usize = 256;

/// A configuration on a medium.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its path, in the medium's own spelling.
    pub path: String,
    /// The directory that its relative paths start from; see [`BootConfig::resolve`].
    pub directory: String,
    /// The loader reads all configurations with the same number together: the first one and what it includes.
    pub group: usize,
    /// Its content.
    pub config: BootConfig,
}

/// Finds the boot configurations among the `paths` of a file system: the names that boot loaders look for, and what these
/// files include from the same file system.
///
/// Paths begin with `/`. `read` returns a file's content, or `None` if the file is larger than [`MAX_CONFIG_SIZE`].
pub fn discover<'a>(
    paths: impl IntoIterator<Item = &'a str>,
    mut read: impl FnMut(&str) -> Option<Vec<u8>>,
) -> Vec<Found> {
    // Firmware and loaders often see a medium without Rock Ridge, or as FAT, and then ignore case.
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for path in paths {
        names.entry(path.to_ascii_lowercase()).or_insert(path);
    }
    let first = names.iter().filter_map(|(name, path)| Some((loader_of(name)?, *path)));
    let mut queue: VecDeque<(Loader, &str, String, usize)> =
        first.enumerate().map(|(group, (loader, path))| (loader, path, directory_of(path).to_owned(), group)).collect();
    let mut seen: BTreeSet<&str> = queue.iter().map(|(_, path, ..)| *path).collect();
    let mut found = Vec::new();
    let mut reads = 0;
    while let Some((loader, path, directory, group)) = queue.pop_front() {
        reads += 1;
        if reads > MAX_CONFIGS {
            break;
        }
        let Some(text) = read(path).filter(|text| text.len() <= MAX_CONFIG_SIZE) else { continue };
        let config = BootConfig::parse(loader, text);
        for written in config.includes() {
            let Some(pattern) = config.resolve_pattern(written, &directory) else { continue };
            for path in matching(&names, &pattern.to_ascii_lowercase()) {
                if seen.insert(path) {
                    queue.push_back((loader, path, directory.clone(), group));
                }
            }
        }
        found.push(Found { path: path.to_owned(), directory, group, config });
    }
    set_labels(&mut found);
    found
}

/// SYSLINUX takes the value of `DEFAULT` for a label if any of the files that it reads has that label.
fn set_labels(found: &mut [Found]) {
    let mut labels: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for Found { group, config, .. } in found.iter().filter(|found| found.config.loader() == Loader::Syslinux) {
        let own = config.labels().map(str::to_owned);
        labels.entry(*group).or_default().extend(own);
    }
    for Found { group, config, .. } in found {
        if let Some(labels) = labels.get(group).filter(|labels| !labels.is_empty()) {
            config.set_labels(labels);
        }
    }
}

/// The paths that a pattern matches, which is in lower case and has `*` only in the name of a file.
fn matching<'a>(names: &BTreeMap<String, &'a str>, pattern: &str) -> Vec<&'a str> {
    let mut parts = pattern.split('*');
    let (first, rest) = (parts.next().unwrap_or_default(), parts.collect::<Vec<_>>());
    let Some((last, middle)) = rest.split_last() else {
        return names.get(pattern).copied().into_iter().collect();
    };
    let matches = |name: &str| {
        let between = name.strip_prefix(first).and_then(|rest| rest.strip_suffix(last));
        between.filter(|between| !between.contains('/')).is_some_and(|between| {
            let found = middle.iter().try_fold(between, |rest, part| rest.split_once(part).map(|(_, behind)| behind));
            found.is_some()
        })
    };
    let from = names.range(first.to_owned()..).take_while(|(name, _)| name.starts_with(first));
    from.filter(|(name, _)| matches(name)).map(|(_, path)| *path).collect()
}

fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The loader that reads a file of this name, which is in lower case.
fn loader_of(name: &str) -> Option<Loader> {
    let directory = directory_of(name);
    let file = name.rsplit('/').next()?;
    match file {
        "isolinux.cfg" | "syslinux.cfg" | "extlinux.conf" => Some(Loader::Syslinux),
        "default" if directory.ends_with("/pxelinux.cfg") => Some(Loader::Syslinux),
        "grub.cfg" | "loopback.cfg" => Some(Loader::Grub),
        // lorax's copy of grub.cfg, under the name of the loader.
        "boot.conf" if directory.ends_with("/efi/boot") => Some(Loader::Grub),
        _ if directory.ends_with("/loader/entries") && file.rsplit('.').next() == Some("conf") => {
            Some(Loader::SystemdBoot)
        }
        _ => None,
    }
}
