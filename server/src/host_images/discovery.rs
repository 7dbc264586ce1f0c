//! Finds base images by their file names, as the image-customization-controller does.
//!
//! `ironic-python-agent.iso` is the image for the architecture that dayone runs on. Beside it,
//! `ironic-python-agent_aarch64.iso` (or `.aarch64.iso`) is for another architecture, and
//! `ironic-python-agent-rhel-10[_aarch64].iso` is for another stream of the operating system. Only the names count here. The
//! store finds out whether a file is a usable base.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use imagelib::digest::Digest;
use tracing::warn;

use crate::store::{BaseDefinition, BaseName, BasePaths};

/// Upstream's word for the architecture that dayone runs on.
const HOST: &str = "host";

/// What a base is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// A stream of the operating system; `None` for files without a stream in their names.
    pub stream: Option<String>,
    /// The architecture; `None` for the one that dayone runs on.
    pub architecture: Option<String>,
}

impl Slot {
    /// The slot of a stream and an architecture. An empty text means `None`.
    pub fn new(stream: Option<&str>, architecture: &str) -> Self {
        let stream = stream.filter(|stream| !stream.is_empty()).map(str::to_owned);
        let architecture = (!architecture.is_empty() && architecture != HOST).then(|| architecture.to_owned());
        Self { stream, architecture }
    }
}

/// The files for the architecture that dayone runs on. The names of the others derive from theirs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BasePatterns {
    /// `DEPLOY_ISO`.
    pub iso: PathBuf,
    /// `DEPLOY_INITRD`.
    pub initrd: PathBuf,
    /// `DEPLOY_KERNEL`.
    pub kernel: Option<PathBuf>,
    /// `IMAGE_SHARED_DIR`: the directory of the other files. Without it, they are beside these.
    pub shared_dir: Option<PathBuf>,
}

/// The base images that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundBases {
    host: &'static str,
    isos: BTreeMap<Slot, PathBuf>,
    initrds: BTreeMap<Slot, PathBuf>,
    kernels: BTreeMap<Slot, PathBuf>,
    /// The directories that dayone could not read, and why. Their files are those that were found before.
    unreadable: BTreeMap<PathBuf, String>,
}

impl BasePatterns {
    /// Searches the directories. If a directory cannot be read, for example because a network file system is away, its files
    /// are those that were found `before`: whether they can still be read, the store finds out. Logs that, but not again if
    /// the directory could not be read before either.
    pub fn discover(&self, before: Option<&FoundBases>) -> FoundBases {
        let mut candidates = BTreeSet::new();
        let mut directories = BTreeSet::new();
        let mut unreadable = BTreeMap::new();
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
                    if !before.is_some_and(|before| before.unreadable.contains_key(directory)) {
                        warn!(directory = %directory.display(), %error, "cannot look for base images in this directory");
                    }
                    let known = before.into_iter().flat_map(FoundBases::paths);
                    candidates.extend(known.filter(|path| path.parent() == Some(directory)).map(Path::to_owned));
                    unreadable.insert(directory.to_owned(), error.to_string());
                }
            }
        }
        FoundBases { unreadable, ..self.find(candidates, host_architecture()) }
    }

    /// Finds the bases among these files, for a program that runs on the architecture `host`. If two files are for the same
    /// slot, the one with the later path counts.
    pub fn find(&self, candidates: impl IntoIterator<Item = PathBuf>, host: &'static str) -> FoundBases {
        let mut found = FoundBases { host, ..FoundBases::default() };
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

impl FoundBases {
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

    /// The name of the base with the ISO for a slot.
    pub fn iso_base(&self, wanted: &Slot) -> Option<BaseName> {
        self.lookup(&self.isos, wanted).and_then(|(slot, _)| name("iso", slot))
    }

    /// The name of the base with the initramfs for a slot.
    pub fn initrd_base(&self, wanted: &Slot) -> Option<BaseName> {
        self.lookup(&self.initrds, wanted).and_then(|(slot, _)| name("initrd", slot))
    }

    /// Whether a slot is for the architecture that dayone runs on.
    pub fn is_host(&self, wanted: &Slot) -> bool {
        wanted.architecture.as_deref().is_none_or(|architecture| architecture == self.host)
    }

    /// Whether there are both an ISO and an initramfs for an architecture, in one stream.
    pub fn supports(&self, architecture: &str) -> bool {
        let streams = self.isos.keys().chain(self.initrds.keys()).map(|slot| slot.stream.as_deref());
        let streams: BTreeSet<_> = streams.chain([None]).collect();
        streams.into_iter().any(|stream| {
            let wanted = Slot::new(stream, architecture);
            self.iso(&wanted).is_some() && self.initrd(&wanted).is_some()
        })
    }

    /// Which directories dayone could not read, and why.
    pub fn unreadable(&self) -> Option<String> {
        let one = |(directory, error): (&PathBuf, &String)| {
            format!("cannot look for base images in {}: {error}", directory.display())
        };
        let all: Vec<_> = self.unreadable.iter().map(one).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The files of all bases.
    fn paths(&self) -> impl Iterator<Item = &Path> {
        [&self.isos, &self.initrds, &self.kernels].into_iter().flat_map(BTreeMap::values).map(PathBuf::as_path)
    }

    /// Whether no architecture is supported.
    pub fn supports_none(&self) -> bool {
        let architectures = self.isos.keys().filter_map(|slot| slot.architecture.as_deref());
        !architectures.chain([""]).any(|architecture| self.supports(architecture))
    }

    /// The definitions of the bases: one for each ISO, and one for each initramfs with its kernel, if it has one.
    pub fn definitions(&self) -> Vec<BaseDefinition> {
        let isos = self.isos.iter().map(|(slot, path)| (name("iso", slot), BasePaths::iso(path.clone())));
        let initrds = self.initrds.iter().map(|(slot, path)| {
            let kernel = self.kernel(slot).map(Path::to_owned);
            (name("initrd", slot), BasePaths::initrd(path.clone(), kernel))
        });
        let bases = isos.chain(initrds);
        bases.filter_map(|(name, files)| Some(BaseDefinition { name: name?, files, profile: None })).collect()
    }

    /// The file for a slot. A stream without its own files falls back to the files without a stream. The architecture that
    /// dayone runs on falls back to the files without an architecture.
    fn lookup<'f>(&self, files: &'f BTreeMap<Slot, PathBuf>, wanted: &Slot) -> Option<(&'f Slot, &'f Path)> {
        let architectures = [wanted.architecture.clone()].into_iter().chain(self.is_host(wanted).then_some(None));
        let mut slots = architectures.flat_map(|architecture| {
            [wanted.stream.clone(), None].map(|stream| Slot { stream, architecture: architecture.clone() })
        });
        slots.find_map(|slot| files.get_key_value(&slot)).map(|(slot, path)| (slot, path.as_path()))
    }
}

/// The architecture that dayone runs on, as Linux names it.
fn host_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "powerpc64" => "ppc64le",
        same => same,
    }
}

