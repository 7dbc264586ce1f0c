//! Minimal ISOs of live systems: the machine reads its kernel and its initramfs from the medium, and fetches its root file system from
//! dayone. There is no DHCP: the network is that of the host's document.

use std::fs;
use std::path::Path;

use acceptance::bases::{anaconda_iso, debian_live_iso, dracut_live_iso};
use acceptance::machine_hosts::{MAC, ON_QEMUS_NETWORK, OTHER_MAC, assert_network};
use acceptance::qemu::{Boot, Machine, asks_dhcp, packets};
use acceptance::report::Report;
use acceptance::server::{Server, free_address};
use serde_json::Value;

const ALONE_IN_ITS_NETWORK: &str = "
interfaces:
- name: enp0s2
  type: ethernet
  state: up
  mac-address: 52:54:00:12:34:0a
  mtu: 1400
  ipv4: {enabled: true, address: [{ip: 10.0.2.78, prefix-length: 32}]}
  ipv6: {enabled: false}
routes:
  config:
  - {destination: 10.0.2.2/32, next-hop-interface: enp0s2}
  - {destination: 0.0.0.0/0, next-hop-address: 10.0.2.2, next-hop-interface: enp0s2}
";

/// A bond of the NIC that leads to this machine and of one that leads nowhere.
const BOND: &str = "
interfaces:
- {name: uplink-a, type: ethernet, state: up, identifier: mac-address, mac-address: 52:54:00:12:34:01}
- {name: uplink-b, type: ethernet, state: up, identifier: mac-address, mac-address: 52:54:00:12:34:02}
- name: bond0
  type: bond
  state: up
  link-aggregation: {mode: active-backup, options: {miimon: '100'}, port: [uplink-a, uplink-b]}
  ipv4: {enabled: true, address: [{ip: 10.0.2.77, prefix-length: 24}]}
  ipv6: {enabled: false}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.0.2.2, next-hop-interface: bond0}]}
";

/// A host that has booted.
struct Booted {
    /// The base, as the API shows it.
    base: Value,
    /// What was read of the image.
    reading: Value,
    /// What became of the network.
    report: Report,
}

/// Boots the minimal ISO that dayone publishes for the host, on a machine that may have more to it.
fn booted(base: &Path, document: &str, boot: Boot, more: impl Fn(Machine) -> Machine) -> Booted {
    let media = free_address();
    let port = media.rsplit(':').next().unwrap();
    let url = format!("http://10.0.2.2:{port}");
    let server = Server::start_at(&free_address(), &media, "live", base, &["--media-url", &url]);
    let answer = reqwest::blocking::Client::new()
        .post(format!("{}/v1/images?base=live&format=minimal-iso", server.api))
        .header("Content-Type", "application/yaml")
        .body(document.to_owned())
        .send()
        .unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().unwrap());
    let image: Value = answer.json().unwrap();

    let directory = tempfile::tempdir().unwrap();
    let medium = image["url"].as_str().unwrap().replace(&url, &format!("http://{media}"));
    let small = reqwest::blocking::Client::new().head(&medium).send().unwrap();
    let small: u64 = small.headers()["content-length"].to_str().unwrap().parse().unwrap();
    let whole = fs::metadata(base).unwrap().len();
    assert!(small * 3 < whole, "{small} of {whole}");

    // QEMU reads the medium from dayone, as a BMC does.
    let machine = Machine::with_image(Path::new(&medium), boot).nic_to_here(MAC, directory.path());
    let report = more(machine).report();
    let asked = packets(directory.path()).iter().filter(|frame| asks_dhcp(frame)).count();
    assert_eq!(asked, 0, "the host asked DHCP");
    let reading = format!("{}/v1/images/{}/reading", server.api, image["id"].as_str().unwrap());
    let get = |url: String| reqwest::blocking::get(url).unwrap().json().unwrap();
    Booted { base: get(format!("{}/v1/bases/live", server.api)), reading: get(reading), report }
}

/// The root file system came in whole over the host's NIC, and the medium is read as far as a boot needs it.
fn assert_fetched(rootfs: &str, by: &str, base: &Value, reading: &Value) {
    let file = |name: &str| {
        let files = reading["files"].as_array().unwrap().iter();
        let mut file = files.filter(|file| file["name"] == name);
        let file = file.next().unwrap_or_else(|| panic!("{reading:#}"));
        (file["read"].as_u64().unwrap(), file["size"].as_u64().unwrap(), file["clients"].to_string())
    };
    let (read, size, clients) = file(rootfs);
    assert_eq!(read, size, "{reading:#}");
    assert!(clients.contains(by), "{reading:#}");
    let (read, _, _) = file("boot.iso");
    assert_eq!(base["minimal_iso"]["verdict"], "possible", "{base:#}");
    let reads = base["medium_reads"].as_array().unwrap();
    let reads = reads.iter().find(|reads| reads["format"] == "minimal-iso").unwrap_or_else(|| panic!("{base:#}"));
    let [least, most] = ["at_least", "at_most"].map(|bound| reads[bound].as_u64().unwrap());
    println!("{read} bytes of the medium were read, and {least} to {most} expected");
    assert!((least..=most).contains(&read), "{reading:#}");
}

