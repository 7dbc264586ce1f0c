//! How a live system fetches its root file system over the network, in place of reading it from its medium.

mod anaconda;
mod live_boot;
mod livenet;

use super::DeliveryProfile;
use super::signs::{has_file, is_anaconda};
use crate::initramfs::Tree;
use crate::kernel_arguments::KernelArguments;

/// Why a system does not fetch its root file system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotFetched {
    /// dayone knows no way for a system of this kind.
    #[error(
        "dayone makes minimal ISOs of live systems of dracut, live-boot and CoreOS, and this system is of the kind '{0}'"
    )]
    Profile(DeliveryProfile),
    /// The live system is Ubuntu's.
    #[error(
        "dayone makes minimal ISOs of live systems of dracut, live-boot and CoreOS, and casper (Ubuntu) starts this one"
    )]
    Casper,
    /// The kernel arguments start something other than a live system on a medium. With the argument that they lack, and its meaning.
    #[error("its kernel arguments have no {0}, by which {1}")]
    NotLive(&'static str, &'static str),
    /// The initramfs lacks a part.
    #[error("its initramfs lacks {0}")]
    Missing(&'static str),
    /// The initramfs cannot verify the certificate of the server.
    #[error(
        "its initramfs has no certificates of authorities, so it accepts no https URL; give an http URL, or add the kernel argument \
         rd.noverifyssl"
    )]
    NoAuthorities,
    /// The initramfs verifies no certificate at all.
    #[error("live-boot fetches it with the wget of busybox, which verifies no certificate; give an http URL")]
    NoVerification,
    /// The system does not see from the URL what it fetches. With the ending that it needs.
    #[error("live-boot takes a file for a root file system only if its URL ends with {0}")]
    UrlEnding(&'static str),
    /// The initramfs does not find the server. With the server's name in the URL.
    #[error(
        "the URL names its server {0:?}, and live-boot's initramfs has neither name servers nor IPv6; give the server's IPv4 address \
         (rootfs_url, media-url)"
    )]
    NoIpv4Server(String),
    /// The initramfs has no network.
    #[error(
        "live-boot's initramfs has no network but what dayone gives it, and the order has none for the server {0:?}; give the host's document"
    )]
    NoNetwork(String),
    /// The root file system is not where the arguments say. With the paths.
    #[error("the root file system is not on the medium as {0}")]
    NoRoot(String),
    /// The root file system is in several files, and the system fetches one. With the files.
    #[error("its root file system is in several files, and live-boot fetches one: {0}")]
    Parts(String),
    /// The system takes more from the medium than its root file system, and only if that is there, too. With the path.
    #[error("it has {0:?}, which Anaconda adds to the installer only if that is on the medium, too")]
    Beside(String),
    /// It cannot be left out of the medium. With the reason.
    #[error("its root file system cannot be left out of the medium: {0}")]
    NotRemovable(String),
    /// Another boot entry has another root file system. With both paths.
    #[error("its root file system is {0}, and that of another boot entry is {1}")]
    Several(String, String),
    /// A unified kernel image starts by default, and its arguments are in the program.
    #[error("it starts a unified kernel image, and no addon replaces the kernel arguments in that")]
    UnifiedKernelImage,
    /// Its initramfs cannot be read. With the reason.
    #[error("its initramfs cannot be extended: {0}")]
    Initrd(String),
    /// No boot entry starts a live system.
    #[error("no boot entry on it loads an initramfs that dayone can extend")]
    NoEntry,
}

/// A way in which a live system fetches its root file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FetchedRoot {
    /// By dracut's module `livenet`, over the network that NetworkManager has brought up in the initramfs.
    Livenet,
    /// The installer's system, in the same way, in place of Anaconda's.
    Anaconda,
    /// By live-boot, over the network of the recipe.
    LiveBoot,
}

/// Where a root file system is on a medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Places {
    /// The first of these paths that is there.
    FirstOf(Vec<String>),
    /// The only file in this directory with one of these endings.
    OnlyOneIn(String, &'static [&'static str]),
}

impl FetchedRoot {
    /// The way of a system with this initramfs and these kernel arguments.
    pub(crate) fn of(profile: DeliveryProfile, tree: &Tree, arguments: &KernelArguments) -> Result<Self, NotFetched> {
        match profile {
            DeliveryProfile::Dracut if is_anaconda(tree) && anaconda::decides(arguments) => {
                livenet::check_tree(tree).map(|()| Self::Anaconda)
            }
            DeliveryProfile::Dracut => livenet::check(tree, arguments).map(|()| Self::Livenet),
            DeliveryProfile::InitramfsTools => live_boot::check(tree, arguments).map(|()| Self::LiveBoot),
            _ => Err(NotFetched::Profile(profile)),
        }
    }

