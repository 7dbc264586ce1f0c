//! Which base images are there: files whose names follow from those of the host's own, as the image-customization-controller
//! takes them.
//!
//! Beside `ironic-python-agent.iso`, the image for the architecture that dayone runs on, `ironic-python-agent_aarch64.iso`
//! (or `.aarch64.iso`) is that of another architecture, and `ironic-python-agent-rhel-10[_aarch64].iso` that of another
//! stream of the operating system. Names alone count: whether a file is one that can be used is for the store to say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use imagelib::digest::Digest;
use tracing::warn;

use crate::store::{BaseDefinition, BaseName, BasePaths};

/// How upstream writes the architecture that a file without one is for.
const HOST: &str = "host";

/// What a base is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// A stream of the operating system; none for the only one, or the one that is not named.
    pub stream: Option<String>,
    /// Its architecture; none for the one that dayone runs on.
    pub architecture: Option<String>,
}

impl Slot {
    /// The slot of a stream and an architecture; empty is none.
    pub fn new(stream: Option<&str>, architecture: &str) -> Self {
        let stream = stream.filter(|stream| !stream.is_empty()).map(str::to_owned);
        let architecture = (!architecture.is_empty() && architecture != HOST).then(|| architecture.to_owned());
        Self { stream, architecture }
    }
}

/// The host's own files, after which others are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasePatterns {
    /// `DEPLOY_ISO`.
    pub iso: PathBuf,
    /// `DEPLOY_INITRD`.
    pub initrd: PathBuf,
    /// `DEPLOY_KERNEL`.
    pub kernel: Option<PathBuf>,
    /// `IMAGE_SHARED_DIR`: where the others are, if not beside the host's own.
    pub shared_dir: Option<PathBuf>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    host: &'static str,
    isos: BTreeMap<Slot, PathBuf>,
    initrds: BTreeMap<Slot, PathBuf>,
    kernels: BTreeMap<Slot, PathBuf>,
    unreadable: BTreeSet<PathBuf>,
}

impl BasePatterns {
    /// Looks into the directories. One that cannot be read is left out, and the log says so, unless it could not be read
    /// `before` either.
    pub fn discover(&self, before: Option<&Found>) -> Found {
        let mut candidates = BTreeSet::new();
        let mut directories = BTreeSet::new();
        let mut unreadable = BTreeSet::new();
        for path in self.paths() {
            let directory = path.parent().unwrap_or(Path::new(""));
            match &self.shared_dir {
                Some(shared) if shared != directory => {
                    candidates.insert(path.to_owned());
                }
                _ => {
                    directories.insert(directory);
                }
            }
        }
        directories.extend(self.shared_dir.as_deref());
        for directory in directories {
            match entries(directory) {
                Ok(entries) => candidates.extend(entries),
                Err(error) => {
                    if !before.is_some_and(|before| before.unreadable.contains(directory)) {
                        warn!(directory = %directory.display(), %error, "cannot look for base images in this directory");
                    }
                    unreadable.insert(directory.to_owned());
                }
            }
        }
        Found { unreadable, ..self.find(candidates, host_architecture()) }
    }

    /// The bases among these files, for a program that runs on the architecture `host`. Of two for the same slot, the
    /// later in the order of their paths is taken.
    pub fn find(&self, candidates: impl IntoIterator<Item = PathBuf>, host: &'static str) -> Found {
        let mut found = Found { host, ..Found::default() };
        let candidates: BTreeSet<PathBuf> = candidates.into_iter().collect();
        for path in candidates {
            let kinds = [
                (Some(&self.iso), &mut found.isos),
                (Some(&self.initrd), &mut found.initrds),
                (self.kernel.as_ref(), &mut found.kernels),
            ];
            let matching = kinds.into_iter().find_map(|(pattern, files)| Some((slot(pattern?, &path)?, files)));
            if let Some((slot, files)) = matching {
                files.insert(slot, path);
            }
        }
        found
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        let paths = [Some(&self.iso), Some(&self.initrd), self.kernel.as_ref()];
        paths.into_iter().flatten().map(PathBuf::as_path).filter(|path| !path.as_os_str().is_empty())
    }
}

impl Found {
    /// The ISO for a slot.
    pub fn iso(&self, wanted: &Slot) -> Option<&Path> {
        self.lookup(&self.isos, wanted).map(|(_, path)| path)
    }

    /// The initramfs for a slot.
    pub fn initrd(&self, wanted: &Slot) -> Option<&Path> {
        self.lookup(&self.initrds, wanted).map(|(_, path)| path)
    }

    /// The kernel for a slot.
    pub fn kernel(&self, wanted: &Slot) -> Option<&Path> {
        self.lookup(&self.kernels, wanted).map(|(_, path)| path)
    }

    /// The base of the ISO for a slot, by its name among the definitions.
    pub fn iso_base(&self, wanted: &Slot) -> Option<BaseName> {
        self.lookup(&self.isos, wanted).and_then(|(slot, _)| name("iso", slot))
    }

