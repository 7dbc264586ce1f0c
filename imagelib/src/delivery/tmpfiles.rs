//! Systems to whose initramfs nothing can be added, but whose systemd reads a credential: `systemd-tmpfiles` writes the files
//! that it lists (`tmpfiles.d(5)`, the credential `tmpfiles.extra`). It does so in the initramfs, and again in the root file system before
//! NetworkManager starts there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::signs::{dracut_hooks, has_file};
use super::{DeliveredBy, DeliveryError, DeliveryProfile, EmbeddedFile, installer, needs_no_ignition};
use crate::ignition::{self, AddedFile, Additions, UserConfig};
use crate::initramfs::Survey;

/// The unit that starts `systemd-tmpfiles`, where distributions install it.
pub(super) const TMPFILES_UNITS: [&str; 2] =
    ["usr/lib/systemd/system/systemd-tmpfiles-setup.service", "lib/systemd/system/systemd-tmpfiles-setup.service"];
/// In its unit, since systemd 254. The line of older releases, `LoadCredential=`, finds no encrypted credentials, and the stub hands over no
/// others.
const READS_CREDENTIAL: [&[u8]; 2] = [b"ImportCredential=tmpfiles.*", b"ImportCredential=tmpfiles.extra"];
/// Without this file, systemd does not look for what the stub has handed over (`import_credentials_boot` in its source).
const INITRD_RELEASE: &str = "etc/initrd-release";
/// What the names of NetworkManager's secret settings contain. Others contain it, too. The names in this section are free.
const SECRET: [&str; 7] = ["pass", "psk", "key", "secret", "cak", "pin", "cookie"];
const SECRETS: &str = "[vpn-secrets]";
/// What systemd reads when it starts, before it writes the files, and what the unit does not write.
const TOO_LATE: [&str; 4] = ["/etc/systemd/", "/etc/fstab", "/etc/crypttab", "/dev/"];

/// Whether systemd writes the files of a credential when an initramfs starts. Only initramfs images of dracut are known to.
pub(crate) fn reads_credentials(survey: &Survey) -> bool {
    let reads = |path: &&str| {
        let unit = survey.files.get(*path).map(Vec::as_slice).unwrap_or_default();
        unit.split(|byte| *byte == b'\n').any(|line| READS_CREDENTIAL.contains(&line))
    };
    dracut_hooks(&survey.tree).is_some() && has_file(&survey.tree, INITRD_RELEASE) && TMPFILES_UNITS.iter().any(reads)
}

/// The content of a credential.
pub(crate) struct TmpfilesLines {
    /// The lines. None if there is nothing to write.
    pub(crate) text: String,
    /// The files that they write.
    pub(crate) embedded: Vec<EmbeddedFile>,
    /// Whether there may be secrets in it, which users of the host must not read.
    pub(crate) may_be_secret: bool,
}

debug_only!(TmpfilesLines { embedded, may_be_secret });

impl TmpfilesLines {
    /// The lines that write these additions.
    pub(crate) fn of(additions: &Additions, ignition: Option<&UserConfig>) -> Result<Self, DeliveryError> {
        needs_no_ignition(additions, ignition)?;
        if installer(additions).is_some() {
            return Err(DeliveryError::AnswersInCredential);
        }
        let files = ignition::files(additions)?;
        if let Some(file) = files.iter().find(|file| TOO_LATE.iter().any(|path| file.path.as_str().starts_with(path))) {
            return Err(DeliveryError::TooLateInCredential(file.path.to_string()));
        }
        let shown = |file: &AddedFile| {
            EmbeddedFile::new(file.path.as_str(), DeliveredBy::Credential, file.mode, &file.contents)
        };
        Ok(Self {
            text: files.iter().map(lines).collect(),
            embedded: files.iter().map(shown).collect(),
            may_be_secret: !additions.files.is_empty()
                || additions.keyfiles.iter().any(|keyfile| may_have_secret(&keyfile.content)),
        })
    }
}

/// The lines that write a file in place of another one or of a link. The directories above it are made if they are missing.
fn lines(file: &AddedFile) -> String {
    let AddedFile { path, mode, owner, contents } = file;
    let (kind, content) = if contents.is_empty() { ("f+", String::new()) } else { ("f+~", STANDARD.encode(contents)) };
    // It writes through no link, and removes before it writes. What it removes may be a pattern.
    let (pattern, path) = (quoted(&literal(path.as_str())), quoted(path.as_str()));
    format!("r {pattern}\n{kind} {path} {mode:04o} {} {} - {content}\n", owner.user, owner.group)
}

/// A pattern that matches nothing but this path (`glob(7)`). `systemd-tmpfiles` expands braces in it, too (`GLOB_BRACE`).
pub(super) fn literal(path: &str) -> String {
    path.chars().fold(String::new(), |pattern, c| match c {
        '*' | '?' | '[' | '{' | '\\' => pattern + "\\" + c.encode_utf8(&mut [0; 4]),
        c => pattern + c.encode_utf8(&mut [0; 4]),
    })
}

/// A path as one word of a line.
pub(super) fn quoted(path: &str) -> String {
    if path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@:,=".contains(&byte)) {
        return path.to_owned();
    }
    let escaped = path.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{escaped}\"")
}

