//! Autoinstall files for Subiquity, on an ISO with the menu of Ubuntu Server's. No installer starts: nobody publishes Subiquity as a
//! package. The initramfs here has the files by which dayone recognises casper. PyYAML, by which Subiquity reads its file, and
//! netplan, which gets its network, read the result.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::answers::{self, errors};
use acceptance::bases::{extracted, fixtures, ramdisk_iso};
use acceptance::peers::{run, run_text};
use serde_json::Value;
use tempfile::TempDir;

const DOCUMENT: &str = "
hostname: {config: worker-0.example.com}
interfaces:
- {name: uplink-a, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:01'}
- {name: uplink-b, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:02'}
- {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, options: {miimon: 100}, port: [uplink-a, uplink-b]}}
- {name: bond0.100, type: vlan, state: up, vlan: {base-iface: bond0, id: 100},
   ipv4: {enabled: true, address: [{ip: 198.51.100.7, prefix-length: 24}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 198.51.100.1, next-hop-interface: bond0.100}]}
dns-resolver: {config: {server: [198.51.100.53]}}
";

/// Makes an ISO with the menu of Ubuntu Server, and with what tells its initramfs from others.
pub(super) fn ubuntu_iso(directory: &Path) -> PathBuf {
    let (tree, root, iso) = (directory.join("tree"), directory.join("initramfs"), directory.join("ubuntu.iso"));
    let script = "
        mkdir -p $1/conf/conf.d $1/scripts/init-bottom $1/usr/bin
        ln -s usr/bin $1/bin
        for file in init conf/initramfs.conf scripts/casper scripts/init-bottom/ORDER usr/bin/cp usr/bin/wget usr/bin/ip \\
            conf/conf.d/default-boot-to-casper.conf; do echo > $1/$file; done
        echo 'url=*.iso) NETBOOT=url ;;' > $1/scripts/casper
        cp -r $0 $2
        mkdir $2/casper
        head -c 1000000 /dev/zero | tee $2/casper/ubuntu-server-minimal.squashfs > $2/casper/ubuntu-server-minimal.ubuntu-server.squashfs
        echo kernel | tee $2/casper/vmlinuz > $2/casper/hwe-vmlinuz
        (cd $1 && find . | cpio --quiet -o -H newc | zstd -q) | tee $2/casper/initrd > $2/casper/hwe-initrd
        xorriso -as mkisofs -quiet -r -J -V 'Ubuntu-Server 24.04 LTS amd64' -o $3 $2";
    let media = fixtures("boot-config/media/ubuntu-server");
    run(Command::new("sh").args(["-ec", script]).args([&media, &root, &tree, &iso]));
    iso
}

/// Orders an image with an autoinstall file.
fn order(directory: &Path, base: &Path, answers: &str, extra: &[&str]) -> Output {
    answers::order(directory, base, (DOCUMENT, "autoinstall", answers), extra)
}

/// What Subiquity reads in a file.
fn read(path: &Path) -> Value {
    let script = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)";
    serde_json::from_str(&run_text(Command::new("python3").args(["-c", script]).arg(path))).unwrap()
}

