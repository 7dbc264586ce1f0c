//! What an interface is.

use crate::network::fields::{Fields, Findings};
use vocabulary::report::DocumentPath;

type Place<'a> = (&'a str, DocumentPath);

/// The type of an interface, with what belongs to it.
#[derive(Debug)]
pub(super) enum Kind<'a> {
    Ethernet,
    Bond { ports: Vec<Place<'a>>, options: BondOptions<'a> },
    Vlan { lower: Place<'a>, id: u64 },
    Bridge { ports: Vec<Place<'a>>, stp: SpanningTree },
}

/// The options of a bond that every reader knows.
#[derive(Debug, Default)]
pub(super) struct BondOptions<'a> {
    pub(super) mode: &'static str,
    /// Milliseconds. NetworkManager monitors every link unless told otherwise.
    pub(super) miimon: u64,
    pub(super) updelay: Option<u64>,
    pub(super) downdelay: Option<u64>,
    pub(super) lacp_rate: Option<&'static str>,
    pub(super) hash_policy: Option<&'static str>,
    pub(super) primary: Option<Place<'a>>,
}

/// The spanning tree of a bridge, in seconds.
#[derive(Debug, Default)]
pub(super) struct SpanningTree {
    pub(super) enabled: bool,
    pub(super) forward_delay: Option<u64>,
    pub(super) hello_time: Option<u64>,
    pub(super) max_age: Option<u64>,
    pub(super) priority: Option<u64>,
}

impl<'a> Kind<'a> {
    /// The interfaces that it is made of.
    pub(super) fn lower(&self) -> &[Place<'a>] {
        match self {
            Self::Ethernet => &[],
            Self::Bond { ports, .. } | Self::Bridge { ports, .. } => ports,
            Self::Vlan { lower, .. } => std::slice::from_ref(lower),
        }
    }

    /// The interfaces that are its ports, and nothing else's.
    pub(super) fn ports(&self) -> impl Iterator<Item = &'a str> {
        let ports: &[Place<'a>] = match self {
            Self::Ethernet | Self::Vlan { .. } => &[],
            Self::Bond { ports, .. } | Self::Bridge { ports, .. } => ports,
        };
        ports.iter().map(|(name, _)| *name)
    }
}

/// The modes of bonds by name, in the order of the kernel's numbers.
const MODES: [&str; 7] =
    ["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"];

/// How often NetworkManager looks at a bond's links where nobody says it, in milliseconds.
const USUAL_MIIMON: u64 = 100;

pub(super) fn read<'a>(kind: &str, fields: &mut Fields<'a>, findings: &mut Findings<'_>) -> Option<Kind<'a>> {
    match kind {
        "ethernet" => Some(Kind::Ethernet),
        "bond" => Some(read_bond(fields, findings)),
        "vlan" => read_vlan(fields, findings),
        "linux-bridge" => Some(read_bridge(fields, findings)),
        _ => {
            let reason = format!("it is {kind}, and dayone writes ethernet, bond, vlan and linux-bridge");
            findings.refuse(&fields.at("type"), &reason);
            None
        }
    }
}

fn read_bond<'a>(fields: &mut Fields<'a>, findings: &mut Findings<'_>) -> Kind<'a> {
    let mut bond = fields.section("link-aggregation");
    let numbered: Vec<(String, &str)> =
        MODES.iter().enumerate().map(|(number, mode)| (number.to_string(), *mode)).collect();
    let words: Vec<(&str, &'static str)> = MODES
        .iter()
        .map(|mode| (*mode, *mode))
        .chain(numbered.iter().zip(MODES).map(|((number, _), mode)| (number.as_str(), mode)))
        .collect();
    let mode = bond.word("mode", &words, findings).unwrap_or_default();
    let ports = read_ports(&mut bond);
    let mut section = bond.section("options");
    let mut milliseconds = |key| section.number(key, 0..=0x7fff_ffff, findings);
    let [miimon, updelay, downdelay] = [milliseconds("miimon"), milliseconds("updelay"), milliseconds("downdelay")];
    let lacp_rate =
        section.word("lacp_rate", &[("slow", "slow"), ("0", "slow"), ("fast", "fast"), ("1", "fast")], findings);
    let policies = [
        ("layer2", "layer2"),
        ("0", "layer2"),
        ("layer3+4", "layer3+4"),
        ("1", "layer3+4"),
        ("layer2+3", "layer2+3"),
        ("2", "layer2+3"),
        ("encap2+3", "encap2+3"),
        ("3", "encap2+3"),
        ("encap3+4", "encap3+4"),
        ("4", "encap3+4"),
    ];
    let hash_policy = section.word("xmit_hash_policy", &policies, findings);
    let at = section.at("primary");
    let primary = section.text("primary").filter(|name| !name.is_empty()).map(|name| (name, at));
    if let Some((name, path)) = &primary
        && ports.iter().all(|(port, _)| port != name)
    {
        findings.refuse(path, "it is not one of the bond's ports");
    }
    section.finish(findings);
    bond.finish(findings);
    let miimon = miimon.unwrap_or(USUAL_MIIMON);
    Kind::Bond { ports, options: BondOptions { mode, miimon, updelay, downdelay, lacp_rate, hash_policy, primary } }
}

fn read_vlan<'a>(fields: &mut Fields<'a>, findings: &mut Findings<'_>) -> Option<Kind<'a>> {
    let mut vlan = fields.section("vlan");
    let id = vlan.number("id", 0..=4094, findings);
    let at = vlan.at("base-iface");
    let lower = vlan.text("base-iface").map(|lower| (lower, at));
    if id.is_none() || lower.is_none() {
        findings.refuse(vlan.path(), "it needs an id and a base-iface");
    }
    // What these say is what happens anyway.
    vlan.word("protocol", &[("802.1q", "")], findings);
    vlan.word("registration-protocol", &[("none", "")], findings);
    vlan.word("reorder-headers", &[("true", "")], findings);
    vlan.word("loose-binding", &[("false", "")], findings);
    vlan.finish(findings);
    Some(Kind::Vlan { lower: lower?, id: id? })
}

fn read_bridge<'a>(fields: &mut Fields<'a>, findings: &mut Findings<'_>) -> Kind<'a> {
    let mut bridge = fields.section("bridge");
    let mut ports = Vec::new();
    for mut port in bridge.entries("port") {
        let at = port.at("name");
        ports.extend(port.text("name").map(|name| (name, at)));
        port.finish(findings);
    }
    let mut options = bridge.section("options");
    let mut section = options.section("stp");
    // Where the document does not say, NetworkManager has it on.
    let enabled = section.flag("enabled") != Some(false);
    let mut seconds = |key, range| section.number(key, range, findings);
    let stp = SpanningTree {
        enabled,
        forward_delay: seconds("forward-delay", 2..=30),
        hello_time: seconds("hello-time", 1..=10),
        max_age: seconds("max-age", 6..=40),
        priority: seconds("priority", 0..=65535),
    };
    section.finish(findings);
    options.finish(findings);
    bridge.finish(findings);
    Kind::Bridge { ports, stp }
}

fn read_ports<'a>(fields: &mut Fields<'a>) -> Vec<Place<'a>> {
    fields.list("port").into_iter().filter_map(|(path, port)| Some((port.as_str()?, path))).collect()
}
