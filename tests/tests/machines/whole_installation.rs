//! The unmodified Debian installer installs a host unattended from dayone's ISO, and the disk boots.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acceptance::bases::{boot_report, installer_mirror};
use acceptance::nginx::Nginx;
use acceptance::peers::run;
use acceptance::qemu::{Boot, Machine, asks_dhcp, packets};
use acceptance::secure_boot::{GRUB, SHIM, esp};
use acceptance::server::dayone;
use tempfile::TempDir;

const MAC: &str = "52:54:00:00:00:01";

/// The machine reaches this one as 10.0.2.2. QEMU's DHCP server would give 10.0.2.15. The installer knows no VLANs.
const DOCUMENT: &str = "
hostname: {config: worker-0.example.com}
interfaces:
- {name: lan, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:01',
   ipv4: {enabled: true, address: [{ip: 10.0.2.77, prefix-length: 24}]}}
- {name: lan.100, type: vlan, state: up, vlan: {base-iface: lan, id: 100},
   ipv4: {enabled: true, address: [{ip: 198.51.100.7, prefix-length: 24}]},
   ipv6: {enabled: true, address: [{ip: '2001:db8::7', prefix-length: 64}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.0.2.2, next-hop-interface: lan}]}
dns-resolver: {config: {server: [10.0.2.3], search: [example.com]}}
";

/// The user's answers, without any about the network. The suite `components` is not signed.
const PRESEED: &str = "\
d-i debian-installer/locale string C.UTF-8
d-i debian-installer/language string en
d-i debian-installer/country string DE
d-i keyboard-configuration/xkb-keymap select us
d-i mirror/country string manual
d-i mirror/protocol string http
d-i mirror/http/hostname string MIRROR
d-i mirror/http/directory string /debian
d-i mirror/http/proxy string
d-i mirror/suite string trixie
d-i mirror/udeb/suite string components
d-i debian-installer/allow_unauthenticated boolean true
d-i apt-setup/services-select multiselect
d-i passwd/make-user boolean false
d-i passwd/root-password-crypted password $6$dayone$edAvydvepSoqRtcj0yHJ70HM5g3NgDJYZBNdmYzyHZckxuVdudBTjCaVVfqQYT5d6iJ96nzddideiyhpvoGVL/
d-i clock-setup/ntp boolean false
d-i time/zone string UTC
d-i partman-auto/disk string /dev/vda
d-i partman-auto/method string regular
d-i partman-auto/choose_recipe select atomic
d-i partman/choose_partition select finish
d-i partman/confirm boolean true
d-i partman/confirm_nooverwrite boolean true
d-i partman-efi/non_efi_system boolean true
d-i base-installer/install-recommends boolean false
d-i base-installer/kernel/image string linux-image-cloud-amd64
d-i pkgsel/run_tasksel boolean false
d-i pkgsel/upgrade select none
d-i grub-installer/force-efi-extra-removable boolean true
d-i finish-install/reboot_in_progress note
d-i debian-installer/exit/poweroff boolean true
d-i preseed/late_command string cp -a /report/. /target/; chmod 755 /target/usr/local/sbin/boot-report; cd /target/etc/systemd/system; \\
 mkdir -p multi-user.target.wants; ln -s ../boot-report.service multi-user.target.wants/
";

const ARGUMENTS: [&str; 4] = ["console=ttyS0", "auto=true", "priority=critical", "DEBIAN_FRONTEND=text"];

/// A mirror that has the suite `components` beside what another one has.
fn mirror_of(suite: &Path, url: &str) -> Nginx {
    let mut nginx = Nginx::start(None);
    fs::rename(suite, nginx.root().join("debian")).unwrap();
    nginx.kill();
    let (scheme, rest) = url.split_once("://").unwrap();
    let (host, path) = rest.trim_end_matches('/').split_once('/').unwrap_or((rest, ""));
    nginx.start_again(&format!(
        "location /debian/ {{ try_files $uri @mirror; }}
         location @mirror {{
             rewrite ^/debian/(.*)$ /{path}/$1 break;
             proxy_pass {scheme}://{host};
             proxy_ssl_server_name on;
             proxy_http_version 1.1;
             proxy_set_header Connection '';
         }}"
    ));
    nginx
}

