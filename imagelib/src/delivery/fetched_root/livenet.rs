//! dracut's module `livenet`.

use super::{NotFetched, check_parts, has_any, value};
use crate::delivery::signs::{dracut_hooks, has_network_manager};
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
pub(super) const LIVE_ROOT: &str = "root=live:";

/// Fails if something is missing that fetching needs.
pub(super) fn check(tree: &Tree, arguments: &KernelArguments) -> Result<(), NotFetched> {
    if !arguments.iter().any(|argument| argument.starts_with(LIVE_ROOT)) {
        return Err(NotFetched::NotLive("root=live:…", "dracut finds the medium of a live system"));
    }
    check_tree(tree)
}

/// Fails if the initramfs lacks something that fetching needs.
pub(super) fn check_tree(tree: &Tree) -> Result<(), NotFetched> {
    check_parts([
        (dracut_hooks(tree).is_some(), "the directory of dracut's hooks"),
        (has_any(tree, &LIVENET), "dracut's module livenet, which fetches root file systems"),
        (has_any(tree, &CURL), "the program curl, with which livenet fetches files"),
        (has_network_manager(tree), "NetworkManager, which reads the network configuration"),
        (has_any(tree, &NETWORK_MANAGER_MODULE), "dracut's module network-manager, which starts NetworkManager"),
    ])
}

/// Fails if the system certainly does not accept the certificate of any server.
pub(super) fn check_url(url: &str, tree: &Tree, arguments: &KernelArguments) -> Result<(), NotFetched> {
    let verifies = !arguments.iter().any(|argument| {
        argument == NO_VERIFICATION || argument.strip_prefix(NO_VERIFICATION).is_some_and(|value| value == "=1")
    });
    let trusts = has_any(tree, &AUTHORITIES);
    if url.starts_with("https://") && verifies && !trusts { Err(NotFetched::NoAuthorities) } else { Ok(()) }
}

/// The paths at which the root file system may be, the first first.
pub(super) fn paths(arguments: &KernelArguments) -> Vec<String> {
    let directory = value(arguments, "rd.live.dir=").unwrap_or("LiveOS").trim_matches('/');
    let image = value(arguments, "rd.live.squashimg=").unwrap_or("squashfs.img");
    [image, "rootfs.img"].into_iter().map(|name| format!("/{directory}/{name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{line, tree};
    use super::*;

    const COMPLETE: [&str; 5] = [
        "usr/lib/dracut/hooks/pre-pivot/x.sh",
        "usr/sbin/livenetroot",
        "usr/bin/curl",
        "usr/sbin/NetworkManager",
        "usr/lib/nm-lib.sh",
    ];

    #[test]
    fn a_system_without_one_of_the_parts_is_told_which() {
        let live = line("root=live:CDLABEL=Live rd.live.image");
        assert_eq!(check(&tree(&COMPLETE), &live), Ok(()));
        for (index, word) in
            ["hooks", "module livenet", "curl", "NetworkManager", "module network-manager"].iter().enumerate()
        {
            let mut files = COMPLETE.to_vec();
            files.remove(index);
            let error = check(&tree(&files), &live).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
        let error = check(&tree(&COMPLETE), &line("root=/dev/sda1")).unwrap_err().to_string();
        assert!(error.contains("have no root=live:…, by which dracut finds"), "{error}");
    }

    #[test]
    fn the_root_file_system_is_where_the_arguments_say() {
        assert_eq!(paths(&line("root=live:CDLABEL=x")), ["/LiveOS/squashfs.img", "/LiveOS/rootfs.img"]);
        assert_eq!(paths(&line("rd.live.dir=/live/ rd.live.squashimg=a.img"))[0], "/live/a.img");
    }

    #[test]
    fn https_needs_certificates_of_authorities() {
        let check = |url, files: &[&str], text: &str| check_url(url, &tree(files), &line(text));
        assert_eq!(check("http://192.0.2.1/x", &["a"], ""), Ok(()));
        assert_eq!(check("https://192.0.2.1/x", &["a"], ""), Err(NotFetched::NoAuthorities));
        assert_eq!(check("https://192.0.2.1/x", &["a"], "rd.noverifyssl"), Ok(()));
        assert_eq!(check("https://192.0.2.1/x", &["a"], "rd.noverifyssl=0"), Err(NotFetched::NoAuthorities));
        assert_eq!(check("https://192.0.2.1/x", &["etc/pki/tls/certs/ca-bundle.crt"], ""), Ok(()));
    }
}