fn boots_dracut(iso: &Path, boot: Boot) -> Booted {
    boots_dracut_on(iso, boot, |machine| machine)
}

fn boots_dracut_on(iso: &Path, boot: Boot, more: impl Fn(Machine) -> Machine) -> Booted {
    let booted = booted(iso, ON_QEMUS_NETWORK, boot, more);
    let Booted { base, reading, report } = &booted;
    assert_network(ON_QEMUS_NETWORK, report);
    assert!(report.initramfs().iter().any(|line| line.contains("10.0.2.77/24")), "{report:#?}");
    assert_fetched("rootfs.img", "curl/", base, reading);
    booted
}

#[test]
fn a_dracut_live_system_fetches_its_root() {
    boots_dracut(&dracut_live_iso(), Boot::BiosCd);
}

/// The partition tables lead to a boot partition that has moved.
#[test]
#[ignore = "make matrix runs it"]
fn a_dracut_live_system_fetches_its_root_as_a_usb_stick() {
    boots_dracut(&dracut_live_iso(), Boot::UefiUsb);
}

#[test]
#[ignore = "make matrix runs it"]
fn a_dracut_live_system_fetches_its_root_with_uefi() {
    boots_dracut(&dracut_live_iso(), Boot::UefiCd);
}

/// The medium comes as slowly as from a slow BMC. Firmware, boot loader and kernel must put up with it, and it takes as long as dayone says
/// before the boot.
#[test]
#[ignore = "make matrix runs it"]
fn a_slow_bmc_takes_as_long_as_dayone_says() {
    const SPEED: u32 = 250_000;
    let Booted { base, reading, .. } =
        boots_dracut_on(&dracut_live_iso(), Boot::BiosCd, |machine| machine.reads_at_most(SPEED));
    let file = reading["files"].as_array().unwrap().iter().find(|file| file["name"] == "boot.iso").unwrap();
    let time = |key: &str| file[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let seconds = (time("last_read") - time("first_read")).get_seconds();
    let reads = base["medium_reads"].as_array().unwrap();
    let reads = reads.iter().find(|reads| reads["format"] == "minimal-iso").unwrap();
    let [least, most] = ["at_least", "at_most"].map(|bound| reads[bound].as_i64().unwrap() / i64::from(SPEED));
    println!("{seconds} s at {SPEED} bytes a second, and {least} to {most} expected");
    // Until the system runs, it computes as well, and some blocks are read twice.
    assert!((least..=most + most / 5 + 60).contains(&seconds), "{seconds}: {reads}, {file:#}");
}

/// The system of an installation medium, which `inst.stage2=` looks for on the medium. Anaconda's own part of the initramfs is not
/// there: that it leaves `root=` to dracut is what its source says (`dracut/parse-anaconda-repo.sh`).
#[test]
#[ignore = "make matrix runs it"]
fn an_installation_medium_of_anaconda_fetches_its_system() {
    boots_dracut(&anaconda_iso(), Boot::UefiCd);
}

/// live-boot's own network is DHCP. The live system must find the NIC as if the initramfs had not used it: NetworkManager activates the
/// keyfile, and no profile that it has made of addresses on the NIC.
fn boots_live_boot(document: &str, connections: &[&str], boot: Boot) {
    let Booted { base, reading, report } = {
        let with_other_nic = connections.len() > 1;
        booted(
            &debian_live_iso(),
            document,
            boot,
            |machine| if with_other_nic { machine.nic(OTHER_MAC) } else { machine },
        )
    };
    assert_network(document, &report);
    let mut found: Vec<_> = report.connections();
    found.sort();
    assert_eq!(found.iter().map(|found| found.name.as_str()).collect::<Vec<_>>(), connections, "{report:#?}");
    for connection in found {
        assert_eq!(connection.state, "activated", "{report:#?}");
        assert!(connection.file.starts_with("/etc/NetworkManager/system-connections/"), "{report:#?}");
    }
    assert_fetched("rootfs.squashfs", "Wget", &base, &reading);
}

#[test]
#[ignore = "make matrix runs it"]
fn a_live_system_of_live_boot_fetches_its_root() {
    boots_live_boot(ON_QEMUS_NETWORK, &["provisioning"], Boot::BiosCd);
}

#[test]
#[ignore = "make matrix runs it"]
fn a_live_system_of_live_boot_fetches_its_root_as_a_usb_stick() {
    boots_live_boot(ON_QEMUS_NETWORK, &["provisioning"], Boot::UefiUsb);
}

/// The NIC is found by its name, has another MTU and MAC address, and is alone in its network: the server needs a route of its own.
#[test]
#[ignore = "make matrix runs it"]
fn live_boot_finds_a_nic_by_its_name_and_a_server_beyond_its_network() {
    boots_live_boot(ALONE_IN_ITS_NETWORK, &["enp0s2"], Boot::UefiCd);
}

/// The initramfs uses one NIC of the bond, and the live system makes a bond of both.
#[test]
#[ignore = "make matrix runs it"]
fn live_boot_fetches_by_one_nic_of_a_bond() {
    boots_live_boot(BOND, &["bond0", "uplink-a", "uplink-b"], Boot::BiosCd);
}
