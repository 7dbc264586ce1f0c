//! Machines that boot media in the layout of Talos' ISOs: the network configuration of the host reaches the kernel of what stands in
//! Talos' place.

use std::fs;
use std::path::Path;

use acceptance::peers::run;
use acceptance::qemu::{Boot, boot_image};
use acceptance::server::dayone;
use acceptance::small_system::Said;
use acceptance::talos::{ARGUMENTS, iso, network_in};
use serde_json::Value;

const HOST: &str = "
hostname: {config: node-1}
interfaces:
- name: bond0
  type: bond
  state: up
  link-aggregation: {mode: 802.3ad, options: {lacp_rate: fast}, port: [eno1, eno2]}
- {name: bond0.35, type: vlan, state: up, vlan: {base-iface: bond0, id: 35},
   ipv4: {enabled: true, address: [{ip: 192.0.2.7, prefix-length: 24}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: bond0.35}]}
dns-resolver: {config: {server: [192.0.2.53]}}
";

fn arrives(format: &str, boot: Boot) {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (host, image) = (directory.join("host.yaml"), directory.join(format!("host.{format}")));
    fs::write(&host, HOST).unwrap();
    build(&host, &iso(directory), format, &image);
    let console = boot_image(&image, boot);
    let said = Said::on(&console);
    let arguments = said.arguments();
    assert!(arguments.contains(ARGUMENTS), "{arguments}");
    let network: Value = serde_json::from_str(&network_in(arguments)).unwrap();
    assert_eq!(network["links"].as_array().unwrap().len(), 4, "{network}");
    assert_eq!(network["addresses"][0]["address"], "192.0.2.7/24");
    assert_eq!(network["hostnames"][0]["hostname"], "node-1");
}

fn build(host: &Path, base: &Path, format: &str, image: &Path) {
    let mut build = dayone();
    build.arg("build").arg(host).args(["--format", format, "--base"]).arg(base).arg("--output").arg(image);
    run(&mut build);
}

#[test]
fn grub_passes_the_network_on_from_a_cd() {
    arrives("iso", Boot::BiosCd);
}

#[test]
fn grub_passes_the_network_on_from_a_disk() {
    arrives("usb", Boot::BiosDisk);
}

#[test]
#[ignore = "make matrix runs it"]
fn the_unified_kernel_image_gets_it_from_a_cd() {
    arrives("iso", Boot::UefiCd);
}

#[test]
#[ignore = "make matrix runs it"]
fn the_unified_kernel_image_gets_it_from_a_usb_stick() {
    arrives("usb", Boot::UefiUsb);
}
