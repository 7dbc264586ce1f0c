//! Interfaces: NICs, and what stands on them.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

use super::{Document, Interface};

/// How a NIC is found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Nic {
    ByName,
    WithAddress,
    ByAddress,
}

pub(super) fn nic() -> impl Strategy<Value = Nic> {
    prop_oneof![4 => Just(Nic::ByName), 1 => Just(Nic::WithAddress), 2 => Just(Nic::ByAddress)]
}

impl Nic {
    pub(super) fn interface(self, number: usize) -> Interface {
        let mac = format!("52:54:00:00:00:{number:02x}");
        match self {
            Self::ByName => Interface::new(format!("eth{number}"), json!({"type": "ethernet"})),
            Self::WithAddress => {
                Interface::new(format!("eth{number}"), json!({"type": "ethernet", "mac-address": mac}))
            }
            Self::ByAddress => {
                let nic = json!({"type": "ethernet", "identifier": "mac-address", "mac-address": mac});
                Interface { has_kernel_name: false, ..Interface::new(format!("nic{number}"), nic) }
            }
        }
    }
}

/// What stands on other interfaces.
#[derive(Debug, Clone)]
pub(super) enum Layer {
    Bond { mode: Value, options: Vec<(&'static str, Value)>, listed: bool, mtu: Option<u64> },
    Bridge { stp: Option<bool>, priority: u64, listed: bool, access: Option<u64> },
    Vlan { id: u64, protocol: Option<&'static str> },
    Vrf { table: u64 },
    Vxlan { id: u64, bound: bool },
    MacVlan { mode: &'static str, tap: bool },
    Macsec,
    Veth,
    Dummy,
    Loopback,
}

pub(super) fn layer() -> impl Strategy<Value = Layer> {
    let modes = select(vec![
        json!("active-backup"),
        json!("802.3ad"),
        json!("balance-rr"),
        json!("balance-xor"),
        json!("broadcast"),
        json!("balance-tlb"),
        json!("balance-alb"),
        json!(4),
        json!("1"),
        json!("lacp"),
    ]);
    let options = prop::sample::subsequence(
        vec![
            ("miimon", json!(100)),
            ("resend_igmp", json!(3)),
            ("all_slaves_active", json!("dropped")),
            ("use_carrier", json!(true)),
        ],
        0..=4,
    );
    let mtu = prop::option::weighted(0.3, select(vec![1500_u64, 9000]));
    prop_oneof![
        3 => (modes, options, any::<bool>(), mtu)
            .prop_map(|(mode, options, listed, mtu)| Layer::Bond { mode, options, listed, mtu }),
        3 => (any::<Option<bool>>(), 0..16_u64, any::<bool>(), prop::option::of(1..=4094_u64)).prop_map(
            |(stp, priority, listed, access)| Layer::Bridge { stp, priority: priority * 4096, listed, access }
        ),
        5 => (1..=4094_u64, select(vec![None, Some("802.1q"), Some("802.1ad")]))
            .prop_map(|(id, protocol)| Layer::Vlan { id, protocol }),
        3 => (1000..=4_000_000_u64).prop_map(|table| Layer::Vrf { table }),
        1 => (1..=16_000_000_u64, any::<bool>()).prop_map(|(id, bound)| Layer::Vxlan { id, bound }),
        2 => (select(vec!["bridge", "vepa", "private"]), any::<bool>())
            .prop_map(|(mode, tap)| Layer::MacVlan { mode, tap }),
        1 => Just(Layer::Macsec),
        1 => Just(Layer::Veth),
        1 => Just(Layer::Dummy),
        1 => Just(Layer::Loopback),
    ]
}

impl Layer {
    /// Adds it, on what there is at `place` among all that may be below it; a dummy where there is nothing.
    pub(super) fn put_on_top(self, document: &mut Document, place: Index) {
        let number = document.interfaces.len();
        let bases = document.candidates(|interface| !matches!(interface.kind(), "loopback" | "dummy" | "veth"));
        let is_bridge = matches!(self, Self::Bridge { .. });
        let ports = document.candidates(|interface| {
            // The kernel takes no bridge as a port of a bridge.
            let may_be = interface.kind() != "loopback" && !(is_bridge && interface.kind() == "linux-bridge");
            !interface.is_base && may_be
        });
        let nics: Vec<usize> =
            ports.iter().copied().filter(|port| document.interfaces[*port].kind() == "ethernet").collect();
        let of = |all: &[usize]| (!all.is_empty()).then(|| all[place.index(all.len())]);
        let interface = match (self, of(&ports), of(&bases)) {
            (Self::Bond { mode, options, listed, mtu }, ..) if !nics.is_empty() => {
                let options: Map<_, _> = options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
                let ports = &nics[place.index(nics.len())..];
                let mut bond = json!({"type": "bond", "link-aggregation": {"mode": mode, "options": options}});
                if let Some(mtu) = mtu {
                    bond["mtu"] = json!(mtu);
                }
                if let Some(ports) = join(document, &format!("bond{number}"), ports, listed) {
                    bond["link-aggregation"]["port"] = json!(ports);
                }
                Interface::new(format!("bond{number}"), bond)
            }
            (Self::Bridge { stp, priority, listed, access }, Some(port), _) => {
                let mut bridge = json!({"type": "linux-bridge", "bridge": {"options": {}}});
                if let Some(stp) = stp {
                    bridge["bridge"]["options"]["stp"] = json!({"enabled": stp, "priority": priority});
                }
                for name in join(document, &format!("br{number}"), &[port], listed).into_iter().flatten() {
                    let mut port = json!({ "name": name });
                    if let Some(tag) = access {
                        port["vlan"] = json!({"mode": "access", "tag": tag});
                    }
                    bridge["bridge"]["port"] = json!([port]);
                }
                Interface::new(format!("br{number}"), bridge)
            }
            (Self::Vrf { table }, Some(port), _) => {
                let name = format!("vrf{number}");
                document.interfaces[port].vrf = Some(name.clone());
                let port = document.interfaces[port].name.clone();
                Interface::new(name, json!({"type": "vrf", "vrf": {"route-table-id": table, "port": [port]}}))
            }
            (Self::Veth, ..) => Interface::new(
                format!("veth{number}"),
                json!({"type": "veth", "veth": {"peer": format!("peer{number}")}}),
            ),
            (Self::Vxlan { id, bound: false }, ..) => {
                let vxlan = json!({"id": id, "remote": "192.0.2.251"});
                Interface::new(format!("vxlan{number}"), json!({"type": "vxlan", "vxlan": vxlan}))
            }
            (Self::Loopback, ..) if document.interfaces.iter().all(|interface| interface.name != "lo") => {
                Interface::new("lo".to_owned(), json!({"type": "loopback"}))
            }
            (layer, _, Some(base)) => {
                let below = &mut document.interfaces[base];
                let name = below.name.clone();
                let is_macsec = matches!(layer, Self::Macsec);
                // The kernel gives the frames of an interface to a MACsec link or to MACVLANs.
                let is_taken = is_macsec && below.is_base || below.has_macsec && matches!(layer, Self::MacVlan { .. });
                match layer.on_base(number, &name).filter(|_| !is_taken) {
                    Some(interface) => {
                        below.is_base = true;
                        below.has_macsec |= is_macsec;
                        interface
                    }
                    None => dummy(number),
                }
            }
            _ => dummy(number),
        };
        document.interfaces.push(interface);
    }

    fn on_base(self, number: usize, base: &str) -> Option<Interface> {
        Some(match self {
            Self::Vlan { id, protocol } => {
                let mut vlan = json!({"base-iface": base, "id": id});
                if let Some(protocol) = protocol {
                    vlan["protocol"] = json!(protocol);
                }
                Interface::new(format!("vlan{number}.{id}"), json!({"type": "vlan", "vlan": vlan}))
            }
            Self::Vxlan { id, .. } => {
                let vxlan = json!({"base-iface": base, "id": id, "remote": "192.0.2.251"});
                Interface::new(format!("vxlan{number}"), json!({"type": "vxlan", "vxlan": vxlan}))
            }
            Self::MacVlan { mode, tap } => {
                let kind = if tap { "mac-vtap" } else { "mac-vlan" };
                let value = json!({"type": kind, kind: {"base-iface": base, "mode": mode, "promiscuous": true}});
                Interface::new(format!("mac{number}"), value)
            }
            Self::Macsec => {
                let macsec = json!({
                    "base-iface": base, "encrypt": true, "port": 0, "validation": "strict", "send-sci": true,
                    "mka-cak": "50b71a8ef0bd5751ea76de6d6c98c03a",
                    "mka-ckn": "f2b4297d39da7330910a74abc0449feb45b5c0b9fc23df1430e1898fcf1c4550",
                });
                Interface::new(format!("sec{number}"), json!({"type": "macsec", "macsec": macsec}))
            }
            _ => return None,
        })
    }
}

fn dummy(number: usize) -> Interface {
    Interface::new(format!("dummy{number}"), json!({"type": "dummy"}))
}

/// Makes interfaces ports: those to be listed at their controller, unless each has its controller's name.
fn join(document: &mut Document, controller: &str, ports: &[usize], listed: bool) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for port in ports {
        let port = &mut document.interfaces[*port];
        port.is_port = true;
        names.push(port.name.clone());
        if !listed {
            port.value.insert("controller".to_owned(), json!(controller));
        }
    }
    listed.then_some(names)
}
