//! casper, which starts Ubuntu's live media (1.445 and later: Ubuntu 20.04). Sources: `scripts/casper` and `hooks/casper` of the package.
//!
//! It fetches a whole ISO, and takes its root file systems, of which there are several since 22.04, and the installer's packages from that.

use super::{NotFetched, check_parts, has_any, has_program, value};
use crate::delivery::signs::CASPER;
use crate::initramfs::{Survey, Tree};
use crate::kernel_arguments::KernelArguments;

/// The argument with the URL of the ISO. casper knows it by the ending of the URL.
pub(super) const URL: &str = "url=";
pub(super) const ENDING: &str = ".iso";
/// The line of the script that reads the argument (`parse_cmdline`).
const READS_URL: &[u8] = b"url=*.iso)";
/// By this, the initramfs starts a live system, unless the initramfs itself says so.
const LIVE: &str = "boot=casper";
/// What says so (`hooks/casper`, for media).
const LIVE_BY_DEFAULT: [&str; 1] = ["conf/conf.d/default-boot-to-casper.conf"];
/// Other arguments that say where the medium is, or copy it into memory, where it then is already.
const SOURCES: [&str; 5] = [URL, "iso-url=", "netboot=", "nfsroot=", "iso-scan/filename="];
/// The endings of root file systems (`mount_images_in_directory`).
pub(super) const IMAGES: [&str; 2] = [".squashfs", ".ext2"];

/// What the script of casper in an initramfs can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CasperScript {
    fetches: bool,
}

impl CasperScript {
    /// Reads it in an initramfs, whose survey has the contents of [`release_files`](crate::delivery::release_files).
    pub(crate) fn of(survey: &Survey) -> Self {
        let script = survey.files.get(CASPER);
        Self { fetches: script.is_some_and(|script| script.windows(READS_URL.len()).any(|found| found == READS_URL)) }
    }
}

/// Fails if something is missing that fetching needs.
pub(super) fn check(tree: &Tree, script: CasperScript, arguments: &KernelArguments) -> Result<(), NotFetched> {
    if !has_any(tree, &LIVE_BY_DEFAULT) && !arguments.iter().any(|argument| argument == LIVE) {
        return Err(NotFetched::NotLive(LIVE, "the initramfs starts a live system"));
    }
    check_parts([
        (script.fetches, "a casper that fetches an ISO (1.445 and later, Ubuntu 20.04)"),
        (has_program(tree, "wget"), "the program wget, with which casper fetches an ISO"),
        (has_program(tree, "ip"), "the program ip (busybox or iproute2), which configures the network"),
    ])
}

/// Whether this is an argument by which casper finds its medium, or copies it to memory.
pub(super) fn replaces(argument: &str) -> bool {
    SOURCES.iter().any(|key| argument.starts_with(key)) || argument == "toram"
}

/// The directory of the root file systems on the medium.
pub(super) fn directory(arguments: &KernelArguments) -> String {
    format!("/{}", value(arguments, "live-media-path=").unwrap_or("casper").trim_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::super::{FetchedRoot, line, tree};
    use super::*;
    use crate::delivery::{DeliveryProfile, release_files};

    const COMPLETE: [&str; 4] = ["scripts/casper", "conf/conf.d/default-boot-to-casper.conf", "bin/wget", "bin/ip"];
    const FETCHES: CasperScript = CasperScript { fetches: true };

    #[test]
    fn a_system_without_one_of_the_parts_is_told_which() {
        let quiet = line("quiet ---");
        let of =
            |files: &[&str], script| FetchedRoot::of(DeliveryProfile::InitramfsTools, &tree(files), script, &quiet);
        assert_eq!(of(&COMPLETE, FETCHES), Ok(FetchedRoot::Casper));
        for (index, word) in ["live-boot", "have no boot=casper", "wget", "program ip"].iter().enumerate() {
            let mut files = COMPLETE.to_vec();
            files.remove(index);
            let error = of(&files, FETCHES).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let error = of(&COMPLETE, CasperScript::default()).unwrap_err().to_string();
        assert!(error.contains("lacks a casper that fetches an ISO"), "{error}");
        assert_eq!(check(&tree(&[&COMPLETE[..1], &COMPLETE[2..]].concat()), FETCHES, &line("boot=casper")), Ok(()));
    }

    #[test]
    fn what_the_script_reads_is_found_in_it() {
        let script = |text: &str| {
            let mut archive = crate::cpio::Archive::new();
            archive.file("scripts/casper".parse().unwrap(), 0o755, text.to_owned()).unwrap();
            archive.add_parents(0o755).unwrap();
            CasperScript::of(&crate::initramfs::survey(&archive.to_bytes(), &release_files(), 1 << 20).unwrap())
        };
        assert_eq!(script("case $x in\n url=*.iso)\n export NETBOOT=url ;;\n"), FETCHES);
        assert_eq!(script("case $x in\n nfsroot=*)\n"), CasperScript::default());
    }

    #[test]
    fn arguments_about_the_medium_go() {
        for argument in
            ["url=http://x/a.iso", "iso-url=x", "netboot=nfs", "nfsroot=x", "iso-scan/filename=/a.iso", "toram"]
        {
            assert!(replaces(argument), "{argument}");
        }
        for argument in ["boot=casper", "---", "toramx", "live-media-path=x", "layerfs-path=a.squashfs", "curl=x"] {
            assert!(!replaces(argument), "{argument}");
        }
        assert_eq!(directory(&line("quiet")), "/casper");
        assert_eq!(directory(&line("live-media-path=/a/b/")), "/a/b");
    }
}
