//! The preseed file of the Debian installer.
//!
//! Sources, of Debian 12: `rootskel`'s `S30initrd-preseed` reads `/preseed.cfg` of the initramfs before the first question; `netcfg`
//! (1.187) configures one NIC with one address, from its questions `netcfg/*`; `finish-install` runs the programs in
//! `/usr/lib/finish-install.d` in the order of their names, after netcfg's own (`55netcfg-copy-config`) has copied
//! `/etc/network/interfaces` to the installed system.
//!
//! netcfg knows neither bonds nor bridges, and no second address. The installed system therefore gets its network from units of
//! systemd-networkd, which is part of every Debian, and `/etc/network/interfaces` keeps only the loopback interface.

mod arguments;
mod read;

use std::fmt::Write as _;

use super::InstallerFile;
use super::installed;
use super::installer::{self, InstallerNetwork};
use crate::network::ConvertedNetwork;
pub(super) use arguments::{check as check_arguments, names_other_file};
use read::Preseed;
use vocabulary::answers::PRESEED_PROGRAM;
use vocabulary::host::HostName;
use vocabulary::report::{DocumentPath, Report, Reported};

/// Where the installer looks for the file in its initramfs.
const PATH: &str = "/preseed.cfg";
const PROGRAM_CONTENT: &str = include_str!("preseed/finish-install.sh");

/// The document that findings are about.
fn document() -> DocumentPath {
    DocumentPath::document("preseed file")
}

/// Returns the completed file, and what the installer installs.
pub(super) fn complete(
    text: &str,
    network: &ConvertedNetwork,
    hostname: Option<&HostName>,
    report: &mut Report,
) -> Result<Vec<InstallerFile>, Reported> {
    // The installed system has a resolv.conf with the name servers of the documents.
    report.forget("needs-systemd-resolved");
    let (given, mistakes) = Preseed::read(text);
    let mut is_refused = !mistakes.is_empty();
    for (line, mistake) in mistakes {
        report.error("answers-invalid", &document(), format!("line {line} {mistake}"));
    }
    for (question, (line, what)) in &given.elsewhere {
        let message = format!(
            "line {line} has the answer {question}, by which the installer {what}, and dayone does not see what that says of the network"
        );
        report.warning("answers-unchecked", &document(), message);
    }
    let mut written = String::from(text);
    if !text.is_empty() && !text.ends_with('\n') {
        written.push('\n');
    }
    written.push_str("\n# Written by dayone: the network of the host.\n");
    let network_of_installer = installer::network(&network.topology);
    if network_of_installer.is_none() {
        let message = "gives the installer itself no network: no single NIC of the host has an address, and netcfg knows \
                       neither bonds nor VLANs nor bridges. The packages must come from the medium";
        report.warning("installer-without-network", &document(), message);
    }
    if let Some(InstallerNetwork { address: Some(address), refused_gateway: Some(gateway), .. }) = &network_of_installer
    {
        let message = format!(
            "gives the installer itself no router: {gateway} is in no network of the NIC's addresses, and netcfg refuses such a \
             router. The installer has {address} and reaches only what is in that network"
        );
        report.warning("installer-without-router", &document(), message);
    }
    if network.topology.interfaces.iter().any(|nic| nic.ipv4.learns_name_servers())
        && network.topology.dns.servers.is_empty()
    {
        let message = "installs a system that takes no name servers from DHCP unless systemd-resolved is installed: add \
                       it to pkgsel/include, or write name servers into the host's documents";
        report.warning("installed-without-resolver", &document(), message);
    }
    let wanted = answers(network_of_installer.as_ref(), hostname);
    for (question, found) in &given.answers {
        if let Some(wanted) = contradicted(question, &found.value, network_of_installer.as_ref(), &wanted) {
            let message = format!(
                "line {} says {question} is {:?}, and by the host's documents it is {wanted}; remove the line, or correct the one \
                 that is wrong",
                found.line, found.value
            );
            report.error("answers-contradict-network", &document(), message);
            is_refused = true;
        }
    }
    for Answer { question, kind, value, .. } in
        wanted.iter().filter(|answer| !given.answers.contains_key(answer.question))
    {
        // Writing to a String does not fail.
        let _ = writeln!(written, "d-i {question} {kind} {value}");
    }
    if is_refused {
        return Err(Reported);
    }
    let answers = InstallerFile { path: PATH.to_owned(), is_program: false, is_secret: true, content: written };
    let program = InstallerFile {
        path: PRESEED_PROGRAM.to_owned(),
        is_program: true,
        is_secret: false,
        content: PROGRAM_CONTENT.to_owned(),
    };
    Ok([answers, program].into_iter().chain(installed::files(network, hostname)).collect())
}

