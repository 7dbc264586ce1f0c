//! What can be said of any interface: its addresses, and how large its packets are.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::port_names::Naming;
use super::{Family, Interface};

/// What a document says of an interface, as far as it can have it.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    mtu: Option<u64>,
    is_down: bool,
    description: Option<String>,
    profile: Option<String>,
    ipv4: Method,
    ipv6: Method,
    /// The length of the IPv4 prefix.
    prefix: u64,
    second: bool,
    link_local: bool,
    pub(super) naming: Naming,
}

/// Where the addresses of a family come from.
#[derive(Debug, Clone)]
enum Method {
    Unsaid,
    Disabled,
    /// IPv6 has an address of its link with it.
    Enabled,
    Automatic(Vec<(&'static str, Value)>),
    /// IPv6 only: without router advertisements.
    Dhcp,
    Static,
}

fn method() -> impl Strategy<Value = Method> {
    let flags = prop::sample::subsequence(
        vec![
            ("auto-dns", json!(false)),
            ("auto-dns", json!(true)),
            ("auto-gateway", json!(false)),
            ("auto-routes", json!(false)),
            ("auto-route-table-id", json!(500)),
            ("auto-route-metric", json!(600)),
        ],
        0..=3,
    );
    prop_oneof![
        1 => Just(Method::Unsaid),
        1 => Just(Method::Disabled),
        1 => Just(Method::Enabled),
        1 => Just(Method::Dhcp),
        2 => flags.prop_map(Method::Automatic),
        5 => Just(Method::Static),
    ]
}

pub(super) fn settings() -> impl Strategy<Value = Settings> {
    // A profile's name is not blank, and has no slash in it.
    let odd = "[!-.0-~][ -.0-~]{0,40}|[a-zäöüßéλж中—“”][a-zäöü ßéλж中—“”]{0,20}|[ ]?[\\\\;=#\\[\\]%s\"'][\\\\;=#\\[\\] %s\"']{0,12}";
    (
        (prop::option::of(select(vec![1280_u64, 1500, 9000])), prop::bool::weighted(0.1)),
        (prop::option::of(odd), prop::option::weighted(0.3, odd)),
        (method(), method()),
        (16..=32_u64, any::<bool>(), prop::bool::weighted(0.1)),
        (any::<bool>(), any::<bool>()),
    )
        .prop_map(|((mtu, is_down), (description, profile), (ipv4, ipv6), (prefix, second, link_local), names)| {
            let (by_profile, other_keys) = names;
            let naming = Naming { by_profile, other_keys };
            Settings { mtu, is_down, description, profile, ipv4, ipv6, prefix, second, link_local, naming }
        })
}

impl Settings {
    /// Says it of `interface`.
    pub(super) fn apply(&self, interface: &mut Interface) {
        let is_down = self.is_down
            && !interface.is_port
            && !interface.is_base
            && interface.vrf.is_none()
            && interface.kind() != "vrf";
        interface.value.insert("state".to_owned(), json!(if is_down { "down" } else { "up" }));
        for (key, text) in [("description", &self.description), ("profile-name", &self.profile)] {
            if let Some(text) = text.as_ref().filter(|_| interface.kind() != "vrf") {
                interface.value.insert(key.to_owned(), json!(text));
            }
        }
        if let Some(mtu) = self.mtu.filter(|_| interface.kind() == "ethernet") {
            interface.value.insert("mtu".to_owned(), json!(mtu));
        }
        if interface.is_port || interface.kind() == "vrf" {
            return;
        }
        if interface.kind() == "loopback" {
            let own = json!({"enabled": true, "address": [{"ip": "127.0.0.1", "prefix-length": 8}, {"ip": "10.255.0.1", "prefix-length": 32}]});
            interface.value.insert("ipv4".to_owned(), own);
            return;
        }
        let (ipv4, of_v4) = self.ipv4(interface.number);
        let (ipv6, of_v6) = self.ipv6(interface.number);
        for (key, ip) in [("ipv4", ipv4), ("ipv6", ipv6)] {
            interface.value.extend(ip.map(|ip| (key.to_owned(), ip)));
        }
        if !is_down {
            (interface.ipv4, interface.ipv6) = (of_v4, of_v6);
        }
    }

    fn ipv4(&self, number: usize) -> (Option<Value>, Family) {
        match &self.ipv4 {
            Method::Unsaid => (None, Family::Nothing),
            Method::Disabled => (Some(json!({"enabled": false})), Family::Nothing),
            Method::Enabled => (Some(json!({"enabled": true})), Family::Nothing),
            Method::Dhcp => (Some(json!({"enabled": true, "dhcp": true})), Family::Automatic),
            Method::Automatic(flags) => {
                (Some(automatic(json!({"enabled": true, "dhcp": true}), flags)), Family::Automatic)
            }
            Method::Static => {
                let mut addresses =
                    vec![json!({"ip": format!("10.{number}.0.2"), "prefix-length": self.prefix.min(30)})];
                if self.second {
                    addresses.push(json!({"ip": format!("10.{number}.0.6"), "prefix-length": self.prefix}));
                }
                (Some(json!({"enabled": true, "dhcp": false, "address": addresses})), Family::Static)
            }
        }
    }

    fn ipv6(&self, number: usize) -> (Option<Value>, Family) {
        match &self.ipv6 {
            Method::Unsaid => (None, Family::Nothing),
            Method::Disabled => (Some(json!({"enabled": false})), Family::Nothing),
            Method::Enabled => (Some(json!({"enabled": true, "autoconf": false})), Family::Nothing),
            Method::Dhcp => (Some(json!({"enabled": true, "dhcp": true, "autoconf": false})), Family::Automatic),
            Method::Automatic(flags) => {
                let mut ip = automatic(json!({"enabled": true, "dhcp": true, "autoconf": true}), flags);
                if self.second {
                    ip["address"] = json!([{"ip": format!("2001:db8:{number}::2"), "prefix-length": 64}]);
                }
                (Some(ip), Family::Automatic)
            }
            Method::Static => {
                let mut addresses = vec![json!({"ip": format!("2001:db8:{number}::2"), "prefix-length": 64})];
                if self.link_local {
                    addresses.push(json!({"ip": "fe80::2", "prefix-length": 64}));
                }
                (Some(json!({"enabled": true, "address": addresses})), Family::Static)
            }
        }
    }
}

fn automatic(mut ip: Value, flags: &[(&'static str, Value)]) -> Value {
    for (key, value) in flags {
        ip[*key] = value.clone();
    }
    ip
}
