//! The resources by path, without a slash at the end. Each has the number of its changes, which is its `ETag`.

use std::collections::BTreeMap;

use serde_json::Value;

/// All resources of a BMC.
pub(super) struct Tree {
    resources: BTreeMap<String, (Value, u64)>,
    /// The actions by their `target`: the resource and the action's name, such as `VirtualMedia.InsertMedia`.
    actions: BTreeMap<String, (String, String)>,
}

impl Tree {
    pub(super) fn new(resources: &BTreeMap<String, Value>) -> Self {
        let mut tree = Self { resources: BTreeMap::new(), actions: BTreeMap::new() };
        for (path, value) in resources {
            for (name, action) in value["Actions"].as_object().into_iter().flatten() {
                if let Some(target) = action["target"].as_str() {
                    let name = name.trim_start_matches('#').to_owned();
                    tree.actions.insert(key(target), (key(path), name));
                }
            }
            tree.insert(path, value.clone());
        }
        tree
    }

    pub(super) fn insert(&mut self, path: &str, value: Value) {
        self.resources.insert(key(path), (value, 0));
    }

    pub(super) fn get(&self, path: &str) -> Option<&Value> {
        self.resources.get(&key(path)).map(|(value, _)| value)
    }

    pub(super) fn etag(&self, path: &str) -> Option<String> {
        self.resources.get(&key(path)).map(|(_, changes)| format!("W/\"{changes:08x}\""))
    }

    /// Returns the resource and the name of the action with this target.
    pub(super) fn action(&self, target: &str) -> Option<(String, String)> {
        self.actions.get(&key(target)).cloned()
    }

    /// Returns the paths of the resources of a type, such as `VirtualMedia`.
    pub(super) fn of_type(&self, name: &str) -> Vec<String> {
        let start = format!("#{name}.");
        let typed = self
            .resources
            .iter()
            .filter(|(_, (value, _))| value["@odata.type"].as_str().is_some_and(|type_| type_.starts_with(&start)));
        typed.map(|(path, _)| path.clone()).collect()
    }

    /// Adds a member to a collection of certificates. Returns its path; `None` if there is no such collection.
    pub(super) fn add_certificate(&mut self, collection: &str, certificate: Value) -> Option<String> {
        let (value, changes) = self.resources.get_mut(&key(collection))?;
        if !value["@odata.type"].as_str()?.starts_with("#CertificateCollection.") {
            return None;
        }
        let members = value["Members"].as_array_mut()?;
        let path = format!("{}/{}", key(collection), members.len() + 1);
        members.push(serde_json::json!({"@odata.id": path}));
        *changes += 1;
        self.insert(&path, certificate);
        Some(path)
    }

    /// Sets a member. It, or the object that it belongs to, must exist.
    pub(super) fn set(&mut self, path: &str, pointer: &str, value: Value) {
        let Some((resource, changes)) = self.resources.get_mut(&key(path)) else { panic!("no {path}") };
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        let Some(Value::Object(members)) = resource.pointer_mut(parent) else { panic!("no {parent} in {path}") };
        if members.get(name) != Some(&value) {
            members.insert(name.to_owned(), value);
            *changes += 1;
        }
    }
}

/// Returns a path without a slash at the end.
fn key(path: &str) -> String {
    path.trim_end_matches('/').to_owned()
}
