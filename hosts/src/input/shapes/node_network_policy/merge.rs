//! Merges several policies for one host into one NMState document.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};

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

/// How many entries a list of several policies may have. The checks of a network accept no longer lists.
const MAX_ENTRIES: usize = 2000;

/// The places of the errors so far, each with the other place that it is about. The policies of thousands of hosts may have the same
/// errors.
pub(super) type Known = BTreeSet<(DocumentPath, Option<DocumentPath>)>;

/// Merges states. They must agree where they say something about the same thing. Errors that are in `known` are not reported again.
pub(super) fn merged(
    host: &str,
    states: &[&Fields<'_>],
    known: &mut Known,
    report: &mut Report,
) -> Result<NmstateDocument, Reported> {
    let top = DocumentPath::document(&format!("{KIND} of {host}"));
    let (origins, lists) = (Origins::default(), BTreeMap::new());
    let mut merge = Merge { origins, lists, host, known, report, result: Ok(()) };
    let mut value = Mapping::new();
    for state in states {
        merge.mapping(&mut value, &top, state.mapping, &state.path, "");
    }
    let Merge { origins, result, .. } = merge;
    result.map(|()| NmstateDocument { value: Value::Mapping(value), path: top, origins })
}

struct Merge<'a> {
    origins: Origins,
    /// What is known of each list that was merged so far, by the keys that lead to it.
    lists: BTreeMap<String, Entries>,
    host: &'a str,
    known: &'a mut Known,
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
                    self.list(known, (&at, steps.as_str()), value, &from_path);
                }
                (Some(known), value) if known == value => {}
                _ => {
                    let first = self.origins.of(&at).unwrap_or(at);
                    if self.known.insert((from_path.clone(), Some(first.clone()))) {
                        contradiction(&from_path, &first, &format!("host {}", self.host), self.report);
                    }
                    self.result = Err(Reported);
                }
            }
        }
    }

    /// Adds the entries of `from` to the list `into`, which is at `at`, and in the whole document at `steps`.
    fn list(
        &mut self,
        into: &mut Vec<Value>,
        (at, steps): (&DocumentPath, &str),
        from: &[Value],
        from_path: &DocumentPath,
    ) {
        let mut entries = self.lists.remove(steps).unwrap_or_else(|| Entries::of(into));
        for (index, item) in from.iter().enumerate() {
            if entries.contains(into, item) {
                continue;
            }
            let from_item = from_path.index(index);
            if let Some(place) = entries.interface(item)
                && let (Some(Value::Mapping(known)), Value::Mapping(item)) = (into.get_mut(place), item)
            {
                self.mapping(known, &at.index(place), item, &from_item, "interfaces[]");
            } else if into.len() < MAX_ENTRIES {
                self.origins.moved(at.index(into.len()), from_item);
                entries.add(into.len(), item);
                into.push(item.clone());
            } else {
                if self.known.insert((from_path.clone(), None)) {
                    let message = format!("has more than {MAX_ENTRIES} entries together with those of other policies");
                    self.report.error("list-too-long", from_path, message);
                }
                self.result = Err(Reported);
                break;
            }
        }
        self.lists.insert(steps.to_owned(), entries);
    }
}

/// Where the entries of a list are. Comparing each entry of hundreds of hosts with all others would take minutes.
#[derive(Default)]
struct Entries {
    hasher: RandomState,
    /// By their hashes, when they were added.
    by_hash: BTreeMap<u64, Vec<usize>>,
    /// The first entry that describes each interface.
    interfaces: BTreeMap<Interface, usize>,
}

/// The name of an interface. An OVS bridge and its own port may have the same name, and differ in their types, so there is also the type
/// if it is one of OVS.
type Interface = (String, Option<String>);

impl Entries {
    fn of(list: &[Value]) -> Self {
        let mut entries = Self::default();
        for (index, item) in list.iter().enumerate() {
            entries.add(index, item);
        }
        entries
    }

    fn add(&mut self, index: usize, item: &Value) {
        self.by_hash.entry(self.hasher.hash_one(item)).or_default().push(index);
        if let Some(interface) = interface_of(item) {
            self.interfaces.entry(interface).or_insert(index);
        }
    }

    /// Whether the list has the entry. An entry to which another policy has added something is found as the interface that it describes.
    fn contains(&self, list: &[Value], item: &Value) -> bool {
        let indices = self.by_hash.get(&self.hasher.hash_one(item)).into_iter().flatten();
        indices.filter_map(|index| list.get(*index)).any(|known| known == item)
    }

    /// Returns the first entry that describes the same interface.
    fn interface(&self, item: &Value) -> Option<usize> {
        self.interfaces.get(&interface_of(item)?).copied()
    }
}

fn interface_of(item: &Value) -> Option<Interface> {
    let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
    Some((text("name")?, text("type").filter(|kind| kind.starts_with("ovs-"))))
}
