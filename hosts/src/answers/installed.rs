//! The network files of the installed system, which the installer copies.

use std::fmt::Write as _;

use super::InstallerFile;
use crate::network::ConvertedNetwork;
use vocabulary::host::HostName;

/// Where the files wait in the installer's system, beneath their paths in the installed system.
pub(super) const DIRECTORY: &str = "/usr/lib/dayone/installed";

/// Returns units of systemd-networkd, the host name and the name servers, for a system without another network manager.
pub(super) fn files(network: &ConvertedNetwork, hostname: Option<&HostName>) -> Vec<InstallerFile> {
    let file = |path: &str, content: String| InstallerFile {
        path: format!("{DIRECTORY}{path}"),
        is_program: false,
        is_secret: false,
        content,
    };
    let units = network.networkd_units.iter();
    let units = units.map(|unit| file(&format!("/etc/systemd/network/{}", unit.name), unit.content.clone()));
    let mut files: Vec<InstallerFile> = units.collect();
    files.extend(hostname.map(|name| file("/etc/hostname", format!("{name}\n"))));
    let dns = &network.topology.dns;
    if !dns.servers.is_empty() {
        let mut text = String::from("# Written by dayone.\n");
        // Writing to a String does not fail.
        if !dns.search.is_empty() {
            let _ = writeln!(text, "search {}", dns.search.join(" "));
        }
        for server in &dns.servers {
            let _ = writeln!(text, "nameserver {}", server.address);
        }
        files.push(file("/etc/resolv.conf", text));
    }
    files
}
