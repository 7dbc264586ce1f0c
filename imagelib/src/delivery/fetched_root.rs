//! How a live system fetches its root file system over the network, in place of reading it from its medium.

use super::DeliveryProfile;
use super::signs::{dracut_hooks, has_file, has_network_manager};
use crate::initramfs::Tree;
use crate::kernel_arguments::KernelArguments;

/// What dracut's module `livenet` runs when an interface is up.
const LIVENET: [&str; 2] = ["usr/sbin/livenetroot", "sbin/livenetroot"];
/// What it fetches files with.
const CURL: [&str; 2] = ["usr/bin/curl", "bin/curl"];
/// The functions of dracut's module `network-manager`, which starts NetworkManager with the keyfiles of the initramfs.
const NETWORK_MANAGER_MODULE: [&str; 2] = ["usr/lib/nm-lib.sh", "lib/nm-lib.sh"];
/// The authorities that curl trusts, on Fedora and RHEL, on Debian, and on SUSE.
const AUTHORITIES: [&str; 4] = [
    "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "etc/pki/tls/certs/ca-bundle.crt",
    "etc/ssl/certs/ca-certificates.crt",
    "var/lib/ca-certificates/ca-bundle.pem",
];
/// With it, `livenet` accepts every certificate (`dracut.cmdline(7)`).
const NO_VERIFICATION: &str = "rd.noverifyssl";
/// The argument of dracut that names the medium of a live system, or the URL of its root file system.
const LIVE_ROOT: &str = "root=live:";

/// Why a system does not fetch its root file system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotFetched {
    /// dayone knows no way for a system of this kind.
    #[error("dayone makes minimal ISOs of live systems of dracut and CoreOS, and this system is of the kind '{0}'")]
    Profile(DeliveryProfile),
    /// The kernel arguments start something other than a live system on a medium.
    #[error("its kernel arguments have no root=live:…, by which dracut finds the medium of a live system")]
    NotLive,
    /// The initramfs lacks a part.
    #[error("its initramfs lacks {0}")]
    Missing(&'static str),
    /// The initramfs cannot verify the certificate of the server.
    #[error(
        "its initramfs has no certificates of authorities, so it accepts no https URL; give an http URL, or add the kernel argument \
         rd.noverifyssl"
    )]
    NoAuthorities,
    /// The root file system is not where the arguments say. With the paths.
    #[error("the root file system is not on the medium as {0}")]
    NoRoot(String),
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
}

impl FetchedRoot {
    /// The way of a system with this initramfs and these kernel arguments.
    pub(crate) fn of(profile: DeliveryProfile, tree: &Tree, arguments: &KernelArguments) -> Result<Self, NotFetched> {
        if profile != DeliveryProfile::Dracut {
            return Err(NotFetched::Profile(profile));
        }
        if !arguments.iter().any(|argument| Self::Livenet.replaces(argument)) {
            return Err(NotFetched::NotLive);
        }
        let has = |paths: &[&str]| paths.iter().any(|path| has_file(tree, path));
        let parts = [
            (dracut_hooks(tree).is_some(), "the directory of dracut's hooks"),
            (has(&LIVENET), "dracut's module livenet, which fetches root file systems"),
            (has(&CURL), "the program curl, with which livenet fetches files"),
            (has_network_manager(tree), "NetworkManager, which reads the network configuration"),
            (has(&NETWORK_MANAGER_MODULE), "dracut's module network-manager, which starts NetworkManager"),
        ];
        match parts.into_iter().find(|(present, _)| !present) {
            Some((_, part)) => Err(NotFetched::Missing(part)),
            None => Ok(Self::Livenet),
        }
    }

    /// Whether this is the argument by which the system finds its root file system, on a medium or elsewhere.
    pub(crate) fn replaces(self, argument: &str) -> bool {
        match self {
            Self::Livenet => argument.starts_with(LIVE_ROOT),
        }
    }

    /// Whether this argument has the URL of the root file system.
    pub(crate) fn is_url(self, argument: &str) -> bool {
        match self {
            Self::Livenet => argument
                .strip_prefix(LIVE_ROOT)
                .is_some_and(|root| root.starts_with("http://") || root.starts_with("https://")),
        }
    }

    /// The argument with the URL of the root file system.
    pub(crate) fn argument(self, url: &str) -> String {
        match self {
            Self::Livenet => format!("{LIVE_ROOT}{url}"),
        }
    }

