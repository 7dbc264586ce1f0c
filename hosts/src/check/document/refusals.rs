//! What NetworkManager does not take of the profiles that nmstate makes, said at the place of the document that it comes from.
//!
//! nmstate checks little of what it writes, and NetworkManager refuses a whole profile for one value, so that the host is dark.

use serde_yaml::{Mapping, Value};

use crate::check::profile::resolver::{TRUST_LOST, Trust};
use crate::check::profile::{self, Effect, Problem, SECRET_MISSING};
use crate::keyfile_format::GroupedKeys;
use crate::members::get;
use crate::nmstate_document::interfaces::Interface;
use crate::nmstate_document::{Step, descend, elements, number, ports, text};
use vocabulary::network_files::{Keyfile, KeyfileName, NetworkFiles};
use vocabulary::report::{DocumentPath, Report};

/// Reports what NetworkManager refuses or ignores in `keyfiles`, which are those of `document`. What its daemon does with them
/// matters only to a host that gets them as `files`.
pub(crate) fn check(
    keyfiles: &[Keyfile],
    files: NetworkFiles,
    document: &Mapping,
    interfaces: &[Interface<'_>],
    path: &DocumentPath,
) -> Report {
    let mut report = Report::new();
    let is_activated = files == NetworkFiles::Keyfiles;
    let mut trust = Trust::default();
    for keyfile in keyfiles {
        // What nmstate writes and dayone escapes is a keyfile.
        let Ok(keys) = GroupedKeys::parse(&keyfile.content) else { continue };
        let profile = Profile { keys: &keys, name: &keyfile.name, document, interfaces, path };
        let at_activation = if is_activated { profile::activation_problems(&keys) } else { Vec::new() };
        for problem in profile::problems(&keys).into_iter().chain(at_activation) {
            let at = profile.place(&problem);
            match problem.effect {
                Effect::Refused => report.error("profile-refused", &at, problem.message),
                Effect::NotActivated => {
                    let key = problem.key.as_deref().unwrap_or_default();
                    let is_of_nmstate = matches!(key, "password" | "private-key-password");
                    let hint = if is_of_nmstate { "" } else { ". NMState does not have it: write keyfiles instead" };
                    report.error(SECRET_MISSING, &at, format!("{}{hint}", problem.message));
                }
                Effect::NotActivatedByLater => report.warning(SECRET_MISSING, &at, problem.message),
                Effect::Ignored => report.error("value-ignored", &at, problem.message),
                Effect::Dropped => report.warning("value-unused", &at, problem.message),
            }
        }
        let Trust { asked, is_refused } = Trust::of(&keys);
        trust = Trust { asked: trust.asked.or(asked), is_refused: trust.is_refused || is_refused };
    }
    if is_activated && trust.asked.is_some() && trust.is_refused {
        report.warning("value-unused", &path.key("dns-resolver").key("config").key("options"), TRUST_LOST);
    }
    report
}

/// A profile, and the document that it is made of.
struct Profile<'a> {
    keys: &'a GroupedKeys<'a>,
    name: &'a KeyfileName,
    document: &'a Mapping,
    interfaces: &'a [Interface<'a>],
    path: &'a DocumentPath,
}

