//! Profiles for Agama, on an ISO with a menu of kiwi, which makes Agama's media. No installer starts: no package of Debian, PyPI or
//! crates.io has one. The initramfs here has the files by which dayone recognises it, in the places of openSUSE Leap 16, and go-jsonnet,
//! by which Agama evaluates its profile, reads the result.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::answers::{self, errors, has_the_network, names, unpacked};
use acceptance::bases::{extracted, fixtures, ramdisk_iso};
use acceptance::peers::{cache, run};
use acceptance::server::dayone;
use serde_json::Value;
use tempfile::TempDir;
use vocabulary::answers::{AGAMA_ARGUMENT, AGAMA_FILE};

const DOCUMENT: &str = "
hostname: {config: worker-0.example.com}
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
- {name: eno2, type: ethernet, state: up}
- {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, options: {miimon: 100}, port: [eno2]}}
- {name: bond0.7, type: vlan, state: up, vlan: {base-iface: bond0, id: 7}, ipv4: {enabled: true, dhcp: true}}
routes: {config: [{destination: 198.51.100.0/24, next-hop-address: 192.0.2.254, next-hop-interface: eno1}]}
";
const INITRD: &str = "/boot/x86_64/loader/initrd";

/// Makes an ISO with a menu of kiwi, and with what tells the initramfs of Agama's live system from others.
fn agama_iso(directory: &Path) -> PathBuf {
    let (tree, root, iso) = (directory.join("tree"), directory.join("initramfs"), directory.join("leap.iso"));
    let script = "
        hooks=var/lib/dracut/hooks
        mkdir -p $1/$hooks/cmdline $1/$hooks/pre-pivot $1/usr/lib/dracut $1/usr/sbin $1/etc/NetworkManager $1/etc/cmdline.d
        ln -s usr/lib $1/lib
        ln -s usr/sbin $1/sbin
        ln -s ../../../$hooks $1/usr/lib/dracut/hooks
        echo root=live:LABEL=Install-Leap-16.0-x86_64 > $1/etc/cmdline.d/10-liveroot.conf
        printf 'ID=\"opensuse-leap\"\\nPRETTY_NAME=\"openSUSE Leap 16.0 dracut-059\"\\n' > $1/usr/lib/initrd-release
        for file in init $hooks/cmdline/99-agama-cmdline-conf.sh usr/sbin/NetworkManager usr/sbin/dmsquash-live-root; do
            echo '#!/bin/sh' > $1/$file; chmod 755 $1/$file; done
        cp -r $0 $2
        mkdir -p $2/boot/x86_64/loader $2/LiveOS
        echo id > $2/boot/mbrid
        echo system > $2/LiveOS/squashfs.img
        echo kernel > $2/boot/x86_64/loader/linux
        (cd $1 && find . | cpio --quiet -o -H newc | xz --check=crc32 -0) > $2/boot/x86_64/loader/initrd
        xorriso -as mkisofs -quiet -r -J -V Install-Leap-16.0-x86_64 -o $3 $2";
    let media = fixtures("boot-config/media/kiwi");
    run(Command::new("sh").args(["-ec", script]).args([&media, &root, &tree, &iso]));
    iso
}

/// Orders an image with a profile.
fn order(directory: &Path, base: &Path, profile: &str, extra: &[&str]) -> Output {
    answers::order(directory, base, (DOCUMENT, "agama", profile), extra)
}

/// What Agama finds in a profile.
fn evaluated(profile: &Path) -> Value {
    let python = cache().join("gojsonnet-0.22.0/bin/python");
    let script = "import _gojsonnet, sys; sys.stdout.write(_gojsonnet.evaluate_file(sys.argv[1]))";
    serde_json::from_slice(&run(Command::new(python).args(["-c", script]).arg(profile))).unwrap()
}

