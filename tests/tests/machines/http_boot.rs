//! UEFI HTTP boot: OVMF fetches an image from dayone by itself, and its system has the network of the host's document.
//!
//! OVMF always asks DHCP for its own address, whatever its boot entry says. The host never asks.

use std::fs;
use std::path::Path;
use std::process::Command;

use acceptance::bases::{arm64_iso, debian_live_iso, debian_live_iso_with_ram_disk_drivers, ramdisk_iso};
use acceptance::boots;
use acceptance::machine_hosts::{MAC, ON_QEMUS_NETWORK, assert_network};
use acceptance::nginx::Nginx;
use acceptance::peers::run;
use acceptance::qemu::{Machine, asks_dhcp, packets};
use acceptance::server::{Server, free_address};
use serde_json::Value;

/// Whether a frame is from firmware that boots by HTTP.
fn is_by_firmware(frame: &[u8]) -> bool {
    let class = b"HTTPClient:Arch:00016";
    frame.windows(class.len()).any(|window| window == class)
}

/// dayone with one base, which the machine's firmware reaches at a URL: its own, or another one.
fn serving(base: &Path, url: Option<&str>) -> (Server, String) {
    let media = free_address();
    let port = media.rsplit(':').next().unwrap();
    let url = url.map_or_else(|| format!("http://10.0.2.2:{port}"), str::to_owned);
    (Server::start_at(&free_address(), &media, "live", base, &["--media-url", &url]), media)
}

/// The image of the host.
fn image(server: &Server, directory: &Path) -> Value {
    let host = directory.join("host.yaml");
    fs::write(&host, ON_QEMUS_NETWORK).unwrap();
    server.image("live", &host)
}

#[test]
#[ignore = "make matrix runs it"]
fn a_host_boots_from_a_url_and_has_its_static_network() {
    let (server, _) = serving(&ramdisk_iso(&[]), None);
    let directory = tempfile::tempdir().unwrap();
    let image = image(&server, directory.path());
    let url = image["url"].as_str().unwrap_or_else(|| panic!("{image:#}"));

    let report = Machine::by_http(url, MAC, 1536, directory.path()).report();
    assert_network(ON_QEMUS_NETWORK, &report);

    let mut asked = packets(directory.path());
    asked.retain(|frame| asks_dhcp(frame));
    let asked: Vec<bool> = asked.iter().map(|frame| is_by_firmware(frame)).collect();
    assert!(!asked.is_empty() && asked.iter().all(|by_firmware| *by_firmware), "{asked:?}");
    let reading = format!("{}/v1/images/{}/reading", server.api, image["id"].as_str().unwrap());
    let reading: Value = reqwest::blocking::get(reading).unwrap().json().unwrap();
    let client = &reading["files"][0]["clients"][0];
    let counts = (&client["heads"], &client["gets"], &client["range_requests"]);
    assert_eq!(counts, (&1.into(), &1.into(), &0.into()), "{reading:#}");
    assert!(reading.to_string().contains("UefiHttpBoot/1.0"), "{reading:#}");
}

/// The configuration of docs/boots.md.
#[test]
#[ignore = "make matrix runs it"]
fn firmware_fetches_over_https_from_a_server_in_front_of_dayone() {
    let directory = tempfile::tempdir().unwrap();
    let [certificate, key] = ["front.crt", "front.key"].map(|name| directory.path().join(name).display().to_string());
    run(Command::new("openssl")
        .args("req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=front -addext subjectAltName=IP:10.0.2.2".split(' '))
        .args(["-keyout", &key, "-out", &certificate]));
    let der = run(Command::new("openssl").args(["x509", "-outform", "DER", "-in", &certificate]));
    let mut front = Nginx::start(Some([certificate, key]));
    let own = front.url("");
    let (_, port) = own.trim_end_matches('/').rsplit_once(':').unwrap();
    let (server, media) = serving(&ramdisk_iso(&[]), Some(&format!("https://10.0.2.2:{port}")));
    front.kill();
    front.start_again(&format!(
        "ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers HIGH:AES256-GCM-SHA384:AES128-SHA; \
         location /i/ {{ proxy_pass http://{media}; }}"
    ));
    let image = image(&server, directory.path());
    let url = image["url"].as_str().unwrap();
    let machine = Machine::by_http(url, MAC, 1536, directory.path()).trusting(&der, directory.path());
    assert_network(ON_QEMUS_NETWORK, &machine.report());
}