/// The kernel argument that makes an initramfs of dracut need the network, if there is one (`dracut.cmdline(7)`). Nothing orders its
/// NetworkManager after `systemd-tmpfiles`.
pub(crate) fn needs_network(arguments: &[String]) -> Option<&str> {
    const REMOTE: [&str; 6] = ["nfs:", "nfs4:", "iscsi:", "nbd:", "fcoe:", "ssh:"];
    const KEYS: [&str; 6] = ["ip", "netroot", "nfsroot", "fcoe", "nbdroot", "iscsiroot"];
    const BEGINNINGS: [&str; 3] = ["rd.iscsi.", "rd.nvmf.", "rd.fcoe"];
    // As in 192.0.2.1:/exports/root, and unlike live:/dev/sr0.
    let is_nfs = |value: &str| value.split_once(":/").is_some_and(|(host, _)| host.contains('.') || host.contains(']'));
    let is_remote = |value: &str| {
        value.contains("://")
            || value == "/dev/nfs"
            || is_nfs(value)
            || REMOTE.iter().any(|scheme| value.starts_with(scheme))
    };
    let needs = |argument: &&String| {
        let (key, value) = argument.split_once('=').unwrap_or((argument, ""));
        match key {
            "rd.neednet" => !is_false(value),
            "root" => is_remote(value),
            _ if KEYS.contains(&key) => true,
            _ if BEGINNINGS.iter().any(|beginning| key.starts_with(beginning)) => !is_false(value),
            _ => key.starts_with("inst.") && is_remote(value),
        }
    };
    arguments.iter().find(needs).map(String::as_str)
}

/// The kernel argument that makes a system of dracut verify its medium, if there is one.
pub(crate) fn verifies_medium(arguments: &[String]) -> Option<&str> {
    let checks = DeliveryProfile::Dracut.medium_checks();
    let verifies = |argument: &&String| {
        let (key, value) = argument.split_once('=').unwrap_or((argument, ""));
        checks.contains(&key) && !is_false(value)
    };
    arguments.iter().find(verifies).map(String::as_str)
}

/// What dracut takes for no (`getargbool` in `dracut-lib.sh`).
fn is_false(value: &str) -> bool {
    matches!(value, "0" | "no" | "off")
}

fn may_have_secret(keyfile: &str) -> bool {
    keyfile.lines().any(|line| {
        let key = line.split('=').next().unwrap_or_default();
        line.trim() == SECRETS || !line.starts_with('[') && SECRET.iter().any(|part| key.contains(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word() {
        for (path, word) in [
            ("/etc/motd", "/etc/motd"),
            ("/etc/a b", "\"/etc/a b\""),
            ("/etc/100%", "\"/etc/100%%\""),
            ("/etc/\"\\", "\"/etc/\\\"\\\\\""),
            ("/etc/ä", "\"/etc/ä\""),
        ] {
            assert_eq!(quoted(path), word);
        }
    }

    #[test]
    fn a_pattern_matches_one_path() {
        for (path, pattern) in
            [("/etc/motd", "/etc/motd"), (r"/etc/a*b?[c]\d", r"/etc/a\*b\?\[c]\\d"), ("/etc/{a,b}", r"/etc/\{a,b}")]
        {
            assert_eq!(literal(path), pattern);
        }
    }

    #[test]
    fn arguments_that_need_the_network_are_known() {
        for (arguments, expected) in [
            ("root=live:CDLABEL=X rd.live.image quiet", None),
            ("rd.neednet=0 root=UUID=1", None),
            ("rd.neednet=no rd.iscsi.firmware=0 root=live:/dev/sr0", None),
            ("rd.iscsi.firmware=1", Some("rd.iscsi.firmware=1")),
            ("root=/dev/nfs", Some("root=/dev/nfs")),
            ("root=192.0.2.1:/exports/root", Some("root=192.0.2.1:/exports/root")),
            ("quiet rd.neednet=1", Some("rd.neednet=1")),
            ("rd.neednet", Some("rd.neednet")),
            ("ip=dhcp", Some("ip=dhcp")),
            ("root=live:http://192.0.2.1/x.img", Some("root=live:http://192.0.2.1/x.img")),
            ("root=nfs:192.0.2.1:/x", Some("root=nfs:192.0.2.1:/x")),
            ("inst.stage2=https://192.0.2.1/x", Some("inst.stage2=https://192.0.2.1/x")),
        ] {
            let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
            assert_eq!(needs_network(&words), expected);
        }
    }

    #[test]
    fn settings_that_may_be_secret_are_known() {
        for (keyfile, expected) in [
            ("[802-1x]\npassword=x\n", true),
            ("[wireguard]\nprivate-key=x\n", true),
            ("[wifi-security]\npsk=x\n", true),
            ("[macsec]\nmka-cak=x\n", true),
            ("[vpn-secrets]\nx=y\n", true),
            ("[wireguard-peer.key=]\nendpoint=192.0.2.1:51820\n", false),
            ("[ethernet]\nmtu=9000\n[ipv4]\nmethod=manual\n", false),
        ] {
            assert_eq!(may_have_secret(keyfile), expected, "{keyfile}");
        }
    }
}
