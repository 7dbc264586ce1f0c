//! Which files of a medium are boot configurations.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{BootConfig, Include, Loader};

#[cfg(test)]
mod tests;

/// The size in bytes of the largest file that dayone reads as a configuration.
pub const MAX_CONFIG_SIZE: usize = 1 << 20;

/// The largest number of configurations that dayone reads from the names on one file system.
pub const MAX_CONFIGS: usize = 256;

type Read<'a> = Box<dyn Fn(&str) -> Option<Vec<u8>> + 'a>;
type Links<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// A file system from which boot loaders read their configurations.
pub struct FileSystem<'a> {
    /// The spellings of each path, by the path in lower case. Firmware and loaders often see a medium without Rock Ridge, or
    /// as FAT, and then ignore case.
    names: BTreeMap<String, Vec<&'a str>>,
    /// Symbolic links.
    linked: Vec<String>,
    read: Read<'a>,
    links: Links<'a>,
}

/// A configuration on a medium.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its path, in the medium's own spelling.
    pub path: String,
    /// The index of its file system.
    pub file_system: usize,
    /// The directory that its relative paths start from; see [`BootConfig::resolve`].
    pub directory: String,
    /// The loader reads all configurations with the same number together: the first one and what it includes.
    pub group: usize,
    /// The groups of the configurations that it includes or continues with.
    pub leads_to: BTreeSet<usize>,
    /// The configurations that GRUB continues with on any host, and that are on none of the file systems.
    pub missing: Vec<String>,
    /// Whether it leads to configurations whose names only the running loader knows.
    pub leads_elsewhere: bool,
    /// Its content.
    pub config: BootConfig,
}

/// A configuration by the index of its file system, and its path there.
type Place<'a> = (usize, &'a str);

/// A configuration that is not read yet.
struct Pending<'a> {
    loader: Loader,
    place: Place<'a>,
    directory: String,
    group: usize,
}

struct Search<'f, 'a> {
    file_systems: &'f [FileSystem<'a>],
    queue: VecDeque<Pending<'a>>,
    /// The groups of all configurations, read or not.
    groups: BTreeMap<Place<'a>, usize>,
    /// How many groups there are.
    count: usize,
    found: Vec<Found>,
}

/// Finds the boot configurations on these file systems: the names that boot loaders look for, and what these files include.
///
/// The first file system is that of the ISO. GRUB also reads it from configurations on the others.
pub fn discover(file_systems: &[FileSystem<'_>]) -> Vec<Found> {
    let mut search =
        Search { file_systems, queue: VecDeque::new(), groups: BTreeMap::new(), count: 0, found: Vec::new() };
    for index in 0..file_systems.len() {
        search.search(index);
    }
    set_labels(&mut search.found);
    search.found
}

impl<'a> FileSystem<'a> {
    /// A file system with these paths, which begin with `/`. `read` returns a file's content, or `None` if the file is larger
    /// than [`MAX_CONFIG_SIZE`].
    pub fn new(paths: impl IntoIterator<Item = &'a str>, read: impl Fn(&str) -> Option<Vec<u8>> + 'a) -> Self {
        let mut names: BTreeMap<String, Vec<&'a str>> = BTreeMap::new();
        for path in paths {
            let spellings = names.entry(path.to_ascii_lowercase()).or_default();
            if !spellings.contains(&path) {
                spellings.push(path);
            }
        }
        Self { names, linked: Vec::new(), read: Box::new(read), links: Box::new(|_| None) }
    }

    /// Gives the file system symbolic links, with their paths: `links` returns the path that is among the names, for one that leads there,
    /// also through a link to a directory.
    #[must_use]
    pub fn with_links(self, linked: Vec<String>, links: impl Fn(&str) -> Option<String> + 'a) -> Self {
        Self { linked, links: Box::new(links), ..self }
    }

    /// The paths that a pattern matches, which has `*` only in the name of a file. Of several spellings of one path, that of
    /// the pattern counts, or else all of them.
    fn matching(&self, pattern: &str) -> Vec<&'a str> {
        let spelled = |spellings: &Vec<&'a str>, pattern: &str| -> Vec<&'a str> {
            let exact: Vec<&'a str> = spellings.iter().copied().filter(|path| matches(pattern, path)).collect();
            if exact.is_empty() { spellings.clone() } else { exact }
        };
        let lower = pattern.to_ascii_lowercase();
        if let Some((first, _)) = lower.split_once('*') {
            let from = self.names.range(first.to_owned()..).take_while(|(name, _)| name.starts_with(first));
            let matching = from.filter(|(name, _)| matches(&lower, name));
            return matching.flat_map(|(_, spellings)| spelled(spellings, pattern)).collect();
        }
        if let Some(spellings) = self.names.get(&lower) {
            return spelled(spellings, pattern);
        }
        let linked = (self.links)(pattern);
        let found = linked.and_then(|path| Some(spelled(self.names.get(&path.to_ascii_lowercase())?, &path)));
        found.unwrap_or_default()
    }
}

