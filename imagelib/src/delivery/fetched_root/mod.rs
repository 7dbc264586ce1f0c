//! How a live system fetches its root file system over the network, in place of reading it from its medium.

mod anaconda;
mod casper;
mod live_boot;
mod livenet;

use super::DeliveryProfile;
use super::signs::{has_file, is_anaconda, is_casper};
use crate::initramfs::Tree;
use crate::kernel_arguments::KernelArguments;
use crate::url_server::UrlServer;
pub(crate) use casper::CasperScript;

/// Why a system does not fetch its root file system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotFetched {
    /// dayone knows no way for a system of this kind.
    #[error(
        "dayone makes minimal ISOs of live systems of dracut, live-boot, casper and CoreOS, and this system is of the kind '{0}'"
    )]
    Profile(DeliveryProfile),
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
    /// The initramfs verifies no certificate of a site. With what fetches.
    #[error("{0} fetches it with wget, which verifies no certificate, or knows none of your site; give an http URL")]
    NoVerification(&'static str),
    /// The system does not see from the URL what it fetches. With what fetches, and the ending that it needs.
    #[error("{0} fetches a file only if its URL ends with {1}")]
    UrlEnding(&'static str, &'static str),
    /// The initramfs does not find the server. With what fetches, and the server's name in the URL.
    #[error(
        "the URL names its server {1:?}, and {0}'s initramfs has neither name servers nor IPv6; give the server's IPv4 address \
         (rootfs_url, media-url)"
    )]
    NoIpv4Server(&'static str, String),
    /// The initramfs has no network. With what fetches, and the server's name in the URL.
    #[error(
        "{0}'s initramfs has no network but what dayone gives it, and the order has none for the server {1:?}; give the host's document"
    )]
    NoNetwork(&'static str, String),
    /// The root file system is not where the arguments say. With the paths.
    #[error("the root file system is not on the medium as {0}")]
    NoRoot(String),
    /// The root file system is in several files, and the system fetches one. With the files.
    #[error("its root file system is in several files, and live-boot fetches one: {0}")]
    Parts(String),
    /// The system takes more from the medium than its root file system, and only if that is there, too. With the path.
    #[error(
        "it has {0:?}, which Anaconda applies only to an installer that it finds on the medium; use the format iso"
    )]
    Beside(String),
    /// The root file system comes from the network already. With the argument that says so; its value may have a password.
    #[error("its kernel argument {0} makes Anaconda fetch the installer from the network already; use the format iso")]
    Elsewhere(&'static str),
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
    /// The same for Anaconda's installer, whose initramfs has a way of its own, too.
    Anaconda,
    /// By live-boot, over the network of the recipe.
    LiveBoot,
    /// The whole medium, by casper, over the network of the recipe.
    Casper,
}

/// Where a root file system is on a medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Places {
    /// The first of these paths that is there.
    FirstOf(Vec<String>),
    /// The only file in this directory with one of these endings.
    OnlyOneIn(String, &'static [&'static str]),
    /// All files in this directory with one of these endings.
    AllIn(String, &'static [&'static str]),
}

impl FetchedRoot {
    /// The way of a system with this initramfs and these kernel arguments.
    pub(crate) fn of(
        profile: DeliveryProfile,
        tree: &Tree,
        script: CasperScript,
        arguments: &KernelArguments,
    ) -> Result<Self, NotFetched> {
        match profile {
            DeliveryProfile::Dracut if is_anaconda(tree) && anaconda::decides(arguments) => {
                anaconda::check(arguments)?;
                livenet::check_tree(tree).map(|()| Self::Anaconda)
            }
            DeliveryProfile::Dracut => livenet::check(tree, arguments).map(|()| Self::Livenet),
            DeliveryProfile::InitramfsTools if is_casper(tree) => {
                casper::check(tree, script, arguments).map(|()| Self::Casper)
            }
            DeliveryProfile::InitramfsTools => live_boot::check(tree, arguments).map(|()| Self::LiveBoot),
            _ => Err(NotFetched::Profile(profile)),
        }
    }

