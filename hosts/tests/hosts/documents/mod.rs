//! Arbitrary NMState documents as people could write them: every interface has a name of its own, ports and bases exist,
//! networks do not overlap, gateways are on their links, and name servers can be reached.

mod addresses;
mod layers;
mod port_names;
mod routes;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

use addresses::{Settings, settings};
use layers::{layer, nic};
use routes::{Beyond, beyond};

/// How many interfaces a document has at most.
const MAX_INTERFACES: usize = 9;

/// A document with up to four NICs and what may stand on them.
pub fn documents() -> impl Strategy<Value = Value> {
    let nics = prop::collection::vec(nic(), 1..=4);
    let layers = prop::collection::vec((layer(), any::<Index>()), 0..MAX_INTERFACES - 4);
    (nics, layers, prop::collection::vec(settings(), MAX_INTERFACES), beyond()).prop_map(
        |(nics, layers, settings, beyond)| {
            let mut document = Document::default();
            for (number, nic) in nics.into_iter().enumerate() {
                document.interfaces.push(nic.interface(number));
            }
            for (layer, place) in layers {
                layer.put_on_top(&mut document, place);
            }
            document.finish(&settings, &beyond)
        },
    )
}

/// An interface as the document grows.
#[expect(clippy::struct_excessive_bools, reason = "each is chosen by itself")]
struct Interface {
    name: String,
    value: Map<String, Value>,
    /// It has no addresses, which its bond or bridge has.
    is_port: bool,
    /// The VRF that it is in.
    vrf: Option<String>,
    /// Something stands on it.
    is_base: bool,
    /// Whether a `MACsec` link stands on it.
    has_macsec: bool,
    /// The kernel knows it by this name.
    has_kernel_name: bool,
    /// What it has of IPv4 and of IPv6, and which of the networks is its own.
    number: usize,
    ipv4: Family,
    ipv6: Family,
}

/// What an interface has of a family.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    /// Nothing that reaches further than its link.
    Nothing,
    Automatic,
    Static,
}

impl Interface {
    fn new(name: String, value: Value) -> Self {
        let Value::Object(mut value) = value else { panic!("an interface is a mapping") };
        value.insert("name".to_owned(), json!(name));
        Self {
            name,
            value,
            is_port: false,
            vrf: None,
            is_base: false,
            has_macsec: false,
            has_kernel_name: true,
            number: 0,
            ipv4: Family::Nothing,
            ipv6: Family::Nothing,
        }
    }

    fn kind(&self) -> &str {
        self.value["type"].as_str().unwrap()
    }

    /// Whether routes may name it. By what the document calls a NIC that has a profile of another name, nmstate does not
    /// find it.
    fn is_found(&self) -> bool {
        self.has_kernel_name || !self.value.contains_key("profile-name")
    }

    fn family(&self, is_v4: bool) -> Family {
        if is_v4 { self.ipv4 } else { self.ipv6 }
    }
}

/// A document as it grows.
#[derive(Default)]
struct Document {
    interfaces: Vec<Interface>,
}

impl Document {
    /// The interfaces that something may be put on: `wanted` of those that are nobody's port yet.
    fn candidates(&self, wanted: impl Fn(&Interface) -> bool) -> Vec<usize> {
        let all = self.interfaces.iter().enumerate();
        let free =
            all.filter(|(_, interface)| !interface.is_port && interface.vrf.is_none() && interface.kind() != "vrf");
        free.filter(|(_, interface)| wanted(interface)).map(|(index, _)| index).collect()
    }

    fn finish(mut self, settings: &[Settings], beyond: &Beyond) -> Value {
        for (number, (interface, settings)) in self.interfaces.iter_mut().zip(settings).enumerate() {
            interface.number = number;
            settings.apply(interface);
        }
        port_names::vary(&mut self.interfaces, settings);
        let mut document = json!({
            "routes": {"config": beyond.routes(&self.interfaces)},
            "route-rules": {"config": beyond.rules(&self.interfaces)},
        });
        if let Some(names) = beyond.names(&self.interfaces) {
            document["dns-resolver"] = json!({ "config": names });
        }
        if let Some(name) = &beyond.hostname {
            document["hostname"] = json!({ "config": name });
        }
        document["interfaces"] = self.interfaces.into_iter().map(|interface| Value::Object(interface.value)).collect();
        document
    }
}