/// What a key of a group is called in an interface of NMState, where it is called otherwise or stands deeper.
#[rustfmt::skip]
const PLACES: &[(&str, &str, &[&str])] = &[
    ("connection", "interface-name", &["name"]),
    ("connection", "master", &["controller"]),
    ("connection", "lldp", &["lldp", "enabled"]),
    ("connection", "mptcp-flags", &["mptcp", "address-flags"]),
    ("ethernet", "cloned-mac-address", &["mac-address"]),
    ("ethernet", "mac-address", &["mac-address"]),
    ("ethernet", "speed", &["ethernet", "speed"]),
    ("ethernet", "duplex", &["ethernet", "duplex"]),
    ("bond", "mode", &["link-aggregation", "mode"]),
    ("bond", "balance-slb", &["link-aggregation", "options", "balance_slb"]),
    ("bond", "*", &["link-aggregation", "options"]),
    ("bridge", "ageing-time", &["bridge", "options", "mac-ageing-time"]),
    ("bridge", "forward-delay", &["bridge", "options", "stp", "forward-delay"]),
    ("bridge", "hello-time", &["bridge", "options", "stp", "hello-time"]),
    ("bridge", "max-age", &["bridge", "options", "stp", "max-age"]),
    ("bridge", "priority", &["bridge", "options", "stp", "priority"]),
    ("bridge", "stp", &["bridge", "options", "stp", "enabled"]),
    ("bridge", "group-address", &["bridge", "options", "group-addr"]),
    ("bridge", "multicast-hash-max", &["bridge", "options", "hash-max"]),
    ("bridge", "*", &["bridge", "options"]),
    ("vlan", "parent", &["vlan", "base-iface"]),
    ("vlan", "ingress-priority-map", &["vlan", "ingress-qos-map"]),
    ("vlan", "egress-priority-map", &["vlan", "egress-qos-map"]),
    ("vlan", "*", &["vlan"]),
    ("vxlan", "parent", &["vxlan", "base-iface"]),
    ("vxlan", "*", &["vxlan"]),
    ("infiniband", "parent", &["infiniband", "base-iface"]),
    ("infiniband", "p-key", &["infiniband", "pkey"]),
    ("infiniband", "transport-mode", &["infiniband", "mode"]),
    ("macsec", "parent", &["macsec", "base-iface"]),
    ("macsec", "*", &["macsec"]),
    ("vrf", "table", &["vrf", "route-table-id"]),
    ("veth", "peer", &["veth", "peer"]),
    ("sriov", "*", &["ethernet", "sr-iov"]),
    ("802-1x", "eap", &["802.1x", "eap-methods"]),
    ("802-1x", "phase2-autheap", &["802.1x", "phase2-auth"]),
    ("802-1x", "*", &["802.1x"]),
    ("ipv4", "dhcp-hostname", &["ipv4", "dhcp-custom-hostname"]),
    ("ipv6", "dhcp-hostname", &["ipv6", "dhcp-custom-hostname"]),
    ("ipv4", "dhcp-fqdn", &["ipv4", "dhcp-custom-hostname"]),
    ("ipv4", "route-metric", &["ipv4", "auto-route-metric"]),
    ("ipv6", "route-metric", &["ipv6", "auto-route-metric"]),
    ("ipv4", "route-table", &["ipv4", "auto-route-table-id"]),
    ("ipv6", "route-table", &["ipv6", "auto-route-table-id"]),
    ("ipv4", "method", &["ipv4"]),
    ("ipv6", "method", &["ipv6"]),
    ("ipv4", "*", &["ipv4"]),
    ("ipv6", "*", &["ipv6"]),
    ("ethtool", "*", &["ethtool"]),
    ("user", "*", &["description"]),
];

/// The settings of a bond's or a bridge's port.
const OF_PORTS: &[(&str, &str, &str)] = &[
    ("bridge-port", "priority", "stp-priority"),
    ("bridge-port", "path-cost", "stp-path-cost"),
    ("bridge-port", "hairpin-mode", "stp-hairpin-mode"),
    ("bridge-port", "vlans", "vlan"),
    ("bond-port", "prio", "priority"),
    ("bond-port", "queue-id", "queue-id"),
];

impl<'a> Profile<'a> {
    /// Where in the document a problem comes from.
    fn place(&self, problem: &Problem) -> DocumentPath {
        let (group, key) = (problem.group.as_str(), problem.key.as_deref().unwrap_or_default());
        if let Some(place) = self.of_lists(group, key).or_else(|| self.of_port(group, key)) {
            return place;
        }
        let Some(interface) = self.interface() else { return self.path.key("interfaces") };
        let known = |wanted: &str| PLACES.iter().find(|(of, name, _)| *of == group && *name == wanted);
        let Some((_, name, way)) = known(key).or_else(|| known("*")) else { return interface.path.clone() };
        let at = descend(&interface.path, &way.iter().map(|key| Step::Key(key)).collect::<Vec<_>>());
        if *name != "*" || key.is_empty() {
            return at;
        }
        let inside = way.iter().try_fold(interface.map, |map, key| get(map, key)?.as_mapping());
        match (group, key.strip_prefix("vf."), inside) {
            ("sriov", Some(number), Some(inside)) => function(inside, number, &at),
            (_, _, Some(inside)) => member(inside, key, &at),
            (_, _, None) => at,
        }
    }

