//! The interfaces of a host as networkd sees them: one `.network` each, and a `.netdev` for those that it makes.

use std::collections::BTreeMap;

use super::ip::Ip;
use super::unit::{Content, Setting, yes};
use crate::network::NetworkdUnit;
use crate::network::form::Findings;
use crate::network::names::Stems;
use crate::nmstate_document::interfaces::{Identifier, Interface, kernel_name_problem};
use crate::nmstate_document::quoted;
use vocabulary::report::DocumentPath;

/// What stands before every name: units are taken in the order of their names, and the first that matches wins.
const PREFIX: &str = "10-";
/// The longest stem that leaves room for the prefix and the longest suffix within 255 bytes.
const MAX_STEM: usize = 255 - PREFIX.len() - ".network".len();

/// How an interface is attached to one that is made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attachment {
    /// As a port without addresses: of a bond or a bridge.
    Port,
    /// As a port with addresses: of a VRF.
    Routed,
    /// As the one below: of a VLAN.
    Lower,
}

/// One interface.
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    /// How the document finds it; None where the document only mentions it.
    pub(super) interface: Option<&'a Interface<'a>>,
    pub(super) network: Content,
    pub(super) netdev: Content,
    pub(super) link: Content,
    pub(super) ip: Ip,
    /// The interface of which it is a port.
    pub(super) controller: Option<(&'a str, Attachment)>,
    /// Whether it is down: nothing configures it, and nothing may need it.
    pub(super) down: bool,
}

impl Node<'_> {
    pub(super) fn in_vrf(&self) -> bool {
        self.controller.is_some_and(|(_, how)| how == Attachment::Routed)
    }
}

/// All interfaces.
pub(super) struct Plan<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    /// By its name and by that of its profile.
    names: BTreeMap<&'a str, usize>,
}

impl<'a> Plan<'a> {
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), names: BTreeMap::new() }
    }

    /// Adds an interface under all its names.
    pub(super) fn add(&mut self, name: &'a str, also: Option<&'a str>, interface: Option<&'a Interface<'a>>) -> usize {
        let index = self.nodes.len();
        self.nodes.push(Node {
            name,
            interface,
            network: Content::default(),
            netdev: Content::default(),
            link: Content::default(),
            ip: Ip::default(),
            controller: None,
            down: false,
        });
        self.names.insert(name, index);
        if let Some(also) = also {
            self.names.entry(also).or_insert(index);
        }
        index
    }

    /// The interface of this name, which something at `path` needs.
    pub(super) fn needed(
        &mut self,
        name: &str,
        path: &DocumentPath,
        findings: &mut Findings<'_>,
    ) -> Option<&mut Node<'a>> {
        let node = self.names.get(name).and_then(|index| self.nodes.get_mut(*index));
        match node {
            Some(node) if node.down => {
                findings
                    .refuse(path, &format!("{} is down, and interfaces on it cannot come up before it", quoted(name)));
                None
            }
            Some(node) => Some(node),
            None => {
                findings.refuse(path, &format!("the document does not describe {}", quoted(name)));
                None
            }
        }
    }

    /// What units call the interface of this name.
    pub(super) fn label(&self, name: &str) -> Option<&'a str> {
        self.names.get(name).and_then(|index| self.nodes.get(*index)).map(|node| node.name)
    }

    /// The loopback, which is the document's only where routes lead nowhere.
    pub(super) fn loopback(&mut self) -> Option<&mut Node<'a>> {
        let index = match self.names.get("lo") {
            Some(index) => *index,
            None => self.add("lo", None, None),
        };
        self.nodes.get_mut(index)
    }

    /// Attaches `name`, which becomes an interface if it is none yet, to the interface `to`.
    pub(super) fn attach(
        &mut self,
        name: &'a str,
        to: &'a str,
        how: Attachment,
        settings: Vec<(&'static str, Setting)>,
        path: &DocumentPath,
        findings: &mut Findings<'_>,
    ) {
        if !self.names.contains_key(name) {
            self.add(name, None, None);
        }
        if let Some(node) = self.needed(name, path, findings) {
            for (section, (key, value)) in settings {
                node.network.set(section, key, value);
            }
            if how != Attachment::Lower {
                node.controller = Some((to, how));
            }
        }
    }

    /// The units of all interfaces.
    pub(super) fn units(self, path: &DocumentPath, findings: &mut Findings<'_>) -> Vec<NetworkdUnit> {
        let mut stems = Stems::default();
        let mut units = Vec::new();
        for mut node in self.nodes {
            node.set_match(path, findings);
            node.set_addressing();
            let stem = stems.take(node.name, MAX_STEM);
            let contents = [(".link", node.link), (".netdev", node.netdev), (".network", node.network)];
            for (suffix, content) in contents.into_iter().filter(|(_, content)| !content.is_empty()) {
                let name = format!("{PREFIX}{stem}{suffix}").parse().ok();
                units.extend(name.map(|name| NetworkdUnit { name, content: content.render() }));
            }
        }
        units.sort();
        units
    }
}

impl Node<'_> {
    fn set_match(&mut self, path: &DocumentPath, findings: &mut Findings<'_>) {
        let identifier = self.interface.map_or(Identifier::Name, |interface| interface.identifier);
        match identifier {
            Identifier::Mac(mac) => {
                self.network.set("Match", "PermanentMACAddress", mac.to_string());
                // VLANs have their NIC's permanent address as well.
                self.network.set("Match", "Type", "ether");
                self.network.set("Match", "Kind", "!*");
            }
            // The interface's own reading sets the match.
            Identifier::Pci => {}
            Identifier::Name => {
                if let Some(problem) = name_problem(self.name) {
                    let path = self.interface.map_or_else(|| path.clone(), |i| i.path.key("name"));
                    findings.refuse(&path, &format!("networkd cannot match the name {}: {problem}", quoted(self.name)));
                }
                self.network.set("Match", "Name", self.name);
                for content in [&mut self.netdev, &mut self.link].into_iter().filter(|content| !content.is_empty()) {
                    content.name(self.name);
                }
            }
        }
    }

    /// What has no address must say so, and nobody waits for it.
    fn set_addressing(&mut self) {
        if self.down {
            self.network.set("Link", "Unmanaged", "yes");
            return;
        }
        if self.name == "lo" {
            return;
        }
        if !self.ip.v4.enabled && !self.ip.v6.enabled {
            self.network.set("Link", "RequiredForOnline", "no");
        }
        if !self.ip.v6.enabled {
            self.network.set("Network", "LinkLocalAddressing", "no");
        }
        let routers = self.ip.v6.routers;
        self.network.set("Network", "IPv6AcceptRA", yes(routers));
    }
}

/// Why networkd refuses a name, or reads it as something else than a name.
pub(super) fn name_problem(name: &str) -> Option<&'static str> {
    if let Some(problem) = kernel_name_problem(name) {
        Some(problem)
    } else if name.bytes().all(|b| b.is_ascii_digit()) {
        Some("it is a number")
    } else if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'+' | b'@')) {
        Some("only letters, digits, '.', '_', '-', '+' and '@' have no special meaning")
    } else {
        None
    }
}
