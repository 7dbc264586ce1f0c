//! The minimal ISO of a Debian live system: what xorriso finds on it, and what the shells of an initramfs do with the network that
//! dayone adds to live-boot.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::initramfs_machine::{FOUND, LOOPBACK, Machine, Nic, OTHER, SHELLS};
use acceptance::bases::{debian_live_iso, extracted};
use acceptance::peers::{cache, run, run_text};
use acceptance::server::{Server, dayone, free_address};
use imagelib::initramfs::survey;
use reqwest::blocking::Client;
use serde_json::Value;
use tempfile::TempDir;

const ROOT: &str = "/live/filesystem.squashfs";
const COMPONENT: &str = "usr/lib/live/boot/9999-dayone.sh";
const URL: &str = "http://198.51.100.7/rootfs.squashfs";

/// Three NICs, of which the second is found by its MAC address, and leads to the server of [`URL`].
const HOST: &str = "
interfaces:
- {name: eno1, type: ethernet, ipv4: {enabled: true, address: [{ip: 203.0.113.9, prefix-length: 24}]}}
- name: boot
  type: ethernet
  identifier: mac-address
  mac-address: 52:54:00:12:34:01
  mtu: 1400
  ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}, {ip: 192.0.2.11, prefix-length: 32}]}
- {name: eno3, type: ethernet, mac-address: '52:54:00:12:34:0a', ipv4: {enabled: true, address: [{ip: 10.0.0.9, prefix-length: 32}]}}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: boot}
  - {destination: 10.1.0.0/16, next-hop-address: 10.0.0.1, next-hop-interface: eno3}
";

fn build(document: &str, url: &str, image: &Path) -> Output {
    let host = image.with_extension("yaml");
    fs::write(&host, document).unwrap();
    let mut build = dayone();
    build.args(["build", "--format", "minimal-iso", "--rootfs-url", url, "--force", "--base"]).arg(debian_live_iso());
    build.arg("--host").arg(host).arg("--output").arg(image).output().unwrap()
}

/// The paths of the files on an ISO, with their sizes.
fn files(iso: &Path) -> BTreeMap<String, u64> {
    let listed =
        run_text(Command::new("xorriso").arg("-indev").arg(iso).args(["-find", "/", "-type", "f", "-exec", "lsdl"]));
    let lines = listed.lines().filter_map(|line| {
        let (before, path) = line.split_once('\'')?;
        Some((path.trim_end_matches('\'').to_owned(), before.split_whitespace().nth(4)?.parse().ok()?))
    });
    lines.collect()
}

/// The component in an image.
fn component(image: &Path, directory: &Path) -> String {
    let initrd = files(image).into_keys().find(|path| path.starts_with("/live/initrd.img")).unwrap();
    let path = COMPONENT.parse().unwrap();
    let bytes = fs::read(extracted(image, &initrd, directory)).unwrap();
    let files = survey(&bytes, std::slice::from_ref(&path), 1 << 20).unwrap().files;
    String::from_utf8(files[&path].clone()).unwrap()
}

#[test]
fn xorriso_finds_everything_but_the_root_file_system() {
    let directory = TempDir::new().unwrap();
    let image = directory.path().join("minimal.iso");
    let built = build(HOST, URL, &image);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let base = debian_live_iso();
    let (before, after) = (files(&base), files(&image));
    let expected: Vec<&String> = before.keys().filter(|path| *path != ROOT).collect();
    assert!(before.contains_key(ROOT) && expected.len() > 10);
    assert_eq!(after.keys().collect::<Vec<_>>(), expected);
    let [whole, small] = [&base, &image].map(|path| fs::metadata(path).unwrap().len());
    // The size is a multiple of a MiB, as that of the base.
    assert!(small < whole - before[ROOT] + (1 << 20), "{small} of {whole}");

    let mut changed = Vec::new();
    for path in expected {
        let one = fs::read(extracted(&base, path, directory.path())).unwrap();
        let other = fs::read(extracted(&image, path, directory.path())).unwrap();
        if one != other {
            changed.push(path.as_str());
        }
        match path.as_str() {
            path if path.starts_with("/live/initrd.img") => assert!(other.starts_with(&one), "{path}"),
            "/isolinux/live.cfg" | "/boot/grub/grub.cfg" => {
                let text = String::from_utf8(other).unwrap();
                assert_eq!(text.matches(&format!(" fetch={URL}\n")).count(), 2, "{text}");
            }
            _ => {}
        }
    }
    let expected = ["/boot/grub/grub.cfg", "/isolinux/live.cfg", "/live/initrd.img", "/md5sum.txt"];
    let is_expected = changed.iter().zip(expected).all(|(path, start)| path.starts_with(start));
    assert!(changed.len() == expected.len() && is_expected, "{changed:?}");

    // The lines of its check sums are right, and the root file system has none.
    let sums = fs::read_to_string(extracted(&image, "/md5sum.txt", directory.path())).unwrap();
    assert!(!sums.contains(ROOT) && sums.lines().count() > 10, "{sums}");
    for line in sums.lines() {
        let (sum, path) = line.split_once("  .").unwrap();
        let found = run_text(Command::new("md5sum").arg(extracted(&image, path, directory.path())));
        assert!(found.starts_with(sum), "{line}: {found}");
    }
}

