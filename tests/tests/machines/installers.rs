//! The Debian installer, unmodified, with a preseed file that dayone has completed: its own netcfg takes the network of the document,
//! and what it installs has the whole of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::bases::{extracted, ramdisk_iso};
use acceptance::peers::{cache, run};
use acceptance::qemu::Machine;
use acceptance::server::dayone;
use tempfile::TempDir;

/// The host. QEMU's DHCP server would give another address.
const DOCUMENT: &str = "
hostname: {config: worker-0.example.com}
interfaces:
- {name: lan, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:02',
   ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 26}]}}
- {name: other, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:01'}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: lan}]}
dns-resolver: {config: {server: [192.0.2.53, 192.0.2.54], search: [example.com]}}
";

/// The user's own answers. The installer asks nothing before its network is up.
const PRESEED: &str = "\
d-i debian-installer/locale string C.UTF-8
d-i keyboard-configuration/xkb-keymap select us
d-i passwd/root-password password hunter2
";

/// Read by the installer when it starts: says what netcfg has done when it has done it.
const WATCH: &str = "\
(
	set +e
	count=0
	while [ ! -s /etc/hostname ] && [ $count -lt 600 ]; do count=$((count + 1)); sleep 1; done
	sleep 5
	{
		echo; echo BEGIN-OF-REPORT
		ip -4 addr; ip route
		cat /etc/resolv.conf
		echo \"host name $(cat /etc/hostname)\"
		grep -c 'udhcpc\\|dhclient' /var/log/syslog | sed 's/^/lines about DHCP: /'
		ls /usr/lib/finish-install.d /usr/lib/dayone/installed/etc/systemd/network
		echo END-OF-REPORT
	} > /dev/ttyS0
	poweroff -f
) &
";

/// The installer's kernel, and its initramfs with the host's document and [`PRESEED`].
fn installer_with(document: &str, options: &[&str], directory: &Path) -> (PathBuf, PathBuf) {
    let installer = cache().join("debian-installer");
    assert!(installer.exists(), "{} is missing; run scripts/setup-peers.sh", installer.display());
    let path = |name: &str| directory.join(name);
    fs::write(path("host.yaml"), document).unwrap();
    fs::write(path("preseed.cfg"), PRESEED).unwrap();
    let (kernel, initrd) = (installer.join("linux"), installer.join("initrd.gz"));
    let image = path("installer.img");
    let mut build = dayone();
    build.arg("build").arg(path("host.yaml")).args(["--format", "initrd", "--base"]);
    build.arg(format!("kernel:{},initrd:{}", kernel.display(), initrd.display()));
    build.args(["--answers", "preseed"]).arg(path("preseed.cfg")).args(options);
    run(build.arg("-o").arg(&image));
    (kernel, image)
}

#[test]
#[ignore = "an installer boots under emulation: make matrix"]
fn the_installers_own_netcfg_takes_the_network_of_the_document() {
    let directory = TempDir::new().unwrap();
    let watch = directory.path().join("watch");
    fs::write(&watch, WATCH).unwrap();
    let file = format!("/lib/debian-installer.d/S10report={}", watch.display());
    let (kernel, image) = installer_with(DOCUMENT, &["--file", &file], directory.path());
    let arguments = "console=ttyS0 auto=true priority=critical DEBIAN_FRONTEND=text";
    let machine = Machine::with_kernel(&kernel, &image, arguments).nic("52:54:00:00:00:01").nic("52:54:00:00:00:02");
    let console = machine.console();
    let report = console.split("BEGIN-OF-REPORT\n").nth(1).and_then(|rest| rest.split("END-OF-REPORT").next());
    let report = report.unwrap_or_else(|| panic!("{console}"));
    for expected in [
        "inet 192.0.2.10/26",
        "default via 192.0.2.1",
        "nameserver 192.0.2.53\nnameserver 192.0.2.54",
        "host name worker-0",
        "lines about DHCP: 0",
        "56dayone-network",
    ] {
        assert!(report.contains(expected), "{expected}\n{report}");
    }
    assert!(!console.contains("hunter2"));
}