impl<'a> Search<'_, 'a> {
    /// Reads the configurations with a loader's name on one file system, and what they lead to.
    fn search(&mut self, origin: usize) {
        let Some(own) = self.file_systems.get(origin) else { return };
        for (name, spellings) in &own.names {
            let Some(loader) = loader_of(name) else { continue };
            for path in spellings.iter().copied() {
                self.begin(loader, (origin, path), directory_of(path));
            }
        }
        // GRUB follows links, and ISOLINUX does not.
        for link in own.linked.iter().filter(|link| link.to_ascii_lowercase().ends_with("/grub.cfg")) {
            for path in own.matching(link) {
                self.begin(Loader::Grub, (origin, path), directory_of(link));
            }
        }
        for _ in 0..MAX_CONFIGS {
            let Some(pending) = self.queue.pop_front() else { return };
            self.read(origin, pending);
        }
        self.queue.clear();
    }

    /// Adds a configuration that a loader looks for, unless it is known.
    fn begin(&mut self, loader: Loader, place: Place<'a>, directory: &str) {
        if !self.groups.contains_key(&place) {
            let group = self.new_group();
            self.add(Pending { loader, place, directory: directory.to_owned(), group });
        }
    }

    fn new_group(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    fn add(&mut self, pending: Pending<'a>) {
        self.groups.insert(pending.place, pending.group);
        self.queue.push_back(pending);
    }

    fn read(&mut self, origin: usize, pending: Pending<'a>) {
        let Pending { loader, place, directory, group } = pending;
        let (file_system, path) = place;
        let text = self.file_systems.get(file_system).and_then(|known| (known.read)(path));
        let Some(text) = text.filter(|text| text.len() <= MAX_CONFIG_SIZE) else { return };
        let config = BootConfig::parse(loader, text);
        let (mut leads_to, mut missing, mut leads_elsewhere) = (BTreeSet::new(), Vec::new(), false);
        let mut menus: BTreeMap<usize, usize> = BTreeMap::new();
        for include in &config.includes {
            let Some(pattern) = config.resolve_pattern(&include.path, &directory) else {
                leads_elsewhere = true;
                continue;
            };
            let places = self.matching(origin, place, loader, &pattern);
            if places.is_empty() && include.certain && !pattern.contains('*') {
                missing.push(pattern);
            }
            for other in places {
                if let Some(known) = self.groups.get(&other) {
                    leads_to.insert(*known);
                    continue;
                }
                let new = |number| *menus.entry(number).or_insert_with(|| self.new_group());
                let group = include.menu.map_or(group, new);
                let directory = directory_for(&config, &directory, include, file_system, other);
                self.add(Pending { loader, place: other, directory, group });
                leads_to.insert(group);
            }
        }
        let path = path.to_owned();
        self.found.push(Found { path, file_system, directory, group, leads_to, missing, leads_elsewhere, config });
    }

    /// The places of an included configuration: on the file system of the one that includes it or, as GRUB may have changed its
    /// root, on the one where it began or on the ISO.
    fn matching(&self, origin: usize, from: Place<'a>, loader: Loader, pattern: &str) -> Vec<Place<'a>> {
        let others = [origin, 0].into_iter().filter(|_| loader == Loader::Grub);
        let mut all = std::iter::once(from.0).chain(others).map(|index| {
            let found = self.file_systems.get(index).map(|known| known.matching(pattern)).unwrap_or_default();
            found.into_iter().map(|path| (index, path)).filter(|place| *place != from).collect::<Vec<_>>()
        });
        all.find(|places| !places.is_empty()).unwrap_or_default()
    }
}

/// The directory that relative paths in an included configuration start from.
fn directory_for(
    config: &BootConfig,
    directory: &str,
    include: &Include,
    file_system: usize,
    (other, path): Place<'_>,
) -> String {
    match &include.directory {
        Some(written) if written.trim_matches('/').is_empty() => String::new(),
        Some(written) => config.resolve(written, directory).unwrap_or_else(|| directory.to_owned()),
        None if other == file_system => directory.to_owned(),
        // A configuration that changes GRUB's root usually changes its prefix, too.
        None => config.resolve("$prefix", directory).unwrap_or_else(|| directory_of(path).to_owned()),
    }
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

/// Whether a pattern, which has `*` only in the name of a file, matches a path.
fn matches(pattern: &str, path: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == path };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let between = path.strip_prefix(first).and_then(|rest| rest.strip_suffix(last));
    between.filter(|between| !between.contains('/')).is_some_and(|between| {
        let found = middle.split('*').try_fold(between, |rest, part| rest.split_once(part).map(|(_, behind)| behind));
        found.is_some()
    })
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