    /// Fails if the system certainly does not accept the certificate of any server.
    pub(crate) fn check_url(self, url: &str, tree: &Tree, arguments: &KernelArguments) -> Result<(), NotFetched> {
        let Self::Livenet = self;
        let verifies = !arguments.iter().any(|argument| {
            argument == NO_VERIFICATION || argument.strip_prefix(NO_VERIFICATION).is_some_and(|value| value == "=1")
        });
        let trusts = AUTHORITIES.iter().any(|path| has_file(tree, path));
        if url.starts_with("https://") && verifies && !trusts { Err(NotFetched::NoAuthorities) } else { Ok(()) }
    }

    /// Where the root file system is on the medium: the first of these paths that is there.
    pub(crate) fn paths(self, arguments: &KernelArguments) -> Vec<String> {
        let value = |key: &str| arguments.iter().filter_map(|argument| argument.strip_prefix(key)).last();
        match self {
            Self::Livenet => {
                let directory = value("rd.live.dir=").unwrap_or("LiveOS").trim_matches('/');
                let image = value("rd.live.squashimg=").unwrap_or("squashfs.img");
                [image, "rootfs.img"].into_iter().map(|name| format!("/{directory}/{name}")).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpio::Archive;
    use crate::initramfs::survey;

    const COMPLETE: [&str; 5] = [
        "usr/lib/dracut/hooks/pre-pivot/x.sh",
        "usr/sbin/livenetroot",
        "usr/bin/curl",
        "usr/sbin/NetworkManager",
        "usr/lib/nm-lib.sh",
    ];

    fn tree(files: &[&str]) -> Tree {
        let mut archive = Archive::new();
        for file in files {
            archive.file(file.parse().unwrap(), 0o755, "").unwrap();
        }
        archive.add_parents(0o755).unwrap();
        survey(&archive.to_bytes(), &[], 0).unwrap().tree
    }

    fn line(text: &str) -> KernelArguments {
        text.parse().unwrap()
    }

    #[test]
    fn a_system_without_one_of_the_parts_is_told_which() {
        let live = line("root=live:CDLABEL=Live rd.live.image");
        assert_eq!(FetchedRoot::of(DeliveryProfile::Dracut, &tree(&COMPLETE), &live), Ok(FetchedRoot::Livenet));
        for (index, word) in
            ["hooks", "module livenet", "curl", "NetworkManager", "module network-manager"].iter().enumerate()
        {
            let mut files = COMPLETE.to_vec();
            files.remove(index);
            let error = FetchedRoot::of(DeliveryProfile::Dracut, &tree(&files), &live).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
        let installed = line("root=/dev/sda1");
        assert_eq!(FetchedRoot::of(DeliveryProfile::Dracut, &tree(&COMPLETE), &installed), Err(NotFetched::NotLive));
        assert_eq!(
            FetchedRoot::of(DeliveryProfile::InitramfsTools, &tree(&COMPLETE), &live),
            Err(NotFetched::Profile(DeliveryProfile::InitramfsTools))
        );
    }

    #[test]
    fn the_root_file_system_is_where_the_arguments_say() {
        let paths = |text: &str| FetchedRoot::Livenet.paths(&line(text));
        assert_eq!(paths("root=live:CDLABEL=x"), ["/LiveOS/squashfs.img", "/LiveOS/rootfs.img"]);
        assert_eq!(paths("rd.live.dir=/live/ rd.live.squashimg=a.img")[0], "/live/a.img");
    }

    #[test]
    fn https_needs_certificates_of_authorities() {
        let check = |url, files: &[&str], text: &str| FetchedRoot::Livenet.check_url(url, &tree(files), &line(text));
        assert_eq!(check("http://192.0.2.1/x", &["a"], ""), Ok(()));
        assert_eq!(check("https://192.0.2.1/x", &["a"], ""), Err(NotFetched::NoAuthorities));
        assert_eq!(check("https://192.0.2.1/x", &["a"], "rd.noverifyssl"), Ok(()));
        assert_eq!(check("https://192.0.2.1/x", &["a"], "rd.noverifyssl=0"), Err(NotFetched::NoAuthorities));
        assert_eq!(check("https://192.0.2.1/x", &["etc/pki/tls/certs/ca-bundle.crt"], ""), Ok(()));
    }

    #[test]
    fn only_a_url_is_one() {
        for (argument, expected) in [
            ("root=live:http://x", true),
            ("root=live:https://x", true),
            ("root=live:CDLABEL=http", false),
            ("root=x", false),
        ] {
            assert_eq!(FetchedRoot::Livenet.is_url(argument), expected, "{argument}");
        }
        assert!(FetchedRoot::Livenet.is_url(&FetchedRoot::Livenet.argument("http://192.0.2.1/rootfs.img")));
    }
}
