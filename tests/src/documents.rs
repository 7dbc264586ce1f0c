//! Arbitrary NMState documents as people could write them: every interface has a name of its own, ports and bases exist,
//! and routes leave through interfaces that have an address in the next hop's network.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// A document with up to four NICs and what may stand on them.
pub fn documents() -> impl Strategy<Value = Value> {
    (1..=4_usize, proptest::collection::vec(layer(), 0..4), proptest::collection::vec(settings(), 8), names()).prop_map(
        |(nics, layers, settings, names)| {
            let mut document = Document::default();
            for number in 0..nics {
                document.add(json!({"name": format!("eth{number}"), "type": "ethernet"}));
            }
            for layer in layers {
                document.put_on_top(layer);
            }
            document.finish(&settings, &names)
        },
    )
}

/// What stands on other interfaces.
#[derive(Debug, Clone)]
enum Layer {
    Bond { mode: &'static str, options: Vec<(&'static str, Value)> },
    Bridge { stp: bool, priority: u64 },
    Vlan { id: u64, protocol: Option<&'static str> },
    Vrf { table: u64 },
    Vxlan { id: u64 },
    MacVlan { mode: &'static str },
    Dummy,
}

fn layer() -> impl Strategy<Value = Layer> {
    let modes = select(vec![
        "active-backup",
        "802.3ad",
        "balance-rr",
        "balance-xor",
        "broadcast",
        "balance-tlb",
        "balance-alb",
    ]);
    let options = proptest::sample::subsequence(
        vec![
            ("miimon", json!(100)),
            ("updelay", json!("200")),
            ("resend_igmp", json!(3)),
            ("all_slaves_active", json!("dropped")),
        ],
        0..=4,
    );
    prop_oneof![
        (modes, options).prop_map(|(mode, mut options)| {
            options.retain(|(name, _)| *name != "updelay");
            Layer::Bond { mode, options }
        }),
        (any::<bool>(), 0..16_u64).prop_map(|(stp, priority)| Layer::Bridge { stp, priority: priority * 4096 }),
        (1..=4094_u64, select(vec![None, Some("802.1q"), Some("802.1ad")]))
            .prop_map(|(id, protocol)| Layer::Vlan { id, protocol }),
        (1..=4_000_000_u64).prop_map(|table| Layer::Vrf { table }),
        (1..=16_000_000_u64).prop_map(|id| Layer::Vxlan { id }),
        select(vec!["bridge", "vepa", "private"]).prop_map(|mode| Layer::MacVlan { mode }),
        Just(Layer::Dummy),
    ]
}

/// What can be said of any interface.
#[derive(Debug, Clone)]
struct Settings {
    mtu: Option<u64>,
    ipv4: u8,
    ipv6: u8,
    prefix: u64,
    metric: Option<u64>,
    rule: Option<u64>,
    description: Option<String>,
    profile: Option<String>,
}

fn settings() -> impl Strategy<Value = Settings> {
    let odd = "[ -~]{1,40}|[a-zäöü ßéλж中—“”]{1,20}|[\\\\;=#\\[\\] %s\"']{1,12}";
    (
        proptest::option::of(select(vec![1280_u64, 1500, 9000])),
        0..4_u8,
        0..4_u8,
        8..=30_u64,
        proptest::option::of(0..=4_000_000_u64),
        proptest::option::of(1..=30_000_u64),
        proptest::option::of(odd),
        proptest::option::weighted(0.3, odd),
    )
        .prop_map(|(mtu, ipv4, ipv6, prefix, metric, rule, description, profile)| Settings {
            mtu,
            ipv4,
            ipv6,
            prefix,
            metric,
            rule,
            description,
            profile,
        })
}

#[derive(Debug, Clone)]
struct Names {
    servers: Vec<&'static str>,
    search: Vec<&'static str>,
}

fn names() -> impl Strategy<Value = Names> {
    let servers = proptest::sample::subsequence(vec!["192.0.2.53", "198.51.100.53", "2001:db8::53"], 0..=3);
    let search = proptest::sample::subsequence(vec!["example.com", "lab.example.com", "xn--bcher-kva.example"], 0..=3);
    (servers, search).prop_map(|(servers, search)| Names { servers, search })
}

/// A document as it grows.
#[derive(Default)]
struct Document {
    interfaces: Vec<Value>,
    /// Names of those that are ports of nothing and bases of nothing with another's address.
    free: Vec<String>,
}

impl Document {
    fn add(&mut self, interface: Value) {
        self.free.push(interface["name"].as_str().expect("a name").to_owned());
        self.interfaces.push(interface);
    }

    fn put_on_top(&mut self, layer: Layer) {
        let number = self.interfaces.len();
        let nics: Vec<_> = self.free.iter().filter(|name| name.starts_with("eth")).cloned().collect();
        let interface = match (layer, self.free.last().cloned()) {
            (Layer::Bond { mode, options }, _) if !nics.is_empty() => {
                self.free.retain(|name| !nics.contains(name));
                let options: Map<_, _> = options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
                let aggregation = json!({"mode": mode, "port": nics, "options": options});
                json!({"name": format!("bond{number}"), "type": "bond", "link-aggregation": aggregation})
            }
            (Layer::Bridge { stp, priority }, Some(port)) => {
                self.free.pop();
                let bridge =
                    json!({"options": {"stp": {"enabled": stp, "priority": priority}}, "port": [{"name": port}]});
                json!({"name": format!("br{number}"), "type": "linux-bridge", "bridge": bridge})
            }
            (Layer::Vlan { id, protocol }, Some(base)) => {
                let mut vlan = json!({"base-iface": base, "id": id});
                if let Some(protocol) = protocol {
                    vlan["protocol"] = json!(protocol);
                }
                json!({"name": format!("vlan{number}.{id}"), "type": "vlan", "vlan": vlan})
            }
            (Layer::Vrf { table }, Some(port)) => {
                json!({"name": format!("vrf{number}"), "type": "vrf", "vrf": {"route-table-id": table, "port": [port]}})
            }
            (Layer::Vxlan { id }, Some(base)) => {
                let vxlan = json!({"base-iface": base, "id": id, "remote": "192.0.2.251"});
                json!({"name": format!("vxlan{number}"), "type": "vxlan", "vxlan": vxlan})
            }
            (Layer::MacVlan { mode }, Some(base)) => {
                let mac_vlan = json!({"base-iface": base, "mode": mode, "promiscuous": true});
                json!({"name": format!("mac{number}"), "type": "mac-vlan", "mac-vlan": mac_vlan})
            }
            _ => json!({"name": format!("dummy{number}"), "type": "dummy"}),
        };
        self.add(interface);
    }

    fn finish(mut self, settings: &[Settings], names: &Names) -> Value {
        let (mut routes, mut rules) = (Vec::new(), Vec::new());
        for (number, (interface, settings)) in self.interfaces.iter_mut().zip(settings).enumerate() {
            let name = interface["name"].as_str().expect("a name").to_owned();
            interface["state"] = json!("up");
            for (key, value) in [("description", &settings.description), ("profile-name", &settings.profile)] {
                if let Some(value) = value.as_ref().filter(|_| interface["type"] != "vrf") {
                    interface[key] = json!(value);
                }
            }
            if let Some(mtu) = settings.mtu.filter(|_| interface["type"] == "ethernet") {
                interface["mtu"] = json!(mtu);
            }
            if !self.free.contains(&name) || interface["type"] == "vrf" {
                continue;
            }
            let (prefix, length) = (format!("10.{number}.0"), settings.prefix);
            interface["ipv4"] = match settings.ipv4 {
                0 => json!({"enabled": false}),
                1 => json!({"enabled": true, "dhcp": true}),
                _ => {
                    let length = length.max(16);
                    let mut route = json!({"destination": format!("10.1{number:02}.0.0/16"), "next-hop-interface": name,
                        "next-hop-address": format!("{prefix}.1")});
                    if let Some(metric) = settings.metric {
                        route["metric"] = json!(metric);
                    }
                    routes.push(route);
                    if let Some(priority) = settings.rule {
                        rules.push(
                            json!({"ip-from": format!("{prefix}.0/24"), "route-table": 100, "priority": priority}),
                        );
                    }
                    json!({"enabled": true, "dhcp": false, "address": [{"ip": format!("{prefix}.2"), "prefix-length": length}]})
                }
            };
            interface["ipv6"] = match settings.ipv6 {
                0 => json!({"enabled": false}),
                1 => json!({"enabled": true, "dhcp": true, "autoconf": true}),
                2 => json!({"enabled": true}),
                _ => {
                    json!({"enabled": true, "address": [{"ip": format!("2001:db8:{number}::2"), "prefix-length": 64}]})
                }
            };
        }
        let mut document =
            json!({"interfaces": self.interfaces, "routes": {"config": routes}, "route-rules": {"config": rules}});
        if !names.servers.is_empty() || !names.search.is_empty() {
            document["dns-resolver"] = json!({"config": {"server": names.servers, "search": names.search}});
        }
        document
    }
}
