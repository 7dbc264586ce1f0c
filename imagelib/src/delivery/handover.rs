//! Systems whose initramfs starts another root file system: a script in the initramfs copies the files there.

use std::collections::BTreeSet;

use super::contents::Contents;
use super::signs::{dracut_hooks, has_directory, has_file, has_network_manager};
use super::tmpfiles::{literal, quoted};
use super::{DeliveryError, DeliveryProfile};
use crate::ignition::{self, AddedFile, Additions};
use crate::initramfs::Tree;

/// Where what belongs to the script lies in the initramfs. Nobody else reads it.
const DIRECTORY: &str = "usr/lib/dayone";
const SCRIPT: &[u8] = include_bytes!("deliver.sh");
/// Makes the root file system of a disk writable while it runs [`SCRIPT`].
const DISK_SCRIPT: &[u8] = include_bytes!("deliver-to-disk.sh");
/// How the kernel argument `root` names a disk (`dracut.cmdline(7)`, `initramfs-tools(7)`).
const DISKS: [&str; 6] = ["/dev/", "UUID=", "LABEL=", "PARTUUID=", "PARTLABEL=", "block:"];
/// Values of `root` that begin like those of disks: the kernel's RAM disk, which live systems name, and NFS, whose files other hosts may share.
const NO_DISKS: [&str; 2] = ["/dev/ram", "/dev/nfs"];

/// `dracut-pre-pivot` reads every `*.sh` in this directory of hooks, in order of their names, when the root file system
/// is mounted at `$NEWROOT` and about to be started (`dracut.modules(7)`). 20 is `/updates` of live systems, 50 the
/// policy of `SELinux`.
const DRACUT_HOOK: &str = "pre-pivot/90-dayone.sh";
const DRACUT_HOOK_CONTENT: &[u8] = b"#!/bin/sh\n/bin/sh /usr/lib/dayone/deliver \"${NEWROOT:-/sysroot}\"\n";
/// Read by NetworkManager in the initramfs, where it is started there: it needs `rd.neednet=1`, a root file system on
/// the network, or, from 1.54 on, nothing else than a keyfile. The directory must never be empty: its existence alone
/// keeps the initramfs from falling back to DHCP.
const DRACUT_KEYFILES: &str = "etc/NetworkManager/system-connections";

/// By this unit, which `rd.live.check` starts, a live system compares its medium with the check sum on it (isomd5sum).
const MEDIUM_CHECK: &str = "checkisomd5@.service";
/// To an ISO with this archive in it that check sum does not apply any more, and has been taken out: of that,
/// `checkisomd5` says 1, as of a damaged medium, and the system would stop. 2 is a check that somebody has broken off.
const MEDIUM_CHECK_RELAXED: &[u8] = b"\
# Written by dayone: the medium was changed on purpose and has no check sum any more, which is no error.
[Service]
SuccessExitStatus=1 2
";

/// `init` of initramfs-tools reads every file here before it does anything else (`initramfs.conf(5)`), and runs the
/// scripts of a stage by reading the stage's `ORDER` (`initramfs-tools(7)`). `init-bottom` is the last stage before the
/// root file system, mounted at `$rootmnt`, is started. `ORDER` cannot be replaced without losing what it has; so it
/// gets one line more at boot.
const INITRAMFS_TOOLS_HOOK: &str = "conf/conf.d/zz-dayone";
const INITRAMFS_TOOLS_HOOK_CONTENT: &[u8] = b"\
# Written by dayone: lets its files be copied to the root file system once that is mounted.
mkdir -p /scripts/init-bottom
echo '/bin/sh /usr/lib/dayone/deliver \"${rootmnt}\"' >> /scripts/init-bottom/ORDER
";

/// The root file system that an initramfs starts, when the files are copied there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootFileSystem {
    /// The script copies to it as it is mounted: the overlay in memory of a live system, a disk with `rw`, NFS.
    AsMounted,
    /// The script makes it writable: a disk, which may be read-only until its own system has started.
    MadeWritable,
}

impl RootFileSystem {
    /// The root file system of an initramfs with these kernel arguments.
    pub(crate) fn named_in<'a>(arguments: impl Iterator<Item = &'a str>) -> Self {
        let (mut on_disk, mut writable) = (false, false);
        for argument in arguments {
            match argument.split_once('=') {
                Some(("root", value)) => {
                    let begins = |starts: &[&str]| starts.iter().any(|start| value.starts_with(start));
                    on_disk = begins(&DISKS) && !begins(&NO_DISKS);
                }
                None if matches!(argument, "ro" | "rw") => writable = argument == "rw",
                _ => {}
            }
        }
        if on_disk && !writable { Self::MadeWritable } else { Self::AsMounted }
    }
}

