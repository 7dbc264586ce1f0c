//! Kickstart files for Anaconda, on an ISO with the layout of RHEL's. No installer starts: nobody publishes Anaconda as a package. The
//! initramfs here has the files by which dayone recognises it, and pykickstart, by which Anaconda reads its file, reads the result.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::answers::{self, errors, has_the_network, names, unpacked};
use acceptance::bases::{extracted, fixtures, ramdisk_iso};
use acceptance::peers::{cache, peer, run};
use acceptance::server::dayone;
use hosts::answers::{InstalledSystem, complete, network_files};
use hosts::network::{Target, convert_network};
use serde_json::Value;
use tempfile::TempDir;
use vocabulary::answers::{Answers, Installer, KICKSTART_ARGUMENT};

/// The releases of the installer whose syntax pykickstart knows: those that are supported, and the newest of Fedora.
const RELEASES: [&str; 4] = ["RHEL8", "RHEL9", "RHEL10", "F44"];

const DOCUMENT: &str = "
hostname: {config: worker-0.example.com}
interfaces:
- {name: eno1, type: ethernet, state: up, mtu: 9000, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
- {name: lan, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:01', ipv4: {enabled: true, dhcp: true}}
- {name: eno2, type: ethernet, state: up}
- {name: eno3, type: ethernet, state: up}
- {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, options: {miimon: 100}, port: [eno2]}}
- {name: bond0.7, type: vlan, state: up, vlan: {base-iface: bond0, id: 7}}
- {name: br0, type: linux-bridge, state: up, bridge: {port: [{name: eno3}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1}]}
dns-resolver: {config: {server: [192.0.2.53]}}
";

/// Makes an ISO with the menus of RHEL 9, and with what tells its initramfs from others.
fn anaconda_iso(directory: &Path) -> PathBuf {
    let (tree, root, iso) = (directory.join("tree"), directory.join("initramfs"), directory.join("rhel.iso"));
    let script = "
        mkdir -p $1/usr/lib/dracut/hooks/cmdline $1/usr/lib/dracut/hooks/pre-pivot $1/usr/sbin $1/etc/NetworkManager
        ln -s usr/lib $1/lib
        ln -s usr/sbin $1/sbin
        printf 'ID=rhel\\nPRETTY_NAME=\"Red Hat Enterprise Linux 9.4 dracut-057\"\\n' > $1/usr/lib/initrd-release
        for file in init usr/lib/anaconda-lib.sh usr/lib/dracut/hooks/cmdline/26-parse-anaconda-kickstart.sh \\
            usr/sbin/parse-kickstart usr/sbin/NetworkManager; do echo '#!/bin/sh' > $1/$file; chmod 755 $1/$file; done
        cp -r $0 $2
        mkdir -p $2/images/pxeboot
        printf '[general]\\nfamily = Red Hat Enterprise Linux\\n[stage2]\\nmainimage = images/install.img\\n' > $2/.treeinfo
        echo system > $2/images/install.img
        echo kernel > $2/images/pxeboot/vmlinuz
        cp $2/images/pxeboot/vmlinuz $2/isolinux/
        (cd $1 && find . | cpio --quiet -o -H newc | xz --check=crc32 -0) > $2/images/pxeboot/initrd.img
        cp $2/images/pxeboot/initrd.img $2/isolinux/
        xorriso -as mkisofs -quiet -r -J -V RHEL-9-4-0-BaseOS-x86_64 -o $3 $2";
    let media = fixtures("boot-config/media/rhel");
    run(Command::new("sh").args(["-ec", script]).args([&media, &root, &tree, &iso]));
    iso
}

/// Orders an image with a kickstart file.
fn order(directory: &Path, base: &Path, kickstart: &str, extra: &[&str]) -> Output {
    answers::order(directory, base, (DOCUMENT, "kickstart", kickstart), extra)
}

/// What a release of Anaconda finds in a file.
fn read_by_anaconda(kickstart: &Path) -> Value {
    let python = cache().join("pykickstart-3.78/bin/python");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/kickstart.py");
    serde_json::from_slice(&run(Command::new(python).arg(script).arg(kickstart).args(RELEASES))).unwrap()
}

#[test]
fn anaconda_gets_the_completed_file_and_the_argument_that_names_it() {
    let directory = TempDir::new().unwrap();
    let iso = anaconda_iso(directory.path());
    let given = fs::read_to_string(fixtures("answers/anaconda.ks")).unwrap();
    let built = order(directory.path(), &iso, &given, &[]);
    assert!(built.status.success(), "{}", errors(&built));
    // Nothing is assumed of the system that follows, as of other systems of dracut.
    assert!(!errors(&built).contains("network-manager-assumed"), "{}", errors(&built));
    let image = directory.path().join("out.iso");
    let tree = unpacked(&image, &iso, "/images/pxeboot/initrd.img", directory.path());
    let (key, path) = KICKSTART_ARGUMENT.split_once(":/").unwrap();
    assert_eq!(key, "inst.ks=file");
    let kickstart = tree.join(path);
    assert_eq!(fs::metadata(&kickstart).unwrap().permissions().mode() & 0o777, 0o600);
    // The installer's own NetworkManager reads the profiles: at first in the initramfs.
    assert!(tree.join("etc/NetworkManager/system-connections/bond0.7.nmconnection").exists());

    // Every entry that starts the installer names the file, in both menus.
    let found: Value =
        serde_json::from_slice(&run(dayone().arg("inspect").arg(&image).args(["--format", "json"]))).unwrap();
    let entries = found["boot_entries"].as_array().unwrap();
    let of = |configuration: &str| entries.iter().filter(|entry| entry["configuration"] == configuration).count();
    assert!(of("/isolinux/isolinux.cfg") >= 3 && of("/EFI/BOOT/grub.cfg") == 2, "{entries:?}");
    for menu in ["/isolinux/isolinux.cfg", "/EFI/BOOT/grub.cfg"] {
        let text = fs::read_to_string(extracted(&image, menu, directory.path())).unwrap();
        let (installers, named) = (text.matches("inst.stage2=").count(), text.matches(KICKSTART_ARGUMENT).count());
        assert!(installers > 1 && installers == named, "{text}");
    }

    // pykickstart finds in it what it found in the user's file, and two sections more.
    for release in RELEASES {
        run(peer("ksvalidator").args(["-v", release]).arg(&kickstart));
    }
    let [before, after] = [fixtures("answers/anaconda.ks"), kickstart].map(|file| read_by_anaconda(&file));
    for release in RELEASES {
        let (before, after) = (&before[release], &after[release]);
        assert_eq!((&before["network"], &before["packages"]), (&after["network"], &after["packages"]), "{release}");
        let (before, after) = (before["scripts"].as_array().unwrap(), after["scripts"].as_array().unwrap());
        assert_eq!(before[..], after[..before.len()], "{release}");
        let ours = &after[before.len()..];
        let in_chroot: Vec<_> = ours.iter().map(|script| script["chroot"].as_bool().unwrap()).collect();
        assert_eq!(in_chroot, [false, true], "{release}");
        assert!(ours.iter().all(|script| script["error_on_fail"] == true && script["interpreter"] == "/bin/sh"));
        assert_eq!(ours[0]["type"], before.last().unwrap()["type"], "a section %post, as the user's last one");
    }

    // Each command is compared, on the line where pykickstart finds it.
    let others = DOCUMENT.replace("192.0.2.10", "192.0.2.20").replace("52:54:00:00:00:01", "52:54:00:00:00:09");
    let others = others.replace("bond0", "bond1").replace("br0", "br1").replace("worker-0", "worker-1");
    fs::write(directory.path().join("other.yaml"), others).unwrap();
    let mut command = dayone();
    command.args(["build", "other.yaml", "--base"]).arg(&iso).args([
        "-o",
        "other.iso",
        "--answers",
        "kickstart",
        "answers",
    ]);
    let refused = command.current_dir(directory.path()).output().unwrap();
    let errors = errors(&refused);
    let network = after[RELEASES[0]]["network"].as_array().unwrap();
    assert_eq!(network.len(), 5);
    for command in network {
        let begun = format!("line {} says network --", command["lineno"].as_str().unwrap());
        assert!(errors.contains(&begun), "{begun}: {errors}");
    }
    assert_eq!(errors.matches("says network --").count(), network.len(), "{errors}");
}

/// The sections that dayone adds run as Anaconda runs them, with busybox in place of the programs: the first in the installer's
/// system, which has lost its `base64`, and the second in the installed one.
#[test]
fn the_sections_write_the_profiles_of_the_document_into_the_installed_system() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    let iso = anaconda_iso(directory.path());
    let built = order(directory.path(), &iso, "text\n", &[]);
    assert!(built.status.success(), "{}", errors(&built));
    let tree = unpacked(&path("out.iso"), &iso, "/isolinux/initrd.img", directory.path());
    let kickstart = tree.join(KICKSTART_ARGUMENT.split_once(":/").unwrap().1);
    let read = read_by_anaconda(&kickstart);
    let scripts = read[RELEASES[0]]["scripts"].as_array().unwrap();
    let [first, second] = scripts.as_slice() else { panic!("{scripts:?}") };
    for (script, name) in [(first, "first"), (second, "second")] {
        fs::write(path(name), script["script"].as_str().unwrap()).unwrap();
    }
    let command = "
        for root in installer installer/mnt/sysroot; do
            mkdir -p $root/bin $root/usr/sbin $root/tmp $root/etc/NetworkManager/system-connections $root/etc/NetworkManager/conf.d
            mkdir -p $root/etc/sysconfig/network-scripts
            cp $(command -v busybox) $root/bin/
        done
        target=installer/mnt/sysroot
        for program in sh rm; do ln -s busybox installer/bin/$program; done
        for program in sh rm mkdir chmod base64; do ln -s busybox $target/bin/$program; done
        # The installer's profiles, which it has copied, and the user's own.
        for name in lan.nmconnection eno1.nmconnection ens5.nmconnection; do
            echo installer | tee installer/etc/NetworkManager/system-connections/$name > $target/etc/NetworkManager/system-connections/$name
        done
        for name in ifcfg-eno1 ifcfg-lo keys-eno1; do
            echo installer | tee installer/etc/sysconfig/network-scripts/$name > $target/etc/sysconfig/network-scripts/$name
        done
        echo user > $target/etc/NetworkManager/system-connections/user.nmconnection
        printf '#!/bin/sh\\necho \"$1\" >> /tmp/labelled\\nexit 1\\n' > $target/usr/sbin/restorecon
        chmod 755 $target/usr/sbin/restorecon
        cp first installer/tmp/
        cp second $target/tmp/
        ANA_INSTALL_PATH=/mnt/sysroot chroot installer /bin/sh /tmp/first
        chroot $target /bin/sh /tmp/second
        dayone=$0
        \"$dayone\" convert host.yaml -o expected > /dev/null";
    run(Command::new("sh").args(["-ec", command]).arg(dayone().get_program()).current_dir(directory.path()));
    let target = path("installer/mnt/sysroot");
    let converted = names(&path("expected"));
    assert!(converted.len() >= 6 && converted.contains(&"lan.nmconnection".to_owned()), "{converted:?}");
    has_the_network(&target, &path("expected"));
    assert_eq!(names(&target.join("etc/sysconfig/network-scripts")), ["ifcfg-lo"]);
    // The installer keeps its own.
    assert_eq!(names(&path("installer/etc/NetworkManager/system-connections")).len(), 3);
}

