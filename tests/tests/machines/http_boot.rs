//! UEFI HTTP boot: OVMF fetches an image from dayone by itself, and its system has the network of the host's document.
//!
//! OVMF always asks DHCP for its own address, whatever its boot entry says. The host never asks.

use std::fs;

use acceptance::bases::ramdisk_iso;
use acceptance::qemu::{Machine, packets};
use acceptance::server::{Server, free_address};
use acceptance::state::differences;
use serde_json::Value;

const MAC: &str = "52:54:00:12:34:01";

/// Addresses of QEMU's network. Its DHCP would offer 10.0.2.15.
const HOST: &str = "
interfaces:
- name: provisioning
  type: ethernet
  state: up
  identifier: mac-address
  mac-address: 52:54:00:12:34:01
  ipv4: {enabled: true, address: [{ip: 10.0.2.77, prefix-length: 24}]}
  ipv6: {enabled: false}
dns-resolver: {config: {server: [10.0.2.3]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.0.2.2, next-hop-interface: provisioning}]}
";

/// Whether a frame is a request for DHCP, and whether that is from firmware that boots by HTTP.
fn dhcp(frame: &[u8]) -> Option<bool> {
    let is_ipv4 = frame.get(12..14)? == [0x08, 0x00];
    let payload = 14 + usize::from(frame.get(14)? & 15) * 4;
    let ports = frame.get(payload..payload + 4)?;
    if !is_ipv4 || frame.get(23)? != &17 || ports != [0, 68, 0, 67] {
        return None;
    }
    let class = b"HTTPClient:Arch:00016";
    Some(frame.windows(class.len()).any(|window| window == class))
}

#[test]
#[ignore = "make matrix runs it"]
fn a_host_boots_from_a_url_and_has_its_static_network() {
    let media = free_address();
    let port = media.rsplit(':').next().unwrap();
    let server = Server::start_at(
        &free_address(),
        &media,
        "live",
        &ramdisk_iso(&[]),
        &["--media-url", &format!("http://10.0.2.2:{port}")],
    );
    let directory = tempfile::tempdir().unwrap();
    let host = directory.path().join("host.yaml");
    fs::write(&host, HOST).unwrap();
    let image = server.image("live", &host);
    let url = image["url"].as_str().unwrap_or_else(|| panic!("{image:#}"));

    let report = Machine::by_http(url, MAC, 1536, directory.path()).report();
    let document: Value = serde_yaml::from_str(HOST).unwrap();
    assert_eq!(differences(&document, &report), [""; 0], "{report:#?}");

    let asked: Vec<bool> = packets(directory.path()).iter().filter_map(|frame| dhcp(frame)).collect();
    assert!(!asked.is_empty() && asked.iter().all(|by_firmware| *by_firmware), "{asked:?}");
    let id = image["id"].as_str().unwrap();
    let reading: Value =
        reqwest::blocking::get(format!("{}/v1/images/{id}/reading", server.api)).unwrap().json().unwrap();
    let client = &reading["files"][0]["clients"][0];
    assert_eq!(
        (&client["heads"], &client["gets"], &client["range_requests"]),
        (&1.into(), &1.into(), &0.into()),
        "{reading:#}"
    );
    assert!(reading.to_string().contains("UefiHttpBoot/1.0"), "{reading:#}");
}