/// What the component does in a shell, when it is called as live-boot calls it.
fn ran(shell: &[&str], component: &str, nics: &[Nic], good: &str) -> String {
    let machine = Machine::new(nics, good);
    let component = machine.script("component", component);
    let order = machine.0.path().join("scripts/init-bottom/ORDER");
    let lines = format!("{component}Select_eth_device && do_netsetup\necho leaves && . {}\n", order.display());
    machine.run(shell, &lines)
}

fn built_component(document: &str, url: &str) -> String {
    let directory = TempDir::new().unwrap();
    let image = directory.path().join("minimal.iso");
    let built = build(document, url, &image);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    component(&image, directory.path())
}

#[test]
fn the_shells_of_an_initramfs_configure_the_nic_and_leave_it_as_it_was() {
    let by_mac = built_component(HOST, URL);
    let by_name = built_component(HOST, "http://10.1.0.7/rootfs.squashfs");
    for shell in SHELLS {
        assert_eq!(
            ran(shell, &by_mac, &[LOOPBACK, OTHER, FOUND], "ens4"),
            "ip link set dev ens4 up\n\
             dayone: ens4 gets 192.0.2.10/24 192.0.2.11/32\n\
             ip link set dev ens4 mtu 1400\n\
             ip addr add 192.0.2.10/24 dev ens4\n\
             ip addr add 192.0.2.11/32 dev ens4\n\
             ip route add 198.51.100.7 via 192.0.2.1 dev ens4\n\
             leaves\n\
             ip addr flush dev ens4\n\
             ip link set dev ens4 down\n\
             ip link set dev ens4 down\n",
            "{shell:?}"
        );
        assert_eq!(
            ran(shell, &by_name, &[LOOPBACK, OTHER, ("eno3", "52:54:00:12:34:03", true)], "eno3"),
            "ip link set dev eno3 up\n\
             dayone: eno3 gets 10.0.0.9/32\n\
             ip link set dev eno3 down\n\
             ip link set dev eno3 address 52:54:00:12:34:0a\n\
             ip link set dev eno3 up\n\
             ip addr add 10.0.0.9/32 dev eno3\n\
             ip route add 10.0.0.1 dev eno3\n\
             ip route add 10.1.0.7 via 10.0.0.1 dev eno3\n\
             leaves\n\
             ip addr flush dev eno3\n\
             ip link set dev eno3 down\n\
             ip link set dev eno3 address 52:54:00:12:34:03\n\
             ip link set dev eno3 down\n",
            "{shell:?}"
        );
        // The NIC that already has the MAC address is meant, whatever its name.
        let renamed = ran(shell, &by_name, &[("eth7", "52:54:00:12:34:0a", true)], "eth7");
        assert!(
            renamed.starts_with("ip link set dev eth7 up\ndayone: eth7 gets 10.0.0.9/32\nip addr add"),
            "{renamed}"
        );
        for (nics, message) in [
            (&[LOOPBACK, OTHER][..], "panic dayone: there is no NIC 52:54:00:12:34:01/\n"),
            (&[(FOUND.0, FOUND.1, false)], "ip link set dev ens4 up\npanic dayone: no link on ens4\n"),
            (&[FOUND], "panic dayone: no answer from 192.0.2.1 on ens4\n"),
        ] {
            let failed = ran(shell, &by_mac, nics, "none");
            assert!(failed.ends_with(message), "{shell:?}: {failed}");
        }
    }
    let directory = TempDir::new().unwrap();
    let script = directory.path().join("component.sh");
    fs::write(&script, by_mac).unwrap();
    // SC3043: dash and busybox have `local`. SC2148: read by another script.
    run(Command::new("shellcheck").args(["--shell=sh", "--exclude=SC3043,SC2148"]).arg(&script));
}

/// live-boot of three releases of Debian calls the functions of the component, and then fetches from the URL.
#[test]
fn live_boot_takes_the_functions_in_place_of_its_own() {
    let component = built_component(HOST, URL);
    for (release, components) in
        [("bullseye", "lib/live/boot"), ("bookworm", "lib/live/boot"), ("trixie", "usr/lib/live/boot")]
    {
        let directory = cache().join("live-boot").join(release).join(components);
        let mut files: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let names: Vec<_> = files.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert!(names.len() > 10 && *names.last().unwrap() < "9999-dayone.sh", "{release}: {names:?}");
        for shell in SHELLS {
            let machine = Machine::new(&[LOOPBACK, OTHER, FOUND], "ens4");
            // As /bin/live-boot reads them.
            let theirs = files.iter().zip(&names);
            let theirs = theirs.map(|(path, name)| machine.script(name, &fs::read_to_string(path).unwrap()));
            let components = theirs.chain([machine.script("9999-dayone.sh", &component)]).collect::<String>();
            let programs = "panic() { echo \"panic $*\"; exit 1; }\nlog_begin_msg() { :; }\n\
                            wget() { echo \"wget $*\"; }\nmount() { echo \"mount $*\"; }\n";
            let lines = format!(
                "{components}{programs}LIVE_BOOT_CMDLINE='boot=live components fetch={URL}'\n\
                 Cmdline_old && Select_eth_device && do_netmount && echo fetched\n"
            );
            let said = machine.run(shell, &lines);
            let (network, fetched) = said.split_once("mount -t ramfs").unwrap_or_else(|| panic!("{release}: {said}"));
            assert!(network.contains("ip route add 198.51.100.7 via 192.0.2.1 dev ens4\n"), "{release}: {said}");
            assert!(fetched.contains(&format!("wget {URL} -O ")), "{release}: {said}");
            assert!(fetched.ends_with("live/rootfs.squashfs\nfetched\n"), "{release}: {said}");
        }
    }
}

