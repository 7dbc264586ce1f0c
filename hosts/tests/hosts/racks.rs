//! Mistakes in a data centre's worth of hosts: found are these, and nothing else.

#[expect(unreachable_pub, clippy::expect_used, reason = "the benchmark's crate has it as a part of a library")]
#[path = "../../../tests/src/rack.rs"]
mod rack;

use hosts::every_host::convert;
use hosts::input::{Limits, Text, locate_within, read_within};
use rack::RackHost;

/// Racks of hosts without a mistake. Without optimisation, the ten thousand of `docs/benchmarks.md` would take minutes.
fn hosts() -> Vec<RackHost> {
    rack::hosts(300)
}

/// Each finding with its line, and what stands there.
fn findings(text: &str) -> Vec<String> {
    let texts = || [Text { name: None, text: text.as_bytes() }];
    let mut converted = convert(read_within(Limits::FILES, texts()));
    assert_eq!(converted.hosts.len(), hosts().len());
    assert!(converted.hosts.iter().all(|(_, network)| network.is_some()));
    locate_within(Limits::FILES, texts(), &mut converted.report);
    let lines: Vec<&str> = text.lines().collect();
    let found = converted.report.findings().iter().map(|finding| {
        let line = finding.position.as_ref().map_or(0, |position| position.line);
        let what = lines.get(line.wrapping_sub(1)).map_or("", |line| line.trim());
        format!("{} at {} ({what})", finding.code, finding.path)
    });
    found.collect()
}

#[test]
fn nothing_is_said_of_racks_without_a_mistake() {
    assert_eq!(findings(&rack::stream(&hosts())), [""; 0]);
    assert_eq!(findings(&rack::install_config(&hosts(), ["10.0.0.2", "10.0.0.3"])), [""; 0]);
}

#[test]
fn a_mistake_among_many_hosts_is_found_where_it_is() {
    let mut hosts = hosts();
    hosts[57].address = hosts[56].address.clone();
    hosts[294].boot_mac = hosts[230].boot_mac.clone();
    assert_eq!(
        findings(&rack::stream(&hosts)),
        [
            "address-of-two-hosts at Secret/rack-1-27-network: stringData.nmstate: interfaces[3].ipv4.address[0].ip \
             (- ip: 10.1.0.26)",
            "mac-address-of-two-hosts at BareMetalHost/rack-7-24: spec.bootMACAddress (bootMACAddress: \"02:00:00:05:28:00\")",
        ]
    );
    let virtual_ip = hosts[200].address.clone();
    assert_eq!(
        findings(&rack::install_config(&hosts, [&virtual_ip, "10.0.0.3"])),
        [
            "address-of-two-hosts at platform.baremetal.hosts[57].networkConfig.interfaces[3].ipv4.address[0].ip \
             (- ip: 10.1.0.26)",
            "mac-address-of-two-hosts at platform.baremetal.hosts[294].bootMACAddress \
             (bootMACAddress: \"02:00:00:05:28:00\")",
            "virtual-ip-of-host at platform.baremetal.apiVIPs[0] (apiVIPs: [10.5.0.10])",
        ]
    );
}
