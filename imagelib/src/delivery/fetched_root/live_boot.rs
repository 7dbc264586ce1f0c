//! Debian's live-boot (bullseye: 1:20210208, bookworm: 1:20230131, trixie: 1:20250815).

use super::{NotFetched, check_parts, has_any, has_program, value};
use crate::initramfs::Tree;
use crate::kernel_arguments::KernelArguments;

/// What starts a live system: `boot=` in the kernel arguments chooses it.
const SCRIPT: [&str; 1] = ["scripts/live"];
/// The components of live-boot that fetch a root file system, whose functions call each other.
const COMPONENTS: [&str; 2] = ["lib/live/boot/9990-netboot.sh", "lib/live/boot/9990-mount-http.sh"];
/// The argument with the URL of the root file system.
pub(super) const FETCH: &str = "fetch=";
/// By it, the initramfs starts a live system.
const LIVE: &str = "boot=live";
/// Other arguments that say where the root file system comes from.
const SOURCES: [&str; 4] = [FETCH, "httpfs=", "ftpfs=", "netboot="];
/// live-boot sees what it has fetched from the URL, which it cuts behind the last dot (`9990-mount-http.sh`).
pub(super) const ENDING: &str = ".squashfs";
/// The endings of the files that make up a root file system, and of those with which it is verified (`9990-overlay.sh`).
pub(super) const IMAGES: [&str; 8] =
    [ENDING, ".ext2", ".ext3", ".ext4", ".xfs", ".jffs2", ".squashfs.verity", ".squashfs.roothash"];

/// Fails if something is missing that fetching needs.
pub(super) fn check(tree: &Tree, arguments: &KernelArguments) -> Result<(), NotFetched> {
    if !has_any(tree, &SCRIPT) {
        return Err(NotFetched::Missing("live-boot, which fetches root file systems"));
    }
    if !arguments.iter().any(|argument| argument == LIVE) {
        return Err(NotFetched::NotLive(LIVE, "the initramfs starts a live system"));
    }
    let has_components = COMPONENTS.iter().all(|path| has_any(tree, &[*path]));
    check_parts([
        (has_components, "the components of live-boot that fetch a root file system"),
        (has_program(tree, "wget"), "the program wget (busybox), with which live-boot fetches files"),
        (has_program(tree, "ip"), "the program ip (busybox or iproute2), which configures the network"),
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

/// The directory of the root file system on the medium.
pub(super) fn directory(arguments: &KernelArguments) -> String {
    format!("/{}", value(arguments, "live-media-path=").unwrap_or("live").trim_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::super::{CasperScript, FetchedRoot, line, tree};
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
        let way = FetchedRoot::of(DeliveryProfile::InitramfsTools, &tree(&COMPLETE), CasperScript::default(), &live);
        assert_eq!(way, Ok(FetchedRoot::LiveBoot));
        for (index, word) in ["live-boot", "components", "components", "wget", "program ip"].iter().enumerate() {
            let mut files = COMPLETE.to_vec();
            files.remove(index);
            let error = check(&tree(&files), &live).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
        let error = check(&tree(&COMPLETE), &line("boot=casper")).unwrap_err().to_string();
        assert!(error.contains("have no boot=live, by which"), "{error}");
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