    /// What fetches the root file system.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Livenet | Self::Anaconda => "dracut's module livenet",
            Self::LiveBoot => "live-boot",
        }
    }

    /// Whether the recipe must have the network of the initramfs.
    pub(crate) fn needs_network(self) -> bool {
        self == Self::LiveBoot
    }

    /// Whether this is an argument by which the system finds its root file system, on a medium or elsewhere.
    pub(crate) fn replaces(self, argument: &str) -> bool {
        match self {
            Self::Livenet | Self::Anaconda => argument.starts_with(livenet::LIVE_ROOT),
            Self::LiveBoot => live_boot::replaces(argument),
        }
    }

    /// The URL of the root file system, if this argument has it.
    pub(crate) fn url(self, argument: &str) -> Option<&str> {
        let root = argument.strip_prefix(self.key())?;
        (root.starts_with("http://") || root.starts_with("https://")).then_some(root)
    }

    /// The argument with the URL of the root file system.
    pub(crate) fn argument(self, url: &str) -> String {
        format!("{}{url}", self.key())
    }

    fn key(self) -> &'static str {
        match self {
            Self::Livenet | Self::Anaconda => livenet::LIVE_ROOT,
            Self::LiveBoot => live_boot::FETCH,
        }
    }

    /// Fails if the system certainly does not fetch this URL.
    pub(crate) fn check_url(self, url: &str, tree: &Tree, arguments: &KernelArguments) -> Result<(), NotFetched> {
        match self {
            Self::Livenet | Self::Anaconda => livenet::check_url(url, tree, arguments),
            Self::LiveBoot => live_boot::check_url(url),
        }
    }

    /// Where the root file system is on the medium.
    pub(crate) fn places(self, arguments: &KernelArguments) -> Places {
        match self {
            Self::Livenet => Places::FirstOf(livenet::paths(arguments)),
            Self::Anaconda => Places::FirstOf(anaconda::paths(arguments)),
            Self::LiveBoot => Places::OnlyOneIn(live_boot::directory(arguments), &live_boot::IMAGES),
        }
    }

    /// Files and directories on the medium that the system takes only together with a root file system on the medium.
    pub(crate) fn beside(self) -> &'static [&'static str] {
        match self {
            Self::Livenet | Self::LiveBoot => &[],
            Self::Anaconda => &anaconda::UPDATES,
        }
    }
}

/// Fails with the name of the first part that is missing.
fn check_parts<const N: usize>(parts: [(bool, &'static str); N]) -> Result<(), NotFetched> {
    match parts.into_iter().find(|(present, _)| !present) {
        Some((_, part)) => Err(NotFetched::Missing(part)),
        None => Ok(()),
    }
}

/// Whether one of these paths leads to a regular file.
fn has_any(tree: &Tree, paths: &[&str]) -> bool {
    paths.iter().any(|path| has_file(tree, path))
}

/// The value of the last argument with this key, which ends with `=`.
fn value<'a>(arguments: &'a KernelArguments, key: &str) -> Option<&'a str> {
    arguments.iter().filter_map(|argument| argument.strip_prefix(key)).last()
}

#[cfg(test)]
fn tree(files: &[&str]) -> Tree {
    let mut archive = crate::cpio::Archive::new();
    for file in files {
        archive.file(file.parse().unwrap(), 0o755, "").unwrap();
    }
    archive.add_parents(0o755).unwrap();
    crate::initramfs::survey(&archive.to_bytes(), &[], 0).unwrap().tree
}

#[cfg(test)]
fn line(text: &str) -> KernelArguments {
    text.parse().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_url_is_one() {
        for (way, argument, expected) in [
            (FetchedRoot::Livenet, "root=live:http://x", Some("http://x")),
            (FetchedRoot::Livenet, "root=live:https://x", Some("https://x")),
            (FetchedRoot::Livenet, "root=live:CDLABEL=http", None),
            (FetchedRoot::Livenet, "root=x", None),
            (FetchedRoot::LiveBoot, "fetch=http://x", Some("http://x")),
            (FetchedRoot::LiveBoot, "fetch=tftp://x", None),
            (FetchedRoot::LiveBoot, "root=live:http://x", None),
        ] {
            assert_eq!(way.url(argument), expected, "{argument}");
        }
        for way in [FetchedRoot::Livenet, FetchedRoot::LiveBoot] {
            assert_eq!(way.url(&way.argument("http://192.0.2.1/r")), Some("http://192.0.2.1/r"));
        }
    }

    #[test]
    fn other_systems_do_not_fetch() {
        for profile in [DeliveryProfile::RootInInitramfs, DeliveryProfile::Unknown] {
            assert_eq!(FetchedRoot::of(profile, &tree(&[]), &line("")), Err(NotFetched::Profile(profile)));
        }
    }
}
