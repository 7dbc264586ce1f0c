//! The content of units: sections and settings.
//!
//! The syntax is that of systemd.syntax(7). A backslash at the end of a line joins the next line to it, and blanks
//! around a value are dropped: no value that is written here may begin or end with any of these.

use std::fmt::Write;

/// A setting: its key and its value.
pub(super) type Setting = (&'static str, String);

/// The sections in the order in which people write them.
const ORDER: &[&str] = &[
    "Match",
    "NetDev",
    "VLAN",
    "Bond",
    "VRF",
    "Link",
    "Network",
    "Address",
    "DHCPv4",
    "IPv6AcceptRA",
    "DHCPv6",
    "Route",
    "RoutingPolicyRule",
    "Bridge",
];

/// The content of a unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Content(Vec<(&'static str, Vec<Setting>)>);

impl Content {
    /// Adds a setting to the section of this name.
    pub(super) fn set(&mut self, section: &'static str, key: &'static str, value: impl Into<String>) {
        let value = value.into();
        match self.0.iter_mut().find(|(name, _)| *name == section) {
            Some((_, settings)) => settings.push((key, value)),
            None => self.0.push((section, vec![(key, value)])),
        }
    }

    /// Adds a setting if it has a value.
    pub(super) fn set_some(&mut self, section: &'static str, key: &'static str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.set(section, key, value);
        }
    }

    /// Adds one more section of this name.
    pub(super) fn add(&mut self, section: &'static str, settings: Vec<Setting>) {
        self.0.push((section, settings));
    }

    /// Says for which device a `.netdev` or a `.link` is.
    pub(super) fn name(&mut self, name: &str) {
        match self.0.iter_mut().find(|(section, _)| *section == "NetDev") {
            Some((_, settings)) => settings.insert(0, ("Name", name.to_owned())),
            None => self.set("Match", "OriginalName", name),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As text.
    pub(super) fn render(mut self) -> String {
        self.0.sort_by_key(|(name, _)| ORDER.iter().position(|other| other == name));
        let mut text = String::new();
        for (name, settings) in &self.0 {
            let separator = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{separator}[{name}]");
            for (key, value) in settings {
                let _ = writeln!(text, "{key}={value}");
            }
        }
        text
    }
}

/// `yes` or `no`.
pub(super) fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_come_in_order_and_repeat_where_they_may() {
        let mut content = Content::default();
        content.set("Network", "DHCP", "ipv4");
        content.add("Address", vec![("Address", "192.0.2.1/24".into())]);
        content.add("Address", vec![("Address", "192.0.2.2/24".into())]);
        content.set("Match", "Name", "eth0");
        content.set("Network", "VLAN", "v");
        assert_eq!(
            content.render(),
            "[Match]\nName=eth0\n\n[Network]\nDHCP=ipv4\nVLAN=v\n\n[Address]\nAddress=192.0.2.1/24\n\n\
             [Address]\nAddress=192.0.2.2/24\n"
        );
    }
}