/// The first NIC has no link or does not reach the router, and the second does.
#[test]
fn of_a_bond_the_nic_is_taken_by_which_the_router_answers() {
    let bond = "interfaces: [{name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [ens3, ens4]}, \
                ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]";
    let component = built_component(bond, URL);
    let configured = |nic: &str| {
        format!(
            "dayone: {nic} gets 198.51.100.9/24\n\
             ip addr add 198.51.100.9/24 dev {nic}\n"
        )
    };
    let left = "leaves\nip addr flush dev ens4\nip link set dev ens4 down\nip link set dev ens3 down\nip link set dev ens4 down\n";
    let up = "ip link set dev ens3 up\nip link set dev ens4 up\n";
    for shell in SHELLS {
        let without_link = ran(shell, &component, &[(OTHER.0, OTHER.1, false), FOUND], "ens4");
        assert_eq!(without_link, format!("{up}{}{left}", configured("ens4")), "{shell:?}");
        let elsewhere = ran(shell, &component, &[OTHER, FOUND], "ens4");
        let given_up = "dayone: no answer from 198.51.100.7\nip addr flush dev ens3\nip link set dev ens3 down\n\
                        ip link set dev ens3 up\n";
        assert_eq!(elsewhere, format!("{up}{}{given_up}{}{left}", configured("ens3"), configured("ens4")), "{shell:?}");
        // One that is missing does not stop the other.
        assert!(ran(shell, &component, &[FOUND], "ens4").contains(&configured("ens4")), "{shell:?}");
    }
}

#[test]
fn a_host_whose_network_live_boot_cannot_have_is_refused_with_a_finding() {
    let directory = TempDir::new().unwrap();
    let image = directory.path().join("minimal.iso");
    let bond = "interfaces: [{name: bond0, type: bond, link-aggregation: {mode: 802.3ad, port: [eno1, eno2]}, \
                ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]";
    for (document, url, reason) in [
        (bond, URL, "initramfs-network-unsupported"),
        (HOST, "http://mirror.example/rootfs.squashfs", "names its server \"mirror.example\""),
        (HOST, "https://198.51.100.7/rootfs.squashfs", "which verifies no certificate"),
        (&HOST.replace("0.0.0.0/0", "172.16.0.0/12"), URL, "root-server-unreachable"),
    ] {
        let refused = build(document, url, &image);
        let errors = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{errors}");
        assert!(errors.contains(reason) && !image.exists(), "{errors}");
    }
}

#[test]
fn the_server_serves_the_root_file_system_to_hosts_that_reach_it() {
    let base = debian_live_iso();
    let media = free_address();
    let url = format!("http://198.51.100.7:{}", media.rsplit(':').next().unwrap());
    let server = Server::start_at(&free_address(), &media, "live", &base, &["--media-url", &url]);
    let order = |document: &str| {
        let order = Client::new().post(format!("{}/v1/images?base=live&format=minimal-iso", server.api));
        let answer = order.header("content-type", "application/yaml").body(document.to_owned()).send().unwrap();
        (answer.status().as_u16(), answer.json::<Value>().unwrap())
    };
    let (status, image) = order(HOST);
    assert_eq!(status, 201, "{image:#}");
    let root = image["files"]["rootfs.squashfs"]["url"].as_str().unwrap();
    assert!(image["kernel_arguments"].as_str().unwrap().ends_with(&format!(" fetch={root}")), "{image:#}");
    let served = reqwest::blocking::get(root.replace(&url, &format!("http://{media}"))).unwrap().bytes().unwrap();
    let directory = TempDir::new().unwrap();
    assert!(fs::read(extracted(&base, ROOT, directory.path())).unwrap() == served);

    let (status, problem) = order(&HOST.replace("0.0.0.0/0", "172.16.0.0/12"));
    assert_eq!(status, 422, "{problem:#}");
    let codes: Vec<&Value> = problem["findings"].as_array().unwrap().iter().map(|finding| &finding["code"]).collect();
    assert_eq!(codes, ["root-server-unreachable"], "{problem:#}");
}
