//! Debian's live-boot (bullseye: 1:20210208, bookworm: 1:20230131, trixie: 1:20250815).

use super::{NotFetched, check_parts, has_any, value};
use crate::initramfs::Tree;
use crate::kernel_arguments::KernelArguments;
use crate::url_server::UrlServer;

/// What starts a live system: `boot=` in the kernel arguments chooses one of these scripts.
const SCRIPT: [&str; 1] = ["scripts/live"];
const CASPER: [&str; 1] = ["scripts/casper"];
/// The components of live-boot that fetch a root file system, whose functions call each other.
const COMPONENTS: [&str; 2] = ["lib/live/boot/9990-netboot.sh", "lib/live/boot/9990-mount-http.sh"];
/// The argument with the URL of the root file system.
pub(super) const FETCH: &str = "fetch=";
/// By it, the initramfs starts a live system.
const LIVE: &str = "boot=live";
/// Other arguments that say where the root file system comes from.
const SOURCES: [&str; 4] = [FETCH, "httpfs=", "ftpfs=", "netboot="];
/// live-boot sees what it has fetched from the URL, which it cuts behind the last dot (`9990-mount-http.sh`).
const ENDING: &str = ".squashfs";
/// The endings of the files that make up a root file system, and of those with which it is verified (`9990-overlay.sh`).
pub(super) const IMAGES: [&str; 8] =
    [ENDING, ".ext2", ".ext3", ".ext4", ".xfs", ".jffs2", ".squashfs.verity", ".squashfs.roothash"];

/// Fails if something is missing that fetching needs.
pub(super) fn check(tree: &Tree, arguments: &KernelArguments) -> Result<(), NotFetched> {
    if !has_any(tree, &SCRIPT) {
        let is_casper = has_any(tree, &CASPER);
        return Err(if is_casper {
            NotFetched::Casper
        } else {
            NotFetched::Missing("live-boot, which fetches root file systems")
        });
    }
    if !arguments.iter().any(|argument| argument == LIVE) {
        return Err(NotFetched::NotLive(LIVE, "the initramfs starts a live system"));
    }
    let has_program = |name: &str| {
        let paths = ["bin", "sbin", "usr/bin", "usr/sbin"].map(|directory| format!("{directory}/{name}"));
        has_any(tree, &paths.each_ref().map(String::as_str))
    };
    let has_components = COMPONENTS.iter().all(|path| has_any(tree, &[*path]));
    check_parts([
        (has_components, "the components of live-boot that fetch a root file system"),
        (has_program("wget"), "the program wget (busybox), with which live-boot fetches files"),
        (has_program("ip"), "the program ip (busybox or iproute2), which configures the network"),
    ])
}

/// Whether this is an argument by which live-boot finds its root file system, copies it to memory, where it then is already, or verifies
/// what is not on the medium any more.
pub(super) fn replaces(argument: &str) -> bool {
    SOURCES.iter().any(|key| argument.starts_with(key))
        || argument == "toram"
        || argument.starts_with("toram=")
        || argument.starts_with("live-boot.verify-checksums")
}

/// Fails if live-boot certainly does not fetch this URL.
pub(super) fn check_url(url: &str) -> Result<(), NotFetched> {
    if url.starts_with("https://") {
        return Err(NotFetched::NoVerification);
    }
    if !url.ends_with(ENDING) {
        return Err(NotFetched::UrlEnding(ENDING));
    }
    match UrlServer::of_url(url) {
        UrlServer::Ipv4(_) => Ok(()),
        UrlServer::Other(name) => Err(NotFetched::NoIpv4Server(name)),
    }
}

/// The directory of the root file system on the medium.
pub(super) fn directory(arguments: &KernelArguments) -> String {
    format!("/{}", value(arguments, "live-media-path=").unwrap_or("live").trim_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::super::{FetchedRoot, line, tree};
    use super::*;
    use crate::delivery::DeliveryProfile;

    const COMPLETE: [&str; 5] = [
        "scripts/live",
        "lib/live/boot/9990-netboot.sh",
        "lib/live/boot/9990-mount-http.sh",
        "usr/bin/wget",
        "sbin/ip",
    ];

    #[test]
    fn a_system_without_one_of_the_parts_is_told_which() {
        let live = line("boot=live components");
        let way = FetchedRoot::of(DeliveryProfile::InitramfsTools, &tree(&COMPLETE), &live);
        assert_eq!(way, Ok(FetchedRoot::LiveBoot));
        for (index, word) in ["live-boot", "components", "components", "wget", "program ip"].iter().enumerate() {
            let mut files = COMPLETE.to_vec();
            files.remove(index);
            let error = check(&tree(&files), &live).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
        let error = check(&tree(&COMPLETE), &line("boot=casper")).unwrap_err().to_string();
        assert!(error.contains("have no boot=live, by which"), "{error}");
        assert_eq!(check(&tree(&["scripts/casper"]), &line("boot=casper")), Err(NotFetched::Casper));
    }

    #[test]
    fn the_url_must_be_one_that_busybox_fetches() {
        assert_eq!(check_url("http://192.0.2.1:8081/i/token/rootfs.squashfs"), Ok(()));
        assert_eq!(check_url("https://192.0.2.1/rootfs.squashfs"), Err(NotFetched::NoVerification));
        for url in ["http://192.0.2.1/rootfs.img", "http://192.0.2.1/rootfs.squashfs?x=1"] {
            assert_eq!(check_url(url), Err(NotFetched::UrlEnding(".squashfs")), "{url}");
        }
        for (url, server) in [
            ("http://mirror.example/r.squashfs", "mirror.example"),
            ("http://[2001:db8::1]:8081/r.squashfs", "[2001:db8::1]"),
        ] {
            assert_eq!(check_url(url), Err(NotFetched::NoIpv4Server(server.to_owned())), "{url}");
        }
    }

    #[test]
    fn arguments_about_the_medium_go() {
        for argument in [
            "fetch=tftp://x",
            "httpfs=http://x",
            "netboot=nfs",
            "toram",
            "toram=a.squashfs",
            "live-boot.verify-checksums=md5",
        ] {
            assert!(replaces(argument), "{argument}");
        }
        for argument in ["boot=live", "components", "toramx", "findiso=", "live-media-path=x"] {
            assert!(!replaces(argument), "{argument}");
        }
        assert_eq!(directory(&line("boot=live")), "/live");
        assert_eq!(directory(&line("boot=live live-media-path=/a/live/")), "/a/live");
    }
}
