//! NetworkManager's own connection profiles (`.nmconnection`): all files of one directory are of one host, which is
//! called as the directory, if a host can be called so.

use std::collections::BTreeMap;

use super::flaw::Reported;
use super::part::HostPart;
use super::text::NamedText;
use vocabulary::host::{HostName, KeyfileDocument, NetworkDocument};
use vocabulary::report::{DocumentPath, Report};

/// The directory in which every system has its profiles: no host is called so.
const SYSTEM_CONNECTIONS: [&str; 3] = ["etc", "NetworkManager", "system-connections"];

/// What they are, for sentences.
const SHAPE: &str = "NetworkManager's profiles";

/// The profiles of one host.
pub(super) struct Profiles<'a> {
    /// What the host is called.
    pub(super) name: Option<&'a str>,
    /// Where the first of them stands.
    pub(super) path: DocumentPath,
    texts: Vec<&'a NamedText<'a>>,
}

/// The profiles, host by host, in the order in which they come.
pub(super) fn by_host<'a>(texts: &'a [NamedText<'a>]) -> Vec<Profiles<'a>> {
    let mut hosts: Vec<Profiles<'a>> = Vec::new();
    let mut positions = BTreeMap::new();
    for text in texts {
        let directories = directories(text.name);
        let name = host_name(&directories);
        // Two directories of one name, or without one, are two hosts all the same.
        let position = *positions.entry(directories).or_insert(hosts.len());
        if position == hosts.len() {
            hosts.push(Profiles { name, path: text.path.clone(), texts: Vec::new() });
        }
        if let Some(host) = hosts.get_mut(position) {
            host.texts.push(text);
        }
    }
    hosts
}

/// The directories that lead to the file, however they are written.
fn directories(file: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    parts.retain(|part| !part.is_empty() && *part != ".");
    parts
}

/// What the directories call the host, if it can be called so: the last of them, or of a copy of a system's own tree the
/// one that holds the tree.
fn host_name<'a>(directories: &[&'a str]) -> Option<&'a str> {
    let named = directories.strip_suffix(&SYSTEM_CONNECTIONS).unwrap_or(directories);
    let name = *named.last()?;
    (!SYSTEM_CONNECTIONS.contains(&name) && name.parse::<HostName>().is_ok()).then_some(name)
}

impl Profiles<'_> {
    /// What the profiles say of their host: its network, and what it is called.
    pub(super) fn part(&self, report: &mut Report) -> Result<HostPart, Reported> {
        let read = |text: &&NamedText<'_>| {
            let file = text.name.rsplit('/').next().unwrap_or_default();
            // What was compressed has been unpacked.
            document(file.strip_suffix(".gz").unwrap_or(file), &text.content, text.path.clone(), report)
        };
        // All that is wrong is said at once.
        let documents: Vec<_> = self.texts.iter().map(read).collect();
        let documents = documents.into_iter().collect::<Result<_, _>>()?;
        let network = NetworkDocument::Keyfiles(documents);
        let name = self.name.map(|name| (name.to_owned(), self.path.clone()));
        Ok(HostPart { name, ..HostPart::nameless(SHAPE, network) })
    }
}

/// The profile in a file of this name.
pub(super) fn document(
    name: &str,
    content: &[u8],
    path: DocumentPath,
    report: &mut Report,
) -> Result<KeyfileDocument, Reported> {
    match std::str::from_utf8(content) {
        Ok(content) => Ok(KeyfileDocument { name: name.to_owned(), content: content.to_owned(), path }),
        Err(error) => {
            report.error("not-utf-8", &path, format!("is not UTF-8 text: byte {}", error.valid_up_to()));
            Err(Reported)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_called_as_the_directories_of_their_profiles() {
        for (file, name) in [
            ("eth0.nmconnection", None),
            ("worker-0/eth0.nmconnection", Some("worker-0")),
            ("fleet/worker-0.example.com/eth0.nmconnection", Some("worker-0.example.com")),
            ("/etc/NetworkManager/system-connections/eth0.nmconnection", None),
            ("worker-0/etc/NetworkManager/system-connections/eth0.nmconnection", Some("worker-0")),
            ("worker-0/system-connections/eth0.nmconnection", None),
            ("worker_0/eth0.nmconnection", None),
            ("my hosts/eth0.nmconnection", None),
            ("./eth0.nmconnection", None),
            ("/eth0.nmconnection", None),
        ] {
            assert_eq!(host_name(&directories(file)), name, "{file}");
        }
    }
}