const BOND_AND_VLAN: &str = "
hostname: {config: worker-0.example.com}
interfaces:
- {name: uplink-a, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:01'}
- {name: uplink-b, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:02'}
- {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, options: {miimon: 100}, port: [uplink-a, uplink-b]}}
- {name: bond0.100, type: vlan, state: up, vlan: {base-iface: bond0, id: 100},
   ipv4: {enabled: true, address: [{ip: 198.51.100.7, prefix-length: 24}]},
   ipv6: {enabled: true, address: [{ip: '2001:db8::7', prefix-length: 64}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 198.51.100.1, next-hop-interface: bond0.100}]}
dns-resolver: {config: {server: [198.51.100.53]}}
";

/// A whole installation takes 20 minutes (`whole_installation`). Here, a Debian stands in for what it installs: dayone's program
/// does there what the installer's last step runs it for, and the result boots.
#[test]
#[ignore = "a whole system boots under emulation: make matrix"]
fn the_installed_system_has_the_network_of_the_document() {
    let directory = TempDir::new().unwrap();
    let shell = |command: &str| {
        run(Command::new("sh").args(["-ec", command]).current_dir(directory.path()));
    };
    let (_, image) = installer_with(BOND_AND_VLAN, &[], directory.path());
    let base = fs::metadata(cache().join("debian-installer/initrd.gz")).unwrap().len();
    fs::write(directory.path().join("added.cpio"), &fs::read(image).unwrap()[usize::try_from(base).unwrap()..])
        .unwrap();
    let iso = ramdisk_iso(&["--networkd", "--command-line"]);
    let [kernel, _] = ["/vmlinuz", "/initrd"].map(|file| extracted(&iso, file, directory.path()));
    // The installer's system, with what dayone adds to it, and the installed system beneath /target.
    shell(
        "mkdir -p root/target
         (cd root/target && zstd -dcq ../../initrd | cpio --quiet -idm)
         cp -a root/target installer
         mv root/target installer/target
         (cd installer && cpio --quiet -idmu < ../added.cpio)
         rm installer/target/etc/systemd/system/multi-user.target.wants/systemd-networkd.service
         chroot installer /usr/lib/finish-install.d/56dayone-network
         test -L installer/target/etc/systemd/system/multi-user.target.wants/systemd-networkd.service
         test ! -e installer/target/etc/NetworkManager/conf.d/90-dayone.conf
         grep -q 'iface lo inet loopback' installer/target/etc/network/interfaces
         (cd installer/target && find . | cpio --quiet -o -H newc) > installed.img
         mkdir -p installer/target/usr/sbin && touch installer/target/usr/sbin/NetworkManager
         chroot installer /usr/lib/finish-install.d/56dayone-network
         grep -q 'managed=0' installer/target/etc/NetworkManager/conf.d/90-dayone.conf",
    );
    let arguments = "console=ttyS0 panic=1";
    let machine = Machine::with_kernel(&kernel, &directory.path().join("installed.img"), arguments);
    let report = machine.nic("52:54:00:00:00:01").nic("52:54:00:00:00:02").report();
    assert_eq!(report.addresses("bond0.100"), ["198.51.100.7/24", "2001:db8::7/64"], "{report:#?}");
    assert_eq!(report.default_routes(), ["198.51.100.1 bond0.100"], "{report:#?}");
    assert_eq!(report.base("bond0.100").as_deref(), Some("bond0"), "{report:#?}");
    assert_eq!(report.ports("bond0").len(), 2, "{report:#?}");
    assert_eq!(report.host_name(), "worker-0.example.com");
    assert_eq!(report.lines("resolv.conf"), ["# Written by dayone.", "nameserver 198.51.100.53"], "{report:#?}");
}
