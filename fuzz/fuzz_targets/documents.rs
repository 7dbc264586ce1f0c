//! Any bytes as a user's documents: no panic, in checking hosts against each other and in finding places neither, and
//! whatever is converted are keyfiles, or units of systemd-networkd, without a stray line.
#![no_main]

use hosts::network::{NetworkFiles, Target, convert_network};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let input = hosts::input::read(bytes);
    assert!(!input.hosts.is_empty() || !input.report.is_empty(), "neither a host nor a finding");
    let mut converted = hosts::every_host::convert(input);
    hosts::input::locate([hosts::input::Text { name: None, text: bytes }], &mut converted.report);
    for (host, network) in converted.hosts {
        assert!(network.is_some() || converted.report.has_errors(), "no network, and no error");
        for keyfile in network.into_iter().flat_map(|network| network.keyfiles) {
            for line in keyfile.content.lines().filter(|line| !line.is_empty()) {
                let section = line.starts_with('[') && line.ends_with(']');
                assert!(
                    section || line.contains('='),
                    "{} has a line that is neither section nor setting",
                    keyfile.name
                );
            }
            assert!(!keyfile.content.contains(['\0', '\r', '\t']), "{}", keyfile.name);
        }
        let target = Target { files: NetworkFiles::TalosNetwork, ..Target::default() };
        let (talos, report) = convert_network(&host, target);
        assert_eq!(talos.is_none(), report.has_errors());
        for network in talos.into_iter().filter_map(|network| network.talos_network) {
            let document = network.document(host.hostname.as_ref()).unwrap_or_default();
            assert!(serde_json::from_str::<serde_json::Value>(&document).is_ok(), "not JSON: {document}");
        }
        let target = Target { files: NetworkFiles::NetworkdUnits, ..Target::default() };
        let (units, report) = convert_network(&host, target);
        assert_eq!(units.is_none(), report.has_errors());
        for unit in units.into_iter().flat_map(|units| units.networkd_units) {
            for line in unit.content.lines().filter(|line| !line.is_empty()) {
                let section = line.starts_with('[') && line.ends_with(']');
                assert!(section || line.contains('='), "{} has a line that is neither section nor setting", unit.name);
                assert!(
                    line.trim() == line && !line.ends_with('\\'),
                    "{} has a line that is read otherwise",
                    unit.name
                );
            }
            assert!(!unit.content.contains(['\0', '\r', '\t']), "{}", unit.name);
        }
    }
});
