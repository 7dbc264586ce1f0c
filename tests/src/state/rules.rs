//! Routing rules: the document's, the kernel's own, and no others.

use serde_json::{Map, Value, json};

use super::{Comparison, list, text};

impl Comparison<'_> {
    pub(super) fn rules(&mut self) {
        let has_vrf = list(&self.document["interfaces"]).any(|interface| interface["type"] == "vrf");
        for (family, key) in [("ipv4", "rules"), ("ipv6", "rules6")] {
            let kernels = |rule: &&Value| match rule["priority"].as_u64() {
                Some(0 | 32_766 | 32_767) => rule["src"] == "all" && rule["dst"].is_null(),
                Some(1000) => has_vrf && rule.get("l3mdev").is_some(),
                _ => false,
            };
            let mut have: Vec<_> = list(&self.report[key]).filter(|rule| !kernels(rule)).collect();
            for rule in list(&self.document["route-rules"]["config"]) {
                if family_of(rule) != family || rule["state"] == "absent" {
                    continue;
                }
                let wanted = self.rule(rule);
                let is_it = |found: &&Value| {
                    let mut found = found.as_object().cloned().unwrap_or_default();
                    found.remove("protocol");
                    let priority = found.remove("priority");
                    rule.get("priority").is_none_or(|wanted| Some(wanted) == priority.as_ref()) && found == wanted
                };
                match have.iter().position(is_it) {
                    Some(position) => drop(have.remove(position)),
                    None => self.found.push(format!("there is no rule {rule}; there are {}", json!(have))),
                }
            }
            for rule in have {
                self.found.push(format!("nobody asked for the rule {rule}"));
            }
        }
    }

    /// A rule as `ip -json rule` has it, without its priority.
    fn rule(&self, wanted: &Value) -> Map<String, Value> {
        let mut rule = Map::from_iter([("src".to_owned(), json!("all"))]);
        for (key, name) in [("ip-from", "src"), ("ip-to", "dst")] {
            let Some(prefix) = wanted[key].as_str() else { continue };
            let (address, length) = prefix.split_once('/').unwrap_or((prefix, ""));
            rule.insert(name.to_owned(), json!(address));
            // iproute2 does not show the length of a single address.
            let whole = if address.contains(':') { 128 } else { 32 };
            if let Some(length) = length.parse::<u64>().ok().filter(|length| *length != whole) {
                rule.insert(format!("{name}len"), json!(length));
            }
        }
        let table = wanted["route-table"].as_u64().filter(|id| !matches!(id, 0 | 254));
        rule.insert("table".to_owned(), json!(table.map_or("main".to_owned(), |id| id.to_string())));
        if let Some(iif) = wanted["iif"].as_str() {
            rule.insert("iif".to_owned(), json!(self.own_name(iif)));
        }
        for key in ["fwmark", "fwmask"] {
            if let Some(mark) = number(&wanted[key]).filter(|mark| *mark != u64::from(u32::MAX)) {
                rule.insert(key.to_owned(), json!(format!("{mark:#x}")));
            }
        }
        if let Some(action) = wanted["action"].as_str() {
            rule.insert("action".to_owned(), json!(action));
        }
        if let Some(length) = wanted.get("suppress-prefix-length") {
            rule.insert("suppress_prefixlen".to_owned(), length.clone());
        }
        rule
    }
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(said) => u64::from_str_radix(said.trim_start_matches("0x"), 16).ok(),
        _ => value.as_u64(),
    }
}

fn family_of(rule: &Value) -> &str {
    match text(&rule["family"]) {
        "" if [&rule["ip-from"], &rule["ip-to"]].iter().any(|prefix| text(prefix).contains(':')) => "ipv6",
        "" => "ipv4",
        other => other,
    }
}
