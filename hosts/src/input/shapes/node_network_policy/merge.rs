//! Merges several policies for one host into one NMState document.

use serde_yaml::{Mapping, Value};

use super::KIND;
use crate::input::fields::Fields;
use crate::input::host_part::contradiction;
use vocabulary::host::NmstateDocument;
use vocabulary::report::{DocumentPath, Origins, Report, Reported};

/// The lists that policies add to. Every other list is one value.
const LISTS: [&str; 6] = [
    "interfaces",
    "routes.config",
    "route-rules.config",
    "dns-resolver.config.server",
    "dns-resolver.config.search",
    "dns-resolver.config.options",
];

/// How many entries a list of several policies may have. Each is compared with all others, and the checks of a network accept no longer
/// lists.
const MAX_ENTRIES: usize = 2000;

/// Merges states. They must agree where they say something about the same thing.
pub(super) fn merged(host: &str, states: &[Fields<'_>], report: &mut Report) -> Result<NmstateDocument, Reported> {
    let top = DocumentPath::document(&format!("{KIND} of {host}"));
    let mut merge = Merge { origins: Origins::default(), host, report, result: Ok(()) };
    let mut value = Mapping::new();
    for state in states {
        merge.mapping(&mut value, &top, state.mapping, &state.path, "");
    }
    let Merge { origins, result, .. } = merge;
    result.map(|()| NmstateDocument { value: Value::Mapping(value), path: top, origins })
}

struct Merge<'a> {
    origins: Origins,
    host: &'a str,
    report: &'a mut Report,
    /// Whether the states agree so far.
    result: Result<(), Reported>,
}

impl Merge<'_> {
    /// Adds the members of `from` to `into`, which is at `at`, and in the whole document at `steps` (keys with dots).
    fn mapping(
        &mut self,
        into: &mut Mapping,
        at: &DocumentPath,
        from: &Mapping,
        from_path: &DocumentPath,
        steps: &str,
    ) {
        for (key, value) in from {
            let name = key.as_str().unwrap_or("?");
            let (at, from_path) = (at.key(name), from_path.key(name));
            let steps = if steps.is_empty() { name.to_owned() } else { format!("{steps}.{name}") };
            match (into.get_mut(key), value) {
                (None, value) => {
                    self.origins.moved(at, from_path);
                    into.insert(key.clone(), value.clone());
                }
                (Some(Value::Mapping(known)), Value::Mapping(value)) => {
                    self.mapping(known, &at, value, &from_path, &steps);
                }
                (Some(Value::Sequence(known)), Value::Sequence(value)) if LISTS.contains(&steps.as_str()) => {
                    self.list(known, &at, value, &from_path);
                }
                (Some(known), value) if known == value => {}
                _ => {
                    let first = self.origins.of(&at).unwrap_or(at);
                    self.result = Err(contradiction(&from_path, &first, &format!("host {}", self.host), self.report));
                }
            }
        }
    }

    fn list(&mut self, into: &mut Vec<Value>, at: &DocumentPath, from: &[Value], from_path: &DocumentPath) {
        if into.len() + from.len() > MAX_ENTRIES {
            let message = format!("has more than {MAX_ENTRIES} entries together with those of other policies");
            self.result = Err(self.report.refuse("list-too-long", from_path, message));
            return;
        }
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

/// Whether both describe the same interface. An OVS bridge and its own port may have the same name, and differ in their types.
fn is_same_interface(a: &Value, b: &Value) -> bool {
    fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
        value.get(key).and_then(Value::as_str)
    }
    let name = text(a, "name");
    if name.is_none() || name != text(b, "name") {
        return false;
    }
    let (first, second) = (text(a, "type"), text(b, "type"));
    let is_ovs = |kind: Option<&str>| kind.is_some_and(|kind| kind.starts_with("ovs-"));
    first == second || !(is_ovs(first) || is_ovs(second))
}