    /// The interface that the profile is of.
    fn interface(&self) -> Option<&'a Interface<'a>> {
        let id = self.keys.get("connection", "id")?.text().ok()?;
        let called = |interface: &&Interface<'_>| text(interface.map, "profile-name").unwrap_or(interface.name) == id;
        let stem = self.name.as_str().strip_suffix(KeyfileName::SUFFIX);
        let named = |interface: &&Interface<'_>| Some(interface.name) == stem;
        let interfaces = self.interfaces;
        interfaces.iter().find(called).or_else(|| interfaces.iter().find(named)).or_else(|| self.controller(&id))
    }

    /// The interface that has a port of this name, which has no entry of its own.
    fn controller(&self, port: &str) -> Option<&'a Interface<'a>> {
        self.interfaces.iter().find(|interface| ports::names(interface.map).any(|name| name == port))
    }

    /// Settings that stand with the controller.
    fn of_port(&self, group: &str, key: &str) -> Option<DocumentPath> {
        let (_, _, member) = OF_PORTS.iter().find(|(of, name, _)| *of == group && *name == key)?;
        let id = self.keys.get("connection", "id")?.text().ok()?;
        let name = self.interface().filter(|interface| !ports::names(interface.map).any(|port| port == id));
        let name = name.map_or(&*id, |interface| interface.name);
        let lists: [&[&str]; 2] = [&["bridge", "port"], &["link-aggregation", "ports-config"]];
        self.interfaces.iter().find_map(|interface| {
            lists.iter().find_map(|way| {
                let index = elements(interface.map, way).iter().position(|port| {
                    port.get("name").and_then(Value::as_str) == Some(name) && port.get(*member).is_some()
                })?;
                let [section, list] = way else { return None };
                Some(interface.path.key(section).key(list).index(index).key(member))
            })
        })
    }

    /// Routes, rules and name servers, which stand beside the interfaces.
    fn of_lists(&self, group: &str, key: &str) -> Option<DocumentPath> {
        if !matches!(group, "ipv4" | "ipv6") {
            return None;
        }
        if key.starts_with("routing-rule") {
            return Some(self.path.key("route-rules").key("config"));
        }
        let names = match key {
            "dns" => "server",
            "dns-search" => "search",
            "dns-options" => "options",
            _ => "",
        };
        if !names.is_empty() {
            return Some(self.path.key("dns-resolver").key("config").key(names));
        }
        let base = key.strip_suffix("_options").unwrap_or(key);
        if !base.starts_with("route") || base.contains('-') {
            return None;
        }
        let at = self.path.key("routes").key("config");
        let route = self.keys.get(group, base)?.text().ok()?;
        let destination = route.split(',').next()?;
        let routes = elements(self.document, &["routes", "config"]);
        let index =
            routes.iter().position(|route| route.get("destination").and_then(Value::as_str) == Some(destination));
        Some(index.map_or_else(|| at.clone(), |index| at.index(index)))
    }
}

/// The entry of the virtual function with this number.
fn function(functions: &Mapping, wanted: &str, at: &DocumentPath) -> DocumentPath {
    let list = elements(functions, &["vfs"]);
    let index = list.iter().position(|function| number(function.get("id")).is_some_and(|id| id.to_string() == wanted));
    index.map_or_else(|| at.clone(), |index| at.key("vfs").index(index))
}

/// The member of a mapping, or of one in it, that is called like the key but for hyphens and underscores, or like its end.
fn member(map: &Mapping, key: &str, at: &DocumentPath) -> DocumentPath {
    let plain = |name: &str| name.replace('_', "-");
    let wanted = plain(key);
    for (name, value) in map.iter().filter_map(|(name, value)| Some((name.as_str()?, value))) {
        if plain(name) == wanted {
            return at.key(name);
        }
        if let (Some(inside), Some(rest)) = (value.as_mapping(), wanted.strip_prefix(&format!("{}-", plain(name)))) {
            return member(inside, rest, &at.key(name));
        }
    }
    at.key(key)
}