fn runs_from_the_ram_disk(base: &Path, machine: impl Fn(&str, &Path) -> Machine) {
    let (server, _) = serving(base, None);
    let directory = tempfile::tempdir().unwrap();
    let image = image(&server, directory.path());
    let base: Value = reqwest::blocking::get(format!("{}/v1/bases/live", server.api)).unwrap().json().unwrap();
    assert_eq!(base["http_boot"]["verdict"], "possible", "{base:#}");
    let report = machine(image["url"].as_str().unwrap(), directory.path()).report();
    assert_network(ON_QEMUS_NETWORK, &report);
    // The ISO is a hybrid one: the RAM disk has a partition table, and the file system is in the first partition, too.
    let medium = report.mounts().into_iter().find(|mount| mount.contains(" /run/live/medium "));
    assert!(medium.is_some_and(|mount| mount.starts_with("/dev/pmem0")), "{report:#?}");
}

#[test]
#[ignore = "make matrix runs it"]
fn a_live_system_runs_from_the_ram_disk_that_the_firmware_leaves() {
    let base = debian_live_iso_with_ram_disk_drivers();
    runs_from_the_ram_disk(&base, |url, directory| Machine::by_http(url, MAC, 2048, directory));
}

#[test]
#[ignore = "make matrix runs it"]
fn an_arm64_live_system_runs_from_the_ram_disk_that_the_firmware_leaves() {
    let base = arm64_iso("debian-live");
    runs_from_the_ram_disk(&base, |url, directory| Machine::arm64_by_http(url, MAC, 2048, directory));
}

/// Its initramfs has no drivers for a RAM disk and needs none, because the root file system comes over the network.
#[test]
#[ignore = "make matrix runs it"]
fn an_arm64_live_system_of_dracut_fetches_its_root_after_http_boot() {
    let (server, _) = serving(&arm64_iso("dracut-live"), None);
    let directory = tempfile::tempdir().unwrap();
    let answer = reqwest::blocking::Client::new()
        .post(format!("{}/v1/images?base=live&format=minimal-iso", server.api))
        .header("Content-Type", "application/yaml")
        .body(ON_QEMUS_NETWORK)
        .send()
        .unwrap();
    let image: Value = answer.error_for_status().unwrap().json().unwrap();
    let report = Machine::arm64_by_http(image["url"].as_str().unwrap(), MAC, 2048, directory.path()).report();
    assert_network(ON_QEMUS_NETWORK, &report);
    assert!(report.initramfs().iter().any(|line| line.contains("10.0.2.77/24")), "{report:#?}");
}

#[test]
#[ignore = "make matrix runs it"]
fn a_live_system_without_the_drivers_does_not_find_its_medium_and_is_refused() {
    let (server, _) = serving(&debian_live_iso(), None);
    let directory = tempfile::tempdir().unwrap();
    let image = image(&server, directory.path());
    let base: Value = reqwest::blocking::get(format!("{}/v1/bases/live", server.api)).unwrap().json().unwrap();
    assert_eq!(base["http_boot"]["verdict"], "impossible", "{base:#}");
    let documents = boots::documents("worker-0", "http://127.0.0.1:1", "/redfish/v1/Systems/1", "secret");
    let refused = reqwest::blocking::Client::new()
        .post(format!("{}/v1/boots?base=live&method=http", server.api))
        .header("content-type", "application/yaml")
        .body(documents)
        .send()
        .unwrap();
    let problem: Value = refused.json().unwrap();
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("does not boot by HTTP: its initramfs lacks nfit"), "{problem:#}");

    let machine = Machine::by_http(image["url"].as_str().unwrap(), MAC, 1536, directory.path());
    machine.console_until("Unable to find a medium containing a live file system");
}
