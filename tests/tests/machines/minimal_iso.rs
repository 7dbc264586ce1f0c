//! Minimal ISOs of live systems: the machine reads its kernel and its initramfs from the medium, and fetches its root file system from
//! dayone. There is no DHCP: the network is that of the host's document.

use std::fs;
use std::path::Path;

use acceptance::bases::dracut_live_iso;
use acceptance::machine_hosts::{MAC, ON_QEMUS_NETWORK, assert_network};
use acceptance::qemu::{Boot, Machine, asks_dhcp, packets};
use acceptance::report::Report;
use acceptance::server::{Server, free_address};
use serde_json::Value;

/// A host that has booted.
struct Booted {
    /// The base, as the API shows it.
    base: Value,
    /// What was read of the image.
    reading: Value,
    /// What became of the network.
    report: Report,
}

/// Boots the minimal ISO that dayone publishes for the host.
fn booted(base: &Path, boot: Boot) -> Booted {
    let media = free_address();
    let port = media.rsplit(':').next().unwrap();
    let url = format!("http://10.0.2.2:{port}");
    let server = Server::start_at(&free_address(), &media, "live", base, &["--media-url", &url]);
    let answer = reqwest::blocking::Client::new()
        .post(format!("{}/v1/images?base=live&format=minimal-iso", server.api))
        .header("Content-Type", "application/yaml")
        .body(ON_QEMUS_NETWORK)
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
    let report = Machine::with_image(Path::new(&medium), boot).nic_to_here(MAC, directory.path()).report();
    let asked = packets(directory.path()).iter().filter(|frame| asks_dhcp(frame)).count();
    assert_eq!(asked, 0, "the host asked DHCP");
    let reading = format!("{}/v1/images/{}/reading", server.api, image["id"].as_str().unwrap());
    let get = |url: String| reqwest::blocking::get(url).unwrap().json().unwrap();
    Booted { base: get(format!("{}/v1/bases/live", server.api)), reading: get(reading), report }
}

/// The root file system came in whole over the host's NIC, and the medium is read as far as a boot needs it.
fn assert_fetched(base: &Value, reading: &Value) {
    let file = |name: &str| {
        let files = reading["files"].as_array().unwrap().iter();
        let mut file = files.filter(|file| file["name"] == name);
        let file = file.next().unwrap_or_else(|| panic!("{reading:#}"));
        (file["read"].as_u64().unwrap(), file["size"].as_u64().unwrap(), file["clients"].to_string())
    };
    let (read, size, clients) = file("rootfs.img");
    assert_eq!(read, size, "{reading:#}");
    assert!(clients.contains("curl/"), "{reading:#}");
    let (read, _, _) = file("boot.iso");
    assert_eq!(base["minimal_iso"]["verdict"], "possible", "{base:#}");
    let reads = base["medium_reads"].as_array().unwrap();
    let reads = reads.iter().find(|reads| reads["format"] == "minimal-iso").unwrap_or_else(|| panic!("{base:#}"));
    let [least, most] = ["at_least", "at_most"].map(|bound| reads[bound].as_u64().unwrap());
    println!("{read} bytes of the medium were read, and {least} to {most} expected");
    assert!((least..=most).contains(&read), "{reading:#}");
}

fn boots(base: &Path, boot: Boot) {
    let Booted { base, reading, report } = booted(base, boot);
    assert_network(ON_QEMUS_NETWORK, &report);
    assert!(report.initramfs().iter().any(|line| line.contains("10.0.2.77/24")), "{report:#?}");
    assert_fetched(&base, &reading);
}

#[test]
fn a_dracut_live_system_fetches_its_root() {
    boots(&dracut_live_iso(), Boot::BiosCd);
}

/// The partition tables lead to a boot partition that has moved.
#[test]
#[ignore = "make matrix runs it"]
fn a_dracut_live_system_fetches_its_root_as_a_usb_stick() {
    boots(&dracut_live_iso(), Boot::UefiUsb);
}

#[test]
#[ignore = "make matrix runs it"]
fn a_dracut_live_system_fetches_its_root_with_uefi() {
    boots(&dracut_live_iso(), Boot::UefiCd);
}
