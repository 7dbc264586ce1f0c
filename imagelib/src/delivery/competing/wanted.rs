//! What dayone's keyfiles configure.

use super::may_be_nic;
use super::settings::{matches, settings};
use crate::ignition::Additions;

/// The interfaces of keyfiles.
pub(super) struct Wanted {
    names: Vec<String>,
    /// Their types, in the words of NetworkManager's lists of devices.
    types: Vec<String>,
    /// The text of all keyfiles, in lower case.
    text: String,
    /// Whether there are NICs whose names are not known.
    others: bool,
}

impl Wanted {
    /// The interfaces of the additions; any NIC, if they are not known.
    pub(super) fn of(additions: Option<&Additions>) -> Self {
        let Some(additions) = additions else {
            return Self { names: Vec::new(), types: vec!["ethernet".to_owned()], text: String::new(), others: true };
        };
        let keyfiles = &additions.keyfiles;
        let values = |wanted: &str| -> Vec<String> {
            let all = keyfiles.iter().flat_map(|keyfile| settings(&keyfile.content));
            let found = all.filter(|(section, key, _)| *section == "connection" && *key == wanted);
            found.map(|(.., value)| value.replace("802-3-ethernet", "ethernet")).collect()
        };
        let names = values("interface-name");
        let others = names.len() < keyfiles.len();
        let text = keyfiles.iter().map(|keyfile| keyfile.content.to_lowercase()).collect();
        Self { names, types: values("type"), text, others }
    }

    /// Whether the keyfiles have name servers.
    pub(super) fn has_name_servers(&self) -> bool {
        self.text.lines().any(|line| line.starts_with("dns="))
    }

    /// Whether one of the interfaces may be in a list of devices ("Device List Format" in `NetworkManager.conf(5)`).
    pub(super) fn may_be_in(&self, list: &str) -> bool {
        let devices = list.split([',', ';']).map(str::trim).filter(|device| !device.is_empty());
        let (excepted, listed): (Vec<&str>, Vec<&str>) = devices.partition(|device| device.starts_with("except:"));
        let is_excepted =
            |kind: &String| excepted.iter().any(|device| device.strip_prefix("except:type:") == Some(kind.as_str()));
        if !self.types.is_empty() && self.types.iter().all(is_excepted) {
            return false;
        }
        let is_excepted_name = |name: &String| {
            let patterns = excepted.iter().filter_map(|device| device.strip_prefix("except:interface-name:"));
            let mut patterns = patterns.map(|pattern| pattern.trim_start_matches(['=', '~']));
            patterns.any(|pattern| !pattern.contains('[') && matches(pattern, name))
        };
        if !self.others && !self.names.is_empty() && self.names.iter().all(is_excepted_name) {
            return false;
        }
        // A list of exceptions alone has everything else.
        if listed.is_empty() { !excepted.is_empty() } else { listed.into_iter().any(|device| self.may_be(device)) }
    }

    fn may_be(&self, device: &str) -> bool {
        let (kind, value) = device.split_once(':').unwrap_or(("interface-name", device));
        match kind {
            "type" => self.types.iter().any(|kind| kind == value),
            "interface-name" => self.has_name(value.trim_start_matches(['=', '~'])),
            "mac" => self.text.contains(&value.to_lowercase()),
            "driver" => !value.starts_with("veth"),
            // A MAC address alone, or what dayone does not know.
            _ => true,
        }
    }

    fn has_name(&self, pattern: &str) -> bool {
        self.names.iter().any(|name| matches(pattern, name)) || self.others && may_be_nic(pattern)
    }
}