    /// What fetches the root file system.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Livenet | Self::Anaconda => "dracut's module livenet",
            Self::LiveBoot => "live-boot",
            Self::Casper => "casper",
        }
    }

    /// Whether the recipe must have the network of the initramfs.
    pub(crate) fn needs_network(self) -> bool {
        matches!(self, Self::LiveBoot | Self::Casper)
    }

    /// Whether the system fetches the whole medium instead of the root file system alone.
    pub(crate) fn fetches_medium(self) -> bool {
        self == Self::Casper
    }

    /// Whether this is an argument by which the system finds its root file system, on a medium or elsewhere.
    pub(crate) fn replaces(self, argument: &str) -> bool {
        match self {
            Self::Livenet | Self::Anaconda => argument.starts_with(livenet::LIVE_ROOT),
            Self::LiveBoot => live_boot::replaces(argument),
            Self::Casper => casper::replaces(argument),
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
            Self::Casper => casper::URL,
        }
    }

    /// Fails if the system certainly does not fetch this URL.
    pub(crate) fn check_url(self, url: &str, tree: &Tree, arguments: &KernelArguments) -> Result<(), NotFetched> {
        match self {
            Self::Livenet | Self::Anaconda => livenet::check_url(url, tree, arguments),
            Self::LiveBoot => self.check_url_for_wget(url, live_boot::ENDING),
            Self::Casper => self.check_url_for_wget(url, casper::ENDING),
        }
    }

    /// Fails if the initramfs certainly does not fetch this URL, over a network that has IPv4 addresses and no name servers.
    fn check_url_for_wget(self, url: &str, ending: &'static str) -> Result<(), NotFetched> {
        if url.starts_with("https://") {
            return Err(NotFetched::NoVerification(self.name()));
        }
        if !url.ends_with(ending) {
            return Err(NotFetched::UrlEnding(self.name(), ending));
        }
        match UrlServer::of_url(url) {
            UrlServer::Ipv4(_) => Ok(()),
            UrlServer::Other(server) => Err(NotFetched::NoIpv4Server(self.name(), server)),
        }
    }

    /// Where the root file system is on the medium.
    pub(crate) fn places(self, arguments: &KernelArguments) -> Places {
        match self {
            Self::Livenet => Places::FirstOf(livenet::paths(arguments)),
            Self::Anaconda => Places::FirstOf(anaconda::paths(arguments)),
            Self::LiveBoot => Places::OnlyOneIn(live_boot::directory(arguments), &live_boot::IMAGES),
            Self::Casper => Places::AllIn(casper::directory(arguments), &casper::IMAGES),
        }
    }

    /// Files and directories on the medium that the system takes only together with a root file system on the medium.
    pub(crate) fn beside(self) -> &'static [&'static str] {
        match self {
            Self::Livenet | Self::LiveBoot | Self::Casper => &[],
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

/// Whether a program is in one of the usual directories.
fn has_program(tree: &Tree, name: &str) -> bool {
    ["bin", "sbin", "usr/bin", "usr/sbin"].iter().any(|directory| has_file(tree, &format!("{directory}/{name}")))
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
    if files.is_empty() {
        return Tree::default();
    }
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
            (FetchedRoot::Casper, "url=http://x", Some("http://x")),
        ] {
            assert_eq!(way.url(argument), expected, "{argument}");
        }
        for way in [FetchedRoot::Livenet, FetchedRoot::Anaconda, FetchedRoot::LiveBoot, FetchedRoot::Casper] {
            assert_eq!(way.url(&way.argument("http://192.0.2.1/r")), Some("http://192.0.2.1/r"));
        }
    }

    #[test]
    fn other_systems_do_not_fetch() {
        for profile in [DeliveryProfile::RootInInitramfs, DeliveryProfile::Unknown] {
            let way = FetchedRoot::of(profile, &tree(&[]), CasperScript::default(), &line(""));
            assert_eq!(way, Err(NotFetched::Profile(profile)));
        }
    }

    #[test]
    fn wget_needs_a_url_without_a_name() {
        for (way, name, ending) in
            [(FetchedRoot::LiveBoot, "live-boot", ".squashfs"), (FetchedRoot::Casper, "casper", ".iso")]
        {
            let check = |url: &str| way.check_url(&format!("{url}{ending}"), &tree(&[]), &line(""));
            assert_eq!(check("http://192.0.2.1:8081/i/token/rootfs"), Ok(()));
            assert_eq!(check("https://192.0.2.1/rootfs"), Err(NotFetched::NoVerification(name)));
            for url in ["http://192.0.2.1/rootfs.img", &format!("http://192.0.2.1/rootfs{ending}?x=1")] {
                let refused = way.check_url(url, &tree(&[]), &line(""));
                assert_eq!(refused, Err(NotFetched::UrlEnding(name, ending)), "{url}");
            }
            for (url, server) in
                [("http://mirror.example/r", "mirror.example"), ("http://[2001:db8::1]:8081/r", "[2001:db8::1]")]
            {
                assert_eq!(check(url), Err(NotFetched::NoIpv4Server(name, server.to_owned())), "{url}");
            }
        }
    }
}
