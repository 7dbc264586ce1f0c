//! NMState under construction, and where its parts come from.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_yaml::{Mapping, Value};

use crate::family::Family;
use crate::members::mapping;
use vocabulary::host::NmstateDocument;
use vocabulary::report::{DocumentPath, NetworkFormat, Origins};

/// One entry of NMState: an interface, a route or a rule.
pub(super) struct Entry {
    value: Mapping,
    /// Its members, each with the place in the user's document. The first is the entry itself.
    origins: Vec<(Vec<Step>, DocumentPath)>,
}

enum Step {
    Key(String),
    Index(usize),
}

impl Entry {
    /// Makes an empty entry that comes from `origin`.
    pub(super) fn new(origin: &DocumentPath) -> Self {
        Self { value: Mapping::new(), origins: vec![(Vec::new(), origin.clone())] }
    }

    /// Sets the member at `keys`, which comes from `origin`.
    pub(super) fn set(&mut self, keys: &[&str], value: impl Into<Value>, origin: &DocumentPath) {
        self.set_unplaced(keys, value);
        self.origins.push((steps(keys), origin.clone()));
    }

    /// Sets the member at `keys`, which the document does not mention.
    pub(super) fn set_unplaced(&mut self, keys: &[&str], value: impl Into<Value>) {
        let Some((last, outer)) = keys.split_last() else { return };
        if let Some(mapping) = inner(&mut self.value, outer) {
            mapping.insert((*last).into(), value.into());
        }
    }

    /// Appends to the list at `keys`.
    pub(super) fn push(&mut self, keys: &[&str], value: impl Into<Value>, origin: &DocumentPath) {
        let Some((last, outer)) = keys.split_last() else { return };
        let Some(mapping) = inner(&mut self.value, outer) else { return };
        if let Value::Sequence(list) = mapping.entry((*last).into()).or_insert_with(|| Value::Sequence(Vec::new())) {
            let index = Step::Index(list.len());
            list.push(value.into());
            self.origins.push((steps(keys).into_iter().chain([index]).collect(), origin.clone()));
        }
    }
}

fn steps(keys: &[&str]) -> Vec<Step> {
    keys.iter().map(|key| Step::Key((*key).to_owned())).collect()
}

/// Returns the mapping at `keys`, which it makes if it is missing.
fn inner<'m>(mapping: &'m mut Mapping, keys: &[&str]) -> Option<&'m mut Mapping> {
    keys.iter().try_fold(mapping, |mapping, key| {
        mapping.entry((*key).into()).or_insert_with(|| Mapping::new().into()).as_mapping_mut()
    })
}

/// A whole document of NMState.
pub(super) struct Draft {
    path: DocumentPath,
    interfaces: Vec<Value>,
    routes: Vec<Value>,
    rules: Vec<Value>,
    /// Name servers and search domains, each with its place.
    pub(super) servers: Vec<(IpAddr, DocumentPath)>,
    pub(super) search: Vec<(String, DocumentPath)>,
    origins: Origins,
}

impl Draft {
    /// Makes an empty document for the user's document at `path`, whose interfaces are at `interfaces`.
    pub(super) fn new(path: &DocumentPath, interfaces: &DocumentPath, format: NetworkFormat) -> Self {
        let mut origins = Origins::translated_from(format);
        for key in ["interfaces", "routes", "route-rules", "dns-resolver"] {
            origins.made(path.key(key), interfaces.clone());
        }
        let path = path.clone();
        let (interfaces, routes, rules) = (Vec::new(), Vec::new(), Vec::new());
        Self { path, interfaces, routes, rules, servers: Vec::new(), search: Vec::new(), origins }
    }

    pub(super) fn add_interface(&mut self, entry: Entry) {
        let at = self.path.key("interfaces").index(self.interfaces.len());
        let placed = self.placed(entry, &at);
        self.interfaces.push(placed);
    }

    pub(super) fn add_route(&mut self, entry: Entry) {
        let at = self.path.key("routes").key("config").index(self.routes.len());
        let placed = self.placed(entry, &at);
        self.routes.push(placed);
    }

    pub(super) fn add_rule(&mut self, entry: Entry) {
        let at = self.path.key("route-rules").key("config").index(self.rules.len());
        let placed = self.placed(entry, &at);
        self.rules.push(placed);
    }

    fn placed(&mut self, entry: Entry, at: &DocumentPath) -> Value {
        for (steps, origin) in entry.origins {
            let part = steps.iter().fold(at.clone(), |at, step| match step {
                Step::Key(key) => at.key(key),
                Step::Index(index) => at.index(*index),
            });
            self.origins.made(part, origin);
        }
        entry.value.into()
    }

    pub(super) fn finish(mut self) -> NmstateDocument {
        let resolver = self.resolver();
        let config = |list: Vec<Value>| {
            if list.is_empty() { Value::Null } else { mapping([("config", list.into())]).into() }
        };
        let document = mapping([
            ("interfaces", self.interfaces.into()),
            ("routes", config(self.routes)),
            ("route-rules", config(self.rules)),
            ("dns-resolver", resolver),
        ]);
        NmstateDocument { value: document.into(), path: self.path, origins: self.origins }
    }

    /// Writes name servers and search domains, each once. Servers of one family follow each other, because a profile can
    /// have more than three of them only then.
    fn resolver(&mut self) -> Value {
        let at = self.path.key("dns-resolver").key("config");
        let mut seen = BTreeSet::new();
        self.servers.retain(|(address, _)| seen.insert(*address));
        let first = self.servers.first().map(|(address, _)| Family::of(*address));
        self.servers.sort_by_key(|(address, _)| Some(Family::of(*address)) != first);
        let mut seen = BTreeSet::new();
        self.search.retain(|(domain, _)| seen.insert(domain.clone()));
        for (index, (_, origin)) in self.servers.iter().enumerate() {
            self.origins.made(at.key("server").index(index), origin.clone());
        }
        for (index, (_, origin)) in self.search.iter().enumerate() {
            self.origins.made(at.key("search").index(index), origin.clone());
        }
        let servers: Vec<Value> = self.servers.iter().map(|(address, _)| address.to_string().into()).collect();
        let search: Vec<Value> = self.search.iter().map(|(domain, _)| domain.as_str().into()).collect();
        let list = |list: Vec<Value>| if list.is_empty() { Value::Null } else { list.into() };
        let config = mapping([("server", list(servers)), ("search", list(search))]);
        if config.is_empty() { Value::Null } else { mapping([("config", config.into())]).into() }
    }
}