/// What dayone makes of the installer, for a machine with UEFI.
fn installer_iso(directory: &Path, preseed: &str) -> PathBuf {
    let path = |name: &str| directory.join(name);
    fs::write(path("host.yaml"), DOCUMENT).unwrap();
    fs::write(path("preseed.cfg"), preseed).unwrap();
    let loaders = [("EFI/BOOT/BOOTX64.EFI", SHIM), ("EFI/BOOT/grubx64.efi", GRUB)];
    let esp = esp(directory, &loaders.map(|(to, from)| (to, Path::new(from))));
    let [kernel, initrd] = ["linux", "initrd.gz"].map(|name| path(name).display().to_string());
    let mut build = dayone();
    build.arg("build").arg(path("host.yaml")).args(["--format", "iso", "--base"]);
    build.arg(format!("kernel:{kernel},initrd:{initrd},esp:{}", esp.display()));
    build.arg("--answers").arg("preseed").arg(path("preseed.cfg"));
    let places = ["/report/usr/local/sbin/boot-report", "/report/etc/systemd/system/boot-report.service"];
    for (place, file) in places.iter().zip(boot_report(directory)) {
        build.args(["--file", &format!("{place}={}", file.display())]);
    }
    let arguments = ARGUMENTS.iter().flat_map(|argument| ["--karg-append", argument]);
    run(build.args(arguments).arg("-o").arg(path("host.iso")));
    path("host.iso")
}

#[test]
#[ignore = "a whole system is installed under emulation, which takes 20 minutes: make matrix"]
fn debians_installer_installs_a_disk_that_boots_with_the_network_of_the_document() {
    let directory = TempDir::new().unwrap();
    let url = installer_mirror(directory.path());
    let nginx = mirror_of(&directory.path().join("debian"), &url);
    let here = nginx.url("").replace("http://127.0.0.1", "10.0.2.2");
    let iso = installer_iso(directory.path(), &PRESEED.replace("MIRROR", here.trim_end_matches('/')));
    let disk = directory.path().join("disk.img");
    fs::File::create(&disk).unwrap().set_len(4 << 30).unwrap();

    let installer = Machine::with_image(&iso, Boot::UefiCd).memory(2048).processors(2).own_disk(&disk);
    let installer = installer.nic_to_here(MAC, directory.path()).within(Duration::from_secs(3600));
    let console = installer.console();
    assert!(console.contains("Requesting system poweroff"), "{console}");
    // The installer has fetched its packages without asking a DHCP server for an address.
    let frames = packets(directory.path());
    assert!(frames.len() > 10_000, "{}", frames.len());
    assert!(!frames.iter().any(|frame| asks_dhcp(frame)));

    // The installed kernel is the one for virtual machines, which has no drivers for USB disks.
    let report = Machine::with_uefi_disk(&disk).nic(MAC).report();
    let lan = report.interface(MAC);
    assert_eq!(report.addresses(&lan), ["10.0.2.77/24"], "{report:#?}");
    assert_eq!(report.addresses("lan.100"), ["198.51.100.7/24", "2001:db8::7/64"], "{report:#?}");
    assert_eq!(report.base("lan.100"), Some(lan.clone()), "{report:#?}");
    assert_eq!(report.default_routes(), [format!("10.0.2.2 {lan}")], "{report:#?}");
    assert_eq!(report.host_name(), "worker-0.example.com");
    assert_eq!(report.lines("resolv.conf"), ["# Written by dayone.", "search example.com", "nameserver 10.0.2.3"]);
    assert!(report.mounts().iter().any(|mount| mount.contains(" / ext4 ")), "{report:#?}");
}