    /// The base of the initramfs for a slot, by its name among the definitions.
    pub fn initrd_base(&self, wanted: &Slot) -> Option<BaseName> {
        self.lookup(&self.initrds, wanted).and_then(|(slot, _)| name("initrd", slot))
    }

    /// Whether a slot is of the architecture that this program runs on.
    pub fn is_host(&self, wanted: &Slot) -> bool {
        wanted.architecture.as_deref().is_none_or(|architecture| architecture == self.host)
    }

    /// Whether there are images for an architecture: both an ISO and an initramfs of one stream.
    pub fn supports(&self, architecture: &str) -> bool {
        let streams = self.isos.keys().chain(self.initrds.keys()).map(|slot| slot.stream.as_deref());
        let streams: BTreeSet<_> = streams.chain([None]).collect();
        streams.into_iter().any(|stream| {
            let wanted = Slot::new(stream, architecture);
            self.iso(&wanted).is_some() && self.initrd(&wanted).is_some()
        })
    }

    /// Whether there are images for no architecture at all.
    pub fn supports_none(&self) -> bool {
        let architectures = self.isos.keys().filter_map(|slot| slot.architecture.as_deref());
        !architectures.chain([""]).any(|architecture| self.supports(architecture))
    }

    /// The bases: one for each ISO, and one for each initramfs, with its kernel where there is one.
    pub fn definitions(&self) -> Vec<BaseDefinition> {
        let isos = self.isos.iter().map(|(slot, path)| (name("iso", slot), BasePaths::iso(path.clone())));
        let initrds = self.initrds.iter().map(|(slot, path)| {
            let kernel = self.kernel(slot).map(Path::to_owned);
            (name("initrd", slot), BasePaths::initrd(path.clone(), kernel))
        });
        let bases = isos.chain(initrds);
        bases.filter_map(|(name, files)| Some(BaseDefinition { name: name?, files, profile: None })).collect()
    }

    /// What is there for a slot. A stream without files of its own has those of no stream, and the architecture that
    /// this program runs on those without an architecture.
    fn lookup<'f>(&self, files: &'f BTreeMap<Slot, PathBuf>, wanted: &Slot) -> Option<(&'f Slot, &'f Path)> {
        let architectures = [wanted.architecture.clone()].into_iter().chain(self.is_host(wanted).then_some(None));
        let mut slots = architectures.flat_map(|architecture| {
            [wanted.stream.clone(), None].map(|stream| Slot { stream, architecture: architecture.clone() })
        });
        slots.find_map(|slot| files.get_key_value(&slot)).map(|(slot, path)| (slot, path.as_path()))
    }
}

/// The architecture that this program runs on, as Linux names it.
fn host_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "powerpc64" => "ppc64le",
        same => same,
    }
}

/// The slot of a file, where its name is made after the host's own.
fn slot(own: &Path, path: &Path) -> Option<Slot> {
    if own == path {
        return Some(Slot::default());
    }
    let (own, name) = (own.file_name()?.to_str()?, path.file_name()?.to_str()?);
    let (stem, extension) = own.split_at(own.rfind('.').unwrap_or(own.len()));
    // Upstream takes what has more before or behind it, too, such as the check sum of an image for an image.
    let middle = name.strip_prefix(stem)?.strip_suffix(extension)?;
    let Some(rest) = middle.strip_prefix('-') else {
        return Some(Slot::new(None, architecture(middle)?));
    };
    // The shortest stream that leaves an architecture, or nothing.
    let first = rest.chars().next()?.len_utf8();
    let ends = rest.char_indices().map(|(at, _)| at).filter(|at| *at >= first);
    let split = ends
        .filter_map(|at| rest.split_at_checked(at))
        .find_map(|(stream, behind)| Some(Slot::new(Some(stream), architecture(behind)?)));
    Some(split.unwrap_or_else(|| Slot::new(Some(rest), "")))
}

/// A word, and `_` or `.` before it.
fn architecture(text: &str) -> Option<&str> {
    let word = text.strip_prefix(['_', '.'])?;
    let good = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    good.then_some(word)
}

/// The name of the base of a slot: `iso-host`, `initrd-aarch64-rhel-10`. No two have the same: an architecture has no
/// hyphen, and what does not fit into a name is told apart by its digest.
fn name(kind: &str, slot: &Slot) -> Option<BaseName> {
    let architecture = slot.architecture.as_deref().unwrap_or(HOST);
    let stream = slot.stream.as_deref().map(|stream| format!("-{stream}")).unwrap_or_default();
    let name = format!("{kind}-{architecture}{stream}");
    let digest = Digest::of(name.as_bytes()).to_string();
    name.parse().ok().or_else(|| format!("{kind}-{}", digest.get(..32)?).parse().ok())
}

/// The paths of what is in a directory.
fn entries(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    fs::read_dir(listed)?.map(|entry| Ok(directory.join(entry?.file_name()))).collect()
}

#[cfg(test)]
mod tests;
