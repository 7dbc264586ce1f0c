//! The vendors' files.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Behaviour;
use crate::bases::fixtures;

/// A file of `fixtures/redfish/`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    /// The name of the file without its suffix.
    #[serde(skip)]
    pub name: String,
    /// The sources of its content.
    pub source: Vec<String>,
    /// The resources by their paths.
    pub resources: BTreeMap<String, Value>,
    /// The behaviour of the firmware: a [`Behaviour`].
    #[serde(default = "nothing")]
    behaviour: Value,
    /// The expected requests of dayone. `tests/tests/redfish/vendors.rs` describes the members.
    pub expected: Value,
}

impl Vendor {
    /// Reads the file of this name.
    pub fn named(name: &str) -> Self {
        let path = fixtures("redfish").join(format!("{name}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let vendor = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { name: name.to_owned(), ..vendor }
    }

    /// Makes a vendor from recorded resources, with the default behaviour.
    pub fn recorded(name: &str, resources: impl IntoIterator<Item = Value>) -> Self {
        let by_path = |resource: Value| {
            let path = resource["@odata.id"].as_str().expect("a path").trim_end_matches('/').to_owned();
            (path, resource)
        };
        let resources = resources.into_iter().map(by_path).collect();
        Self { name: name.to_owned(), source: Vec::new(), resources, behaviour: nothing(), expected: Value::Null }
    }

    /// Adds the settings of a firmware: a file of `fixtures/redfish/bios/`.
    pub fn with_bios(mut self, name: &str) -> Self {
        let bios = self.add_resources_of(&format!("bios/{name}.json"));
        let system = self.resources.get_mut(bios["system"].as_str().expect("a system")).expect("the system");
        system["Bios"] = json!({"@odata.id": bios["behaviour"]["path"]});
        for (name, value) in bios["boot"].as_object().into_iter().flatten() {
            system["Boot"][name] = value.clone();
        }
        let nics = format!("{}/EthernetInterfaces", bios["system"].as_str().expect("a system"));
        if bios["resources"].get(&nics).is_some() {
            system["EthernetInterfaces"] = json!({"@odata.id": nics});
        }
        self.with(json!({"bios": bios["behaviour"]}))
    }

    /// Adds the keys that the machine trusts: a file of `fixtures/redfish/secure-boot/`. Returns the expected output of `dayone bmc enrol`,
    /// too.
    pub fn with_secure_boot(mut self, name: &str) -> (Self, Value) {
        let secure_boot = self.add_resources_of(&format!("secure-boot/{name}.json"));
        let path = secure_boot["system"].as_str().expect("a system");
        let system = self.resources.get_mut(path).expect("the system");
        system["SecureBoot"] = json!({"@odata.id": format!("{path}/SecureBoot")});
        (self.with(json!({"certificates": secure_boot["behaviour"]})), secure_boot["expected"].clone())
    }

    fn add_resources_of(&mut self, file: &str) -> Value {
        let path = fixtures("redfish").join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let added: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for (path, resource) in added["resources"].as_object().expect("resources") {
            self.resources.insert(path.clone(), resource.clone());
        }
        added
    }

    /// Replaces or adds these members of the behaviour.
    pub fn with(mut self, behaviour: Value) -> Self {
        merge(&mut self.behaviour, behaviour);
        self
    }

    /// Returns a member of the behaviour in the file, such as `/insert/schemes`, or `null`.
    pub fn behaviour_member(&self, pointer: &str) -> Value {
        self.behaviour.pointer(pointer).cloned().unwrap_or_default()
    }

    pub(super) fn behaviour(&self) -> Behaviour {
        Behaviour::deserialize(&self.behaviour).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Returns all vendors, by name.
    pub fn all() -> Vec<Self> {
        let entries = fs::read_dir(fixtures("redfish")).expect("fixtures/redfish");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let json = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        let mut names: Vec<String> =
            json.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
        names.sort();
        names.iter().map(|name| Self::named(name)).collect()
    }
}

fn nothing() -> Value {
    json!({})
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}
