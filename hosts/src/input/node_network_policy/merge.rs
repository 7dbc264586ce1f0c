//! Several policies of one host as one NMState document.

use serde_yaml::{Mapping, Value};

use super::KIND;
use crate::input::flaw::Reported;
use crate::input::object::Fields;
use crate::input::part::contradiction;
use vocabulary::host::NmstateDocument;
use vocabulary::report::{DocumentPath, Origins, Report};

/// The lists that policies add to; every other list is one fact.
const LISTS: [&str; 6] = [
    "interfaces",
    "routes.config",
    "route-rules.config",
    "dns-resolver.config.server",
    "dns-resolver.config.search",
    "dns-resolver.config.options",
];

/// All that the states want: what only one of them says, and what all that say it agree on.
pub(super) fn merged(host: &str, states: &[Fields<'_>], report: &mut Report) -> Result<NmstateDocument, Reported> {
    let top = DocumentPath::document(&format!("{KIND} of {host}"));
    let mut merge = Merge { origins: Origins::default(), host, report, contradicted: false };
    let mut value = Mapping::new();
    for state in states {
        merge.mapping(&mut value, &top, state.mapping, &state.path, "");
    }
    let Merge { origins, contradicted, .. } = merge;
    if contradicted {
        return Err(Reported);
    }
    Ok(NmstateDocument { value: Value::Mapping(value), path: top, origins })
}

struct Merge<'a> {
    origins: Origins,
    host: &'a str,
    report: &'a mut Report,
    contradicted: bool,
}

impl Merge<'_> {
    /// Adds the members of `from` to `into`, which stands at `at`, and is at `way` (keys with dots) in the whole.
    fn mapping(&mut self, into: &mut Mapping, at: &DocumentPath, from: &Mapping, from_path: &DocumentPath, way: &str) {
        for (key, value) in from {
            let name = key.as_str().unwrap_or("?");
            let (at, from_path) = (at.key(name), from_path.key(name));
            let way = if way.is_empty() { name.to_owned() } else { format!("{way}.{name}") };
            match (into.get_mut(key), value) {
                (None, value) => {
                    self.origins.moved(at, from_path);
                    into.insert(key.clone(), value.clone());
                }
                (Some(Value::Mapping(known)), Value::Mapping(value)) => {
                    self.mapping(known, &at, value, &from_path, &way);
                }
                (Some(Value::Sequence(known)), Value::Sequence(value)) if LISTS.contains(&way.as_str()) => {
                    self.list(known, &at, value, &from_path);
                }
                (Some(known), value) if known == value => {}
                _ => {
                    let first = self.origins.of(&at).unwrap_or(at);
                    contradiction(&from_path, &first, &format!("host {}", self.host), self.report);
                    self.contradicted = true;
                }
            }
        }
    }

    fn list(&mut self, into: &mut Vec<Value>, at: &DocumentPath, from: &[Value], from_path: &DocumentPath) {
        for (index, item) in from.iter().enumerate() {
            if into.contains(item) {
                continue;
            }
            let from_path = from_path.index(index);
            let same = into.iter().position(|known| is_same_interface(known, item));
            if let Some(place) = same
                && let (Some(Value::Mapping(known)), Value::Mapping(item)) = (into.get_mut(place), item)
            {
                self.mapping(known, &at.index(place), item, &from_path, "interfaces[]");
            } else {
                self.origins.moved(at.index(into.len()), from_path);
                into.push(item.clone());
            }
        }
    }
}

/// Whether both are about one interface. An OVS bridge and its own port may have one name; they are told apart by type.
fn is_same_interface(a: &Value, b: &Value) -> bool {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = text(a, "name");
    let (first, second) = (text(a, "type"), text(b, "type"));
    let is_ovs = |kind: &Option<String>| kind.as_deref().is_some_and(|kind| kind.starts_with("ovs-"));
    name.is_some() && name == text(b, "name") && (first == second || !(is_ovs(&first) || is_ovs(&second)))
}
