//! NetworkManager's connection profiles (`.nmconnection`). All files in a directory belong to one host. The host has the
//! directory's name, if that is a valid host name.

use std::collections::BTreeMap;

use crate::input::host_part::HostPart;
use crate::input::text::NamedText;
use vocabulary::host::{HostName, KeyfileDocument, NetworkDocument};
use vocabulary::report::{DocumentPath, Report, Reported};

/// The directory of profiles on every system, which is not the name of a host.
const SYSTEM_CONNECTIONS: [&str; 3] = ["etc", "NetworkManager", "system-connections"];

/// The shape of their hosts.
const SHAPE: &str = "NetworkManager's profiles";

/// The profiles of one host.
pub(in crate::input) struct Profiles<'a> {
    /// The host's name.
    pub(in crate::input) name: Option<&'a str>,
    /// The path of the first profile.
    pub(in crate::input) path: DocumentPath,
    texts: Vec<&'a NamedText<'a>>,
}

/// Groups profiles by host, in their order.
pub(in crate::input) fn by_host<'a>(texts: &'a [NamedText<'a>]) -> Vec<Profiles<'a>> {
    let mut hosts: Vec<Profiles<'a>> = Vec::new();
    let mut positions = BTreeMap::new();
    for text in texts {
        let directories = directories(text.name);
        let name = host_name(&directories);
        // Two directories with the same name, or without one, are still two hosts.
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

/// Returns the directories in the path of a file.
fn directories(file: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    parts.retain(|part| !part.is_empty() && *part != ".");
    parts
}

/// Returns the host's name: the last directory, if it is a host name, or the directory that contains a copy of the system's
/// own tree.
fn host_name<'a>(directories: &[&'a str]) -> Option<&'a str> {
    let named = directories.strip_suffix(&SYSTEM_CONNECTIONS).unwrap_or(directories);
    let name = *named.last()?;
    (!SYSTEM_CONNECTIONS.contains(&name) && name.parse::<HostName>().is_ok()).then_some(name)
}

impl Profiles<'_> {
    /// Reads the host's network.
    pub(in crate::input) fn read(&self, report: &mut Report) -> Result<HostPart, Reported> {
        let read = |text: &&NamedText<'_>| {
            let file = text.name.rsplit('/').next().unwrap_or_default();
            // The content has been decompressed.
            document(file.strip_suffix(".gz").unwrap_or(file), &text.content, text.path.clone(), report)
        };
        // Every file is read before the first error counts, so that the user sees all errors at once.
        let documents: Vec<_> = self.texts.iter().map(read).collect();
        let documents = documents.into_iter().collect::<Result<_, _>>()?;
        let network = NetworkDocument::Keyfiles(documents);
        let name = self.name.map(|name| (name.to_owned(), self.path.clone()));
        Ok(HostPart { name, ..HostPart::nameless(SHAPE, network) })
    }
}

/// Makes a profile of the content of a file.
pub(super) fn document(
    name: &str,
    content: &[u8],
    path: DocumentPath,
    report: &mut Report,
) -> Result<KeyfileDocument, Reported> {
    match std::str::from_utf8(content) {
        Ok(content) => Ok(KeyfileDocument { name: name.to_owned(), content: content.to_owned(), path }),
        Err(error) => {
            let message = format!("is not UTF-8 text: byte {}", error.valid_up_to());
            Err(report.refuse("not-utf-8", &path, message))
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