#[test]
fn subiquity_gets_the_answers_as_they_are_and_the_network_of_the_document() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    let iso = ubuntu_iso(directory.path());
    for (name, wrapped) in [("wrapped", true), ("bare", false)] {
        let mut given = fs::read_to_string(fixtures("answers/ubuntu.yaml")).unwrap();
        if !wrapped {
            let inside = given.lines().filter(|line| *line != "autoinstall:" && !line.starts_with('#'));
            given = inside.map(|line| line.strip_prefix("  ").unwrap_or(line).to_owned() + "\n").collect();
        }
        let built = order(directory.path(), &iso, &given, &[]);
        assert!(built.status.success(), "{}", errors(&built));
        // What the initramfs copies to the live system.
        let tree = path(name);
        fs::create_dir(&tree).unwrap();
        let grown = fs::read(extracted(&path("out.iso"), "/casper/initrd", &tree)).unwrap();
        let base = fs::read(path("tree/casper/initrd")).unwrap();
        assert!(grown.starts_with(&base));
        fs::write(tree.join("added.cpio"), &grown[base.len()..]).unwrap();
        run(Command::new("sh").args(["-ec", "cpio --quiet -idm < added.cpio"]).current_dir(&tree));
        let waiting = tree.join("usr/lib/dayone");
        assert_eq!(fs::read_to_string(waiting.join("files")).unwrap(), "/autoinstall.yaml\n");
        let answers = waiting.join("root/autoinstall.yaml");
        assert_eq!(fs::metadata(&answers).unwrap().permissions().mode() & 0o777, 0o600);

        // All other answers are what they were, by the reader's own rules: its booleans and numbers are those of YAML 1.1.
        let mut found = read(&answers);
        let network = found.as_object_mut().unwrap().remove("network").unwrap();
        let given = read(&path("answers"));
        assert_eq!(&found, given.get("autoinstall").unwrap_or(&given), "{name}");
        assert_eq!(found["ssh"]["install-server"], true);

        // netplan takes the network, which the installer gives it unchanged.
        let root = path(&format!("{name}.netplan"));
        fs::create_dir_all(root.join("etc/netplan")).unwrap();
        let file = root.join("etc/netplan/50.yaml");
        fs::write(&file, serde_json::json!({"network": network}).to_string()).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        run(Command::new("netplan").args(["generate", "--root-dir"]).arg(&root));
        let units = root.join("run/systemd/network");
        let vlan = fs::read_to_string(units.join("10-netplan-bond0.100.network")).unwrap();
        assert!(vlan.contains("Address=198.51.100.7/24") && vlan.contains("Gateway=198.51.100.1"), "{vlan}");
        let port = fs::read_to_string(units.join("10-netplan-uplink-a.network")).unwrap();
        assert!(
            port.contains("PermanentMACAddress=52:54:00:00:00:01") || port.contains("MACAddress=52:54:00:00:00:01"),
            "{port}"
        );
        assert!(port.contains("Bond=bond0"), "{port}");

        // The installer asks nothing, whatever entry starts.
        let menu = fs::read_to_string(extracted(&path("out.iso"), "/boot/grub/grub.cfg", &tree)).unwrap();
        let kernels: Vec<&str> = menu.lines().filter(|line| line.trim().starts_with("linux\t")).collect();
        assert_eq!(kernels.len(), 2);
        for line in kernels {
            let before_the_mark = line.split("---").next().unwrap();
            assert!(before_the_mark.split_whitespace().any(|argument| argument == "autoinstall"), "{line}");
        }
        fs::remove_file(path("out.iso")).unwrap();
    }
}

#[test]
fn what_subiquity_would_not_read_is_refused() {
    let directory = TempDir::new().unwrap();
    let iso = ubuntu_iso(directory.path());
    let other = ramdisk_iso(&[]);
    for (base, answers, extra, expected) in [
        (&other, "version: 1\n", &[][..], "this initramfs is not that of Ubuntu's live media"),
        (
            &iso,
            "version: 1\nnetwork: {version: 2, ethernets: {eno1: {dhcp4: true}}}\n",
            &[],
            "answers-contradict-network",
        ),
        (&iso, "version: 1\nidentity: {hostname: other}\n", &[], "identity.hostname is \"other\""),
        (&iso, "autoinstall: {version: 1}\nusers: []\n", &[], "has more than the member autoinstall: users"),
        (&iso, "version: 1\n", &["--karg-append", "subiquity.autoinstallpath=/x.yaml"], "answers-named-twice"),
    ] {
        let refused = order(directory.path(), base, answers, extra);
        let errors = errors(&refused);
        assert!(!refused.status.success() && errors.contains(expected), "{expected}: {errors}");
        assert!(!directory.path().join("out.iso").exists(), "{errors}");
    }
}

/// Subiquity looks for the file of this argument first (`select_autoinstall` in `subiquity/server/server.py`).
#[test]
fn a_base_whose_menu_names_another_file_is_refused() {
    const OTHER: &str = "subiquity.autoinstallpath=/cdrom/other.yaml";
    let directory = TempDir::new().unwrap();
    ubuntu_iso(directory.path());
    let iso = answers::remade(directory.path(), &["boot/grub/grub.cfg"], "---", OTHER);
    let refused = order(directory.path(), &iso, "version: 1\n", &[]);
    let expected =
        "boot entries: name an answer file, and the order has another one; leave out subiquity.autoinstallpath,";
    assert!(!refused.status.success() && errors(&refused).contains(expected), "{}", errors(&refused));
    let built = order(directory.path(), &iso, "version: 1\n", &["--karg-delete", OTHER]);
    assert!(built.status.success(), "{}", errors(&built));
}