#[test]
fn agama_gets_the_completed_profile_and_the_argument_that_names_it() {
    let directory = TempDir::new().unwrap();
    let iso = agama_iso(directory.path());
    let given = fs::read_to_string(fixtures("answers/agama.json")).unwrap();
    let built = order(directory.path(), &iso, &given, &[]);
    assert!(built.status.success(), "{}", errors(&built));
    // Nothing is assumed of the system that follows, as of other systems of dracut.
    assert!(!errors(&built).contains("network-manager-assumed"), "{}", errors(&built));
    let image = directory.path().join("out.iso");
    let tree = unpacked(&image, &iso, INITRD, directory.path());
    // The script of the initramfs copies it to the live system, with the host's profiles.
    let waiting = tree.join("usr/lib/dayone");
    let listed = fs::read_to_string(waiting.join("files")).unwrap();
    let profiles = "/etc/NetworkManager/system-connections";
    for path in [AGAMA_FILE, &format!("{profiles}/bond0.7.nmconnection")] {
        assert!(listed.lines().any(|line| line == path), "{path}: {listed}");
    }
    let profile = waiting.join(format!("root{AGAMA_FILE}"));
    assert_eq!(fs::metadata(&profile).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(tree.join("etc/NetworkManager/system-connections/bond0.7.nmconnection").exists());

    // Every entry names the file.
    assert_eq!(AGAMA_ARGUMENT, format!("inst.auto=file://{AGAMA_FILE}"));
    let menu = fs::read_to_string(extracted(&image, "/boot/grub2/grub.cfg", directory.path())).unwrap();
    let (entries, named) = (menu.matches("menuentry \"").count(), menu.matches(AGAMA_ARGUMENT).count());
    assert!(entries == 2 && named == 2, "{menu}");

    // Agama finds in it what it finds in the user's profile, and two more scripts after the user's own.
    let before = evaluated(&fixtures("answers/agama.json"));
    let mut after = evaluated(&profile);
    let scripts = after["scripts"]["post"].as_array_mut().unwrap();
    let ours = scripts.split_off(scripts.len() - 2);
    assert_eq!(before, after);
    let chroot: Vec<_> = ours.iter().map(|script| script["chroot"].as_bool().unwrap()).collect();
    assert_eq!(chroot, [false, true]);
    let members = ["name", "chroot", "content"];
    assert!(ours.iter().all(|script| script.as_object().unwrap().keys().all(|key| members.contains(&key.as_str()))));
}

/// The scripts that dayone adds run as Agama runs them, with busybox in place of the programs: the first in the live system, and the
/// second in the installed one, which is mounted there.
#[test]
fn the_scripts_write_the_profiles_of_the_document_into_the_installed_system() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    let iso = agama_iso(directory.path());
    let built = order(directory.path(), &iso, "", &["--karg-append", "inst.install=0"]);
    assert!(built.status.success(), "{}", errors(&built));
    let tree = unpacked(&path("out.iso"), &iso, INITRD, directory.path());
    let profile = evaluated(&tree.join(format!("usr/lib/dayone/root{AGAMA_FILE}")));
    let [first, second] = profile["scripts"]["post"].as_array().unwrap().as_slice() else { panic!("{profile}") };
    for (script, name) in [(first, "first"), (second, "second")] {
        fs::write(path(name), script["content"].as_str().unwrap()).unwrap();
    }
    let command = "
        for root in live live/mnt; do
            mkdir -p $root/bin $root/usr/sbin $root/tmp $root/etc/NetworkManager/system-connections
            cp $(command -v busybox) $root/bin/
        done
        target=live/mnt
        mkdir -p live/run/NetworkManager/system-connections
        for program in sh rm; do ln -s busybox live/bin/$program; done
        for program in sh rm mkdir chmod base64; do ln -s busybox $target/bin/$program; done
        # The installer's profiles, which it has copied, one of them with a space in its name, and the user's own.
        for name in eno1.nmconnection 'Wired connection 1.nmconnection'; do
            echo live | tee \"live/etc/NetworkManager/system-connections/$name\" > \"$target/etc/NetworkManager/system-connections/$name\"
        done
        echo live | tee live/run/NetworkManager/system-connections/eno9.nmconnection > $target/etc/NetworkManager/system-connections/eno9.nmconnection
        echo user > $target/etc/NetworkManager/system-connections/user.nmconnection
        printf '#!/bin/sh\\necho \"$1\" >> /tmp/labelled\\nexit 1\\n' > $target/usr/sbin/restorecon
        chmod 755 $target/usr/sbin/restorecon
        cp first live/tmp/
        cp second $target/tmp/
        chmod 755 live/tmp/first $target/tmp/second
        chroot live /tmp/first
        chroot $target /tmp/second
        dayone=$0
        \"$dayone\" convert host.yaml -o expected > /dev/null";
    run(Command::new("sh").args(["-ec", command]).arg(dayone().get_program()).current_dir(directory.path()));
    has_the_network(&path("live/mnt"), &path("expected"));
    // The live system keeps its own.
    assert_eq!(names(&path("live/etc/NetworkManager/system-connections")).len(), 2);
}

