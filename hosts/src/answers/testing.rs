//! Hosts and their completed answer files, for tests.

use super::{InstalledSystem, InstallerFile, check_arguments, complete, network_files};
use crate::network::{Target, convert_network};
use vocabulary::answers::{Answers, Installer};
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::{DocumentPath, Report, Reported};

pub(super) const STATIC: &str = "
hostname: {config: worker-0.example.com}
interfaces:
- {name: eno1, type: ethernet, state: up, identifier: mac-address, mac-address: '52:54:00:00:00:01',
   ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]},
   ipv6: {enabled: true, address: [{ip: '2001:db8::10', prefix-length: 64}]}}
- {name: eno2, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 198.51.100.10, prefix-length: 25}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1}]}
dns-resolver: {config: {server: [192.0.2.53, '2001:db8::53'], search: [example.com]}}
";

pub(super) const BOND: &str = "
interfaces:
- {name: eno1, type: ethernet, state: up}
- {name: eno2, type: ethernet, state: up}
- {name: bond0, type: bond, state: up, link-aggregation: {mode: 802.3ad, port: [eno1, eno2]}}
- {name: bond0.7, type: vlan, state: up, vlan: {base-iface: bond0, id: 7},
   ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: bond0.7}]}
dns-resolver: {config: {server: [192.0.2.53]}}
";

/// The files for a host, and the findings.
pub(super) fn completed(kind: Installer, nmstate: &str, text: &str) -> (Option<Vec<InstallerFile>>, Vec<String>) {
    let answers = Answers { kind, text: text.to_owned() };
    checked(kind, nmstate, |system, report| complete(&answers, system, report))
}

/// The findings about a kernel argument.
pub(super) fn argument_findings(kind: Installer, nmstate: &str, argument: &str) -> Vec<String> {
    let place = DocumentPath::document("kernel arguments");
    checked(kind, nmstate, |system, report| check_arguments(kind, [argument], system, &place, report)).1
}

/// What a check of a host's installed system returns, and the findings.
fn checked<T>(
    kind: Installer,
    nmstate: &str,
    check: impl FnOnce(InstalledSystem<'_>, &mut Report) -> Result<T, Reported>,
) -> (Option<T>, Vec<String>) {
    let document = NmstateDocument::new(serde_yaml::from_str(nmstate).unwrap(), DocumentPath::root());
    let target = Target { files: network_files(kind), no_auto_default: true, ..Target::default() };
    let (network, mut report) = convert_network(&HostSpec::with_network(document), target);
    let network = network.unwrap_or_else(|| panic!("{:?}", report.findings()));
    let system = InstalledSystem { network: &network, hostname: network.hostname.as_ref(), no_auto_default: true };
    let found = check(system, &mut report).ok();
    assert_eq!(found.is_none(), report.has_errors());
    (found, report.findings().iter().map(|finding| format!("{finding} [{}]", finding.code)).collect())
}

pub(super) fn file<'a>(files: &'a [InstallerFile], path: &str) -> &'a str {
    let found = files.iter().find(|file| file.path == path);
    &found.unwrap_or_else(|| panic!("{path} is not one of {files:?}")).content
}

/// What a script installs for [`STATIC`].
pub(super) const INSTALLED: [&str; 4] = [
    "install_file /etc/NetworkManager/system-connections/eno1.nmconnection 0600 <<'END'",
    "install_file /etc/NetworkManager/system-connections/eno2.nmconnection 0600 <<'END'",
    "install_file /etc/NetworkManager/conf.d/99-dayone-no-auto-default.conf 0644 <<'END'",
    "install_file /etc/hostname 0644 <<'END'",
];

/// The lines of a script that install files.
pub(super) fn installed(script: &str) -> Vec<&str> {
    script.lines().filter(|line| line.starts_with("install_file ")).collect()
}