/// What the installer must be told.
struct Answer {
    question: &'static str,
    kind: &'static str,
    value: String,
    /// Whether the user's own value says the same.
    same: fn(&str, &str) -> bool,
    /// Another value that says the same.
    or: Option<String>,
}

impl Answer {
    fn new(question: &'static str, kind: &'static str, value: impl Into<String>) -> Self {
        Self { question, kind, value: value.into(), same: |given, wanted| given == wanted, or: None }
    }
}

/// Returns what the answer to a question must be by the host's documents, in words, if `given` says something else.
fn contradicted(question: &str, given: &str, network: Option<&InstallerNetwork>, answers: &[Answer]) -> Option<String> {
    if let Some(Answer { value, same, or, .. }) = answers.iter().find(|answer| answer.question == question) {
        let is_same = same(given, value) || or.as_deref() == Some(given);
        return (!is_same).then(|| format!("{value:?}"));
    }
    let (_, wanted) = network.into_iter().flat_map(unwritten).find(|(known, _)| *known == question)?;
    match wanted {
        Some(wanted) => (given != wanted).then(|| format!("{wanted:?}")),
        None => Some("what DHCP says".to_owned()),
    }
}

/// Returns what the installer must know of the network, in a fixed order.
fn answers(network: Option<&InstallerNetwork>, hostname: Option<&HostName>) -> Vec<Answer> {
    let mut all = Vec::new();
    // The installed system has its network from units, and nothing of netcfg's.
    all.push(Answer::new("netcfg/target_network_config", "select", "loopback"));
    match network {
        None => all.push(Answer::new("netcfg/enable", "boolean", "false")),
        Some(InstallerNetwork { nic, address, gateway, servers, .. }) => {
            let same = |given: &str, wanted: &str| given.eq_ignore_ascii_case(wanted);
            all.push(Answer { same, ..Answer::new("netcfg/choose_interface", "select", nic.as_str()) });
            if let Some(address) = address {
                all.push(Answer::new("netcfg/disable_autoconfig", "boolean", "true"));
                all.push(Answer {
                    same: read::same_address,
                    ..Answer::new("netcfg/get_ipaddress", "string", address.to_string())
                });
                all.push(Answer {
                    same: read::same_mask,
                    ..Answer::new("netcfg/get_netmask", "string", address.netmask().to_string())
                });
                // An empty answer would make netcfg guess a router.
                let gateway = gateway.map_or_else(|| "none".to_owned(), |gateway| gateway.to_string());
                all.push(Answer { same: read::same_address, ..Answer::new("netcfg/get_gateway", "string", gateway) });
                let servers = servers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
                all.push(Answer { same: read::same_list, ..Answer::new("netcfg/get_nameservers", "string", servers) });
                all.push(Answer::new("netcfg/confirm_static", "boolean", "true"));
            }
        }
    }
    if let Some(hostname) = hostname {
        let text = hostname.to_string();
        let (short, domain) = text.split_once('.').unwrap_or((&text, ""));
        // netcfg takes the domain from a name that has one.
        let or = (!domain.is_empty()).then(|| text.clone());
        all.push(Answer { or: or.clone(), ..Answer::new("netcfg/get_hostname", "string", short) });
        // Without an answer, netcfg asks for the domain. If the documents name none, the answer is empty, and the file may give any.
        let same = |given: &str, wanted: &str| wanted.is_empty() || given == wanted;
        all.push(Answer { same, ..Answer::new("netcfg/get_domain", "string", domain) });
        all.push(Answer { or, ..Answer::new("netcfg/hostname", "string", short) });
    }
    all
}

/// Answers that the installer need not be given, because they are its defaults, with the only value that they may have; none if they
/// may not be there at all.
fn unwritten(network: &InstallerNetwork) -> Vec<(&'static str, Option<&'static str>)> {
    let is_static = network.address.is_some();
    let mut all = vec![
        ("netcfg/enable", Some("true")),
        ("netcfg/use_autoconfig", Some(if is_static { "false" } else { "true" })),
    ];
    if !is_static {
        all.push(("netcfg/disable_autoconfig", Some("false")));
        all.extend(
            ["netcfg/get_ipaddress", "netcfg/get_netmask", "netcfg/get_gateway"].map(|question| (question, None)),
        );
    }
    all
}

#[cfg(test)]
mod tests;