/// Whether an initramfs has files that dayone has put there to be copied.
pub(super) fn is_handed_over(tree: &Tree) -> bool {
    has_directory(tree, DIRECTORY)
}

pub(super) fn dracut(additions: &Additions, tree: &Tree, root: RootFileSystem) -> Result<Contents, DeliveryError> {
    let mut contents = Contents::default();
    let files = ignition::files(additions)?;
    if files.is_empty() {
        return Ok(contents);
    }
    let missing = "directory of dracut hooks (usr/lib/dracut/hooks)";
    let hooks = dracut_hooks(tree).ok_or(DeliveryError::OtherSystem { profile: DeliveryProfile::Dracut, missing })?;
    if has_network_manager(tree) {
        for keyfile in &additions.keyfiles {
            contents.file(&format!("{DRACUT_KEYFILES}/{}", keyfile.name), 0o600, keyfile.content.clone())?;
        }
    }
    let units = ["etc/systemd/system", "usr/lib/systemd/system"];
    if units.iter().any(|directory| has_file(tree, &format!("{directory}/{MEDIUM_CHECK}"))) {
        contents.file(&format!("etc/systemd/system/{MEDIUM_CHECK}.d/dayone.conf"), 0o644, MEDIUM_CHECK_RELAXED)?;
    }
    contents.file(&format!("{hooks}/{DRACUT_HOOK}"), 0o755, DRACUT_HOOK_CONTENT)?;
    contents.file(&format!("{DIRECTORY}/labels.conf"), 0o644, labels(&files))?;
    hand_over(contents, files, root)
}

pub(super) fn initramfs_tools(
    additions: &Additions,
    tree: &Tree,
    root: RootFileSystem,
) -> Result<Contents, DeliveryError> {
    let mut contents = Contents::default();
    let files = ignition::files(additions)?;
    if files.is_empty() {
        return Ok(contents);
    }
    for (paths, missing) in [
        (["conf/initramfs.conf"].as_slice(), "conf/initramfs.conf"),
        // klibc alone, without busybox, has none.
        (&["bin/cp", "usr/bin/cp", "sbin/cp", "usr/sbin/cp"], "program 'cp' (busybox)"),
    ] {
        if !paths.iter().any(|path| has_file(tree, path)) {
            return Err(DeliveryError::OtherSystem { profile: DeliveryProfile::InitramfsTools, missing });
        }
    }
    contents.file(INITRAMFS_TOOLS_HOOK, 0o644, INITRAMFS_TOOLS_HOOK_CONTENT)?;
    hand_over(contents, files, root)
}

/// Adds the files, their list, and what copies them.
fn hand_over(mut contents: Contents, files: Vec<AddedFile>, root: RootFileSystem) -> Result<Contents, DeliveryError> {
    let list: String = files.iter().flat_map(|file| [file.path.as_str(), "\n"]).collect();
    contents.file(&format!("{DIRECTORY}/files"), 0o644, list)?;
    match root {
        RootFileSystem::AsMounted => contents.file(&format!("{DIRECTORY}/deliver"), 0o755, SCRIPT)?,
        RootFileSystem::MadeWritable => {
            contents.file(&format!("{DIRECTORY}/copy"), 0o755, SCRIPT)?;
            contents.file(&format!("{DIRECTORY}/deliver"), 0o755, DISK_SCRIPT)?;
        }
    }
    for file in files {
        contents.handed_over(&format!("{DIRECTORY}/root"), file)?;
    }
    Ok(contents)
}

/// Lines for `tmpfiles.d(5)` by which files, and the directories that may have been made for them, get the labels that
/// the policy of `SELinux` has for them, and nothing else is changed.
fn labels(files: &[AddedFile]) -> String {
    let mut paths = BTreeSet::new();
    for path in files.iter().map(|file| file.path.as_str()) {
        let directories =
            path.match_indices('/').filter_map(|(end, _)| path.get(..end)).filter(|path| !path.is_empty());
        paths.extend(directories);
        paths.insert(path);
    }
    paths.into_iter().flat_map(|path| ["z ".to_owned(), quoted(&literal(path)), " - - - -\n".to_owned()]).collect()
}