#[test]
fn what_agama_would_not_read_is_refused() {
    let directory = TempDir::new().unwrap();
    let iso = agama_iso(directory.path());
    let other = ramdisk_iso(&[]);
    for (base, profile, extra, expected) in [
        (&other, "{}", &[][..], "this initramfs is not that of Agama"),
        (&iso, "{product: 'hunter2'}", &[], "is not JSON: key must be a string at line 1 column 2"),
        (&iso, "{\"network\": {\"connections\": [{\"id\": \"eno1\"}]}}", &[], "answers-contradict-network"),
        (&iso, "{\"hostname\": {\"static\": \"other\"}}", &[], "hostname.static is \"other\""),
        (&iso, "{}", &["--karg-append", "inst.auto=http://192.0.2.1/profile.json"], "answers-named-twice"),
        (&iso, "{}", &["--profile", "root-in-initramfs"], "this initramfs is not that of Agama"),
    ] {
        let refused = order(directory.path(), base, profile, extra);
        let errors = errors(&refused);
        assert!(!refused.status.success() && errors.contains(expected), "{expected}: {errors}");
        assert!(!errors.contains("hunter2") && !directory.path().join("out.iso").exists(), "{errors}");
    }
}

/// Agama loads the files of all arguments, one after the other, and stops at the first that it cannot load (`load_user_config` in
/// `rust/agama-autoinstall/src/auto_loader.rs`).
#[test]
fn a_base_whose_menu_names_another_profile_is_refused() {
    const OTHER: &str = "inst.auto=http://192.0.2.1/other.json";
    let directory = TempDir::new().unwrap();
    agama_iso(directory.path());
    let iso = answers::remade(directory.path(), &["boot/grub2/grub.cfg"], "cdroot", OTHER);
    let refused = order(directory.path(), &iso, "{}", &[]);
    let expected = "boot entries: name an answer file, and the order has another one; leave out inst.auto,";
    assert!(!refused.status.success() && errors(&refused).contains(expected), "{}", errors(&refused));
    let built = order(directory.path(), &iso, "{}", &["--karg-delete", OTHER]);
    assert!(built.status.success(), "{}", errors(&built));
}

/// Agama reads its profile by Jsonnet, which refuses an object with a member twice, wherever it is.
#[test]
fn dayone_accepts_no_member_that_jsonnet_finds_twice() {
    let directory = TempDir::new().unwrap();
    let iso = agama_iso(directory.path());
    for (profile, is_good) in [
        (r#"{"a": 1, "b": {"a": 1}, "c": [{"a": 1}, {"a": 1}]}"#, true),
        (r#"{"a": 1, "a": 1}"#, false),
        (r#"{"user": {"fullName": "x", "userName": "y", "userName": "z"}}"#, false),
        (r#"{"c": [[{"a": 1, "\u0061": 1}]]}"#, false),
    ] {
        let script = "import _gojsonnet, sys; _gojsonnet.evaluate_snippet('profile.json', sys.argv[1])";
        let python = cache().join("gojsonnet-0.22.0/bin/python");
        let read = Command::new(python).args(["-c", script, profile]).output().unwrap();
        assert_eq!(read.status.success(), is_good, "{profile}: {}", String::from_utf8_lossy(&read.stderr));
        let built = order(directory.path(), &iso, profile, &[]);
        let errors = errors(&built);
        assert_eq!(built.status.success(), is_good, "{profile}: {errors}");
        assert_eq!(errors.contains("has a member twice in one object"), !is_good, "{profile}: {errors}");
        if is_good {
            fs::remove_file(directory.path().join("out.iso")).unwrap();
        }
    }
}