/// The slot of a file, if its name derives from `own`.
fn slot(own: &Path, path: &Path) -> Option<Slot> {
    if own == path {
        return Some(Slot::default());
    }
    let (own, name) = (own.file_name()?.to_str()?, path.file_name()?.to_str()?);
    let (stem, extension) = own.split_at(own.rfind('.').unwrap_or(own.len()));
    // Upstream also accepts names with more text before or behind, and so takes the checksum of an image for an image.
    let middle = name.strip_prefix(stem)?.strip_suffix(extension)?;
    let Some(rest) = middle.strip_prefix('-') else {
        return Some(Slot::new(None, architecture(middle)?));
    };
    // The shortest stream that is followed by an architecture. Otherwise, all of it is the stream.
    let first = rest.chars().next()?.len_utf8();
    let ends = rest.char_indices().map(|(at, _)| at).filter(|at| *at >= first);
    let split = ends
        .filter_map(|at| rest.split_at_checked(at))
        .find_map(|(stream, behind)| Some(Slot::new(Some(stream), architecture(behind)?)));
    Some(split.unwrap_or_else(|| Slot::new(Some(rest), "")))
}

/// A word after `_` or `.`.
fn architecture(text: &str) -> Option<&str> {
    let word = text.strip_prefix(['_', '.'])?;
    let good = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    good.then_some(word)
}

/// The name of the base for a slot: `iso-host`, `initrd-aarch64-rhel-10`. Names are unique: an architecture has no hyphen,
/// and a digest replaces what does not fit into a name.
fn name(kind: &str, slot: &Slot) -> Option<BaseName> {
    let architecture = slot.architecture.as_deref().unwrap_or(HOST);
    let stream = slot.stream.as_deref().map(|stream| format!("-{stream}")).unwrap_or_default();
    let name = format!("{kind}-{architecture}{stream}");
    let digest = Digest::of(name.as_bytes()).to_string();
    name.parse().ok().or_else(|| format!("{kind}-{}", digest.get(..32)?).parse().ok())
}

/// The paths of the entries of a directory.
fn entries(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    fs::read_dir(listed)?.map(|entry| Ok(directory.join(entry?.file_name()))).collect()
}

#[cfg(test)]
mod tests;