#[test]
fn what_anaconda_would_not_read_is_refused() {
    let directory = TempDir::new().unwrap();
    let iso = anaconda_iso(directory.path());
    let other = ramdisk_iso(&[]);
    for (base, kickstart, extra, expected) in [
        (&other, "text\n", &[][..], "this initramfs is not that of Anaconda"),
        (&iso, "text\n%post\necho hunter2\n", &[], "line 2 begins a section that no %end ends"),
        (&iso, "network --device=eno1 --bootproto=dhcp\n", &[], "line 1 says network --bootproto is \"dhcp\""),
        (&iso, "text\n", &["--karg-append", "inst.ks=http://192.0.2.1/ks"], "answers-named-twice"),
        (&iso, "text\n", &["--profile", "root-in-initramfs"], "this initramfs is not that of Anaconda"),
    ] {
        let refused = order(directory.path(), base, kickstart, extra);
        let errors = errors(&refused);
        assert!(!refused.status.success() && errors.contains(expected), "{expected}: {errors}");
        assert!(!errors.contains("hunter2") && !directory.path().join("out.iso").exists(), "{errors}");
    }
}

/// Anaconda takes the last `inst.ks=`, and that is dayone's. Other arguments of the base win over it (`dracut/parse-anaconda-kickstart.sh`).
#[test]
fn a_base_whose_menus_name_another_file_is_refused_unless_anaconda_reads_that_of_dayone() {
    let directory = TempDir::new().unwrap();
    let menus = ["isolinux/isolinux.cfg", "EFI/BOOT/grub.cfg"];
    anaconda_iso(directory.path());
    let iso = answers::remade(directory.path(), &menus, "inst.stage2=", "inst.ks=hd:LABEL=RHEL:/ks.cfg");
    let built = order(directory.path(), &iso, "text\n", &[]);
    assert!(built.status.success(), "{}", errors(&built));
    for menu in menus {
        let menu = extracted(&directory.path().join("out.iso"), &format!("/{menu}"), directory.path());
        let text = fs::read_to_string(menu).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("inst.ks=")).collect();
        assert!(!lines.is_empty(), "{text}");
        for line in lines {
            assert_eq!(line.rfind("inst.ks="), line.find(KICKSTART_ARGUMENT), "{line}");
        }
    }
    fs::remove_file(directory.path().join("out.iso")).unwrap();
    // The menus keep what they got before.
    for (argument, keys) in [("ks=cdrom:/ks.cfg", "ks"), ("inst.ks.all", "inst.ks.all, ks")] {
        let iso = answers::remade(directory.path(), &menus, "inst.stage2=", argument);
        let refused = order(directory.path(), &iso, "text\n", &[]);
        let errors = errors(&refused);
        let expected = format!(
            "boot entries: name an answer file, and the order has another one; leave out {keys}, or the order's file"
        );
        assert!(!refused.status.success() && errors.contains(&expected), "{errors}");
    }
}

