//! VLANs in bridges, and links that nobody asked for.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Comparison, is_up, list, text};

/// VLANs of a port: whether untagged packets that come in are of it, and whether it leaves untagged.
type Vlans = BTreeMap<u64, (bool, bool)>;

impl Comparison<'_> {
    /// Every port of a bridge is in the VLANs that the document says, and in the bridge's own.
    pub(super) fn bridge_vlans(&mut self) {
        for interface in list(&self.document["interfaces"]).filter(|interface| interface["type"] == "linux-bridge") {
            let bridge = &interface["bridge"];
            let own = bridge["options"]["vlan-default-pvid"].as_u64().unwrap_or(1);
            let filtering = list(&bridge["port"]).any(|port| !port["vlan"].is_null());
            for port in list(&bridge["port"]).filter(|_| filtering && is_up(interface)) {
                let mut wanted = Vlans::from([(own, (port["vlan"].is_null(), true))]);
                vlans_of(&port["vlan"], &mut wanted);
                let have = self.vlans_there(self.own_name(text(&port["name"])));
                if wanted != have {
                    self.found.push(format!("{}: VLANs: {wanted:?} is wanted, {have:?} is there", port["name"]));
                }
            }
        }
    }

    fn vlans_there(&self, port: &str) -> Vlans {
        let port = list(&self.report["vlans"]).find(|found| found["ifname"] == port).unwrap_or(&Value::Null);
        let has = |vlan: &Value, flag: &str| list(&vlan["flags"]).any(|said| said == flag);
        list(&port["vlans"])
            .map(|vlan| (vlan["vlan"].as_u64().expect("a number"), (has(vlan, "PVID"), has(vlan, "Egress Untagged"))))
            .collect()
    }

    /// Neither NetworkManager nor a profile makes an interface that the document does not have.
    pub(super) fn links_made_by_nobody(&mut self) {
        let nics: Vec<_> = list(&self.report["nics"]).map(text).collect();
        for link in list(self.links) {
            let name = text(&link["ifname"]);
            let is_peer = list(&self.document["interfaces"]).any(|interface| interface["veth"]["peer"] == name);
            if name != "lo" && !nics.contains(&name) && self.interface_of(name).is_none() && !is_peer {
                self.found.push(format!("there is {name}, of which nothing is said"));
            }
        }
        for link in list(self.links).filter(|link| !link["master"].is_null()) {
            let controller = self.interface_of(text(&link["master"]));
            if controller.is_none_or(|controller| !is_up(controller)) {
                self.found.push(format!("{} is a port of {}", link["ifname"], link["master"]));
            }
        }
    }
}

fn vlans_of(wanted: &Value, vlans: &mut Vlans) {
    for tag in list(&wanted["trunk-tags"]) {
        let single = tag["id"].as_u64();
        let first = single.or(tag["id-range"]["min"].as_u64()).expect("a tag");
        let last = single.or(tag["id-range"]["max"].as_u64()).expect("a tag");
        vlans.extend((first..=last).map(|id| (id, (false, false))));
    }
    if let Some(tag) = wanted["tag"].as_u64().filter(|_| wanted["mode"] == "access" || wanted["enable-native"] == true)
    {
        vlans.insert(tag, (true, true));
    }
}
