//! The interfaces of a host as networkd sees them: one `.network` each, and a `.netdev` for those that it makes.

use std::borrow::Cow;

use super::unit::{Content, yes};
use crate::model::{Device, Interface, Kind, Method, Topology};
use crate::network::NetworkdUnit;
use crate::network::form::Findings;
use crate::network::names::Stems;
use crate::nmstate_document::interfaces::kernel_name_problem;
use crate::nmstate_document::quoted;
use vocabulary::report::DocumentPath;

/// What stands before every name: units are taken in the order of their names, and the first that matches wins.
const PREFIX: &str = "10-";
/// The longest stem that leaves room for the prefix and the longest suffix within 255 bytes.
const MAX_STEM: usize = 255 - PREFIX.len() - ".network".len();

/// One interface.
pub(super) struct Node<'a> {
    pub(super) interface: Cow<'a, Interface>,
    /// Where the documents name it.
    name_path: DocumentPath,
    /// Whether the document has an entry for it.
    is_described: bool,
    pub(super) network: Content,
    pub(super) netdev: Content,
    pub(super) link: Content,
    /// Whether it is a port of a VRF.
    pub(super) is_in_vrf: bool,
}

impl<'a> Node<'a> {
    fn of(interface: Cow<'a, Interface>, name_path: DocumentPath, is_described: bool) -> Self {
        let [network, netdev, link] = [(); 3].map(|()| Content::default());
        Self { interface, name_path, is_described, network, netdev, link, is_in_vrf: false }
    }
}

/// All interfaces.
pub(super) struct Plan<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    topology: &'a Topology,
}

impl<'a> Plan<'a> {
    /// The interfaces that the document has entries for.
    pub(super) fn new(topology: &'a Topology, entries: &[&'a Interface]) -> Self {
        let nodes = entries.iter().map(|entry| Node::of(Cow::Borrowed(entry), entry.path.key("name"), true));
        Self { nodes: nodes.collect(), topology }
    }

    /// The interfaces that the document has entries for.
    pub(super) fn described(&self) -> impl Iterator<Item = &Interface> {
        self.nodes.iter().filter(|node| node.is_described).map(|node| node.interface.as_ref())
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.interface.name == name)
    }

    /// The interface of this name, which something at `path` needs.
    pub(super) fn needed(
        &mut self,
        name: &str,
        path: &DocumentPath,
        findings: &mut Findings<'_>,
    ) -> Option<&mut Node<'a>> {
        let Some(node) = self.position(name).and_then(|index| self.nodes.get_mut(index)) else {
            findings.refuse(path, &format!("the document does not describe {}", quoted(name)));
            return None;
        };
        if !node.interface.active {
            findings.refuse(path, &format!("{} is down, and interfaces on it cannot come up before it", quoted(name)));
            return None;
        }
        Some(node)
    }

    /// What units call the interface of this name.
    pub(super) fn label(&self, name: &str) -> Option<&str> {
        self.nodes.get(self.position(name)?).map(|node| node.interface.label.as_str())
    }

    /// The loopback, for routes that lead nowhere. The document has it only if it has addresses of its own.
    pub(super) fn loopback(&mut self) -> Option<&mut Node<'a>> {
        let index = self.position("lo").unwrap_or_else(|| {
            let path = DocumentPath::root();
            self.nodes.push(Node::of(Cow::Owned(Interface::bare("lo", Kind::Loopback, path.clone())), path, false));
            self.nodes.len().saturating_sub(1)
        });
        self.nodes.get_mut(index)
    }

    /// Attaches `name`, which becomes a NIC if it is no interface yet, to the interface `to`: `key` is the setting.
    pub(super) fn attach(
        &mut self,
        name: &str,
        key: &'static str,
        to: &str,
        path: &DocumentPath,
        findings: &mut Findings<'_>,
    ) -> Option<&mut Node<'a>> {
        if self.position(name).is_none() {
            let interface = self.topology.interface(name).map(Cow::Borrowed);
            let bare = || Cow::Owned(Interface::bare(name, Kind::Ethernet, path.clone()));
            self.nodes.push(Node::of(interface.unwrap_or_else(bare), path.clone(), false));
        }
        let node = self.needed(name, path, findings)?;
        node.network.set("Network", key, to);
        node.is_in_vrf |= key == "VRF";
        Some(node)
    }

    /// The units of all interfaces.
    pub(super) fn units(self, findings: &mut Findings<'_>) -> Vec<NetworkdUnit> {
        let mut stems = Stems::default();
        let mut units = Vec::new();
        for mut node in self.nodes {
            node.set_match(findings);
            node.set_addressing();
            let stem = stems.take(&node.interface.label, MAX_STEM);
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
    fn set_match(&mut self, findings: &mut Findings<'_>) {
        match &self.interface.device {
            Device::Mac(mac) => {
                self.network.set("Match", "PermanentMACAddress", mac.to_string());
                // VLANs have their NIC's permanent address as well.
                self.network.set("Match", "Type", "ether");
                self.network.set("Match", "Kind", "!*");
            }
            // The writer of interfaces sets the match. Profiles that take any device are keyfiles.
            Device::Pci(_) | Device::Any => {}
            Device::Name => {
                let name = &self.interface.label;
                if let Some(problem) = name_problem(name) {
                    let reason = format!("networkd cannot match the name {}: {problem}", quoted(name));
                    findings.refuse(&self.name_path, &reason);
                }
                self.network.set("Match", "Name", name.as_str());
                for content in [&mut self.netdev, &mut self.link].into_iter().filter(|content| !content.is_empty()) {
                    content.name(name);
                }
            }
        }
    }

    /// The unit of an interface without addresses must say so, and the boot does not wait for the interface.
    fn set_addressing(&mut self) {
        let Interface { active, kind, ipv4, ipv6, .. } = self.interface.as_ref();
        if !active {
            self.network.set("Link", "Unmanaged", "yes");
            return;
        }
        if *kind == Kind::Loopback {
            return;
        }
        let has_ipv4 = ipv4.is_automatic() || !ipv4.addresses.is_empty();
        let has_ipv6 = ipv6.method != Method::Disabled;
        if !has_ipv4 && !has_ipv6 {
            self.network.set("Link", "RequiredForOnline", "no");
        }
        if !has_ipv6 {
            self.network.set("Network", "LinkLocalAddressing", "no");
        }
        self.network.set("Network", "IPv6AcceptRA", yes(ipv6.method == Method::RouterAdvertisements));
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