/// dayone accepts a command if a release of Anaconda that knows its options accepts it.
#[test]
fn dayone_accepts_the_commands_that_pykickstart_accepts() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("ks.cfg");
    let document = b"
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}
- {name: br0, type: linux-bridge, state: up, bridge: {port: [{name: eno2}]}, ipv4: {enabled: true, dhcp: true}}
- {name: eno2, type: ethernet, state: up}
dns-resolver: {config: {server: [192.0.2.53], search: [a]}}";
    let input = hosts::input::read(document);
    let [host] = input.hosts.as_slice() else { panic!("one host") };
    let target = Target { files: network_files(Installer::Kickstart), ..Target::default() };
    let network = convert_network(host, target).0.expect("the document is good");
    let system = InstalledSystem { network: &network, hostname: None, no_auto_default: true };
    for (options, is_good) in [
        ("--device=eno1", true),
        ("--device=eno1 --bindto=mac", true),
        ("--device=eno1 --bindto=name", false),
        ("--device=eno1 --bindto=", false),
        ("--device=eno1 --bindto=mac --vlanid=5", false),
        ("--device=br0 --bridgeslaves=eno2 --bridgeopts=stp=yes,priority=1", true),
        ("--device=br0 --bridgeslaves=eno2 --bridgeopts=", true),
        ("--device=br0 --bridgeslaves=eno2 --bridgeopts==x", true),
        ("--device=br0 --bridgeslaves=eno2 --bridgeopts=stp", false),
        ("--device=br0 --bridgeslaves=eno2 --bridgeopts=stp=", false),
        ("--device=br0 --bridgeslaves=eno2 --bridgeopts=stp=yes,", false),
        ("--device=br0 --bridgeopts=stp=yes", false),
        ("--device=eno1 --ipv4-dns-search=a", true),
        ("--ipv4-dns-search=a", false),
        ("--ipv6-dns-search=a --device=", false),
    ] {
        fs::write(&file, format!("network {options}\n")).unwrap();
        let validated = peer("ksvalidator").args(["-v", "F44"]).arg(&file).output().unwrap();
        assert_eq!(validated.status.success(), is_good, "{options}");
        let answers = Answers { kind: Installer::Kickstart, text: format!("network {options}\n") };
        let mut report = hosts::network::release_findings(None);
        let completed = complete(&answers, system, &mut report);
        assert_eq!(completed.is_ok(), is_good, "{options}: {:?}", report.findings());
    }
}
