//! What kustomize makes of manifests.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::bases::fixtures;
use crate::peers::{peer, run_text};

/// The objects of a directory of this repository, such as `deploy/base`.
pub fn directory(path: &str) -> Vec<Value> {
    build(&fixtures("..").join(path))
}

/// The objects of a kustomization.yaml, in a directory in which `dayone` is this repository, and `baremetal-operator`
/// manifests like those of the operator.
pub fn kustomization(text: &str) -> Vec<Value> {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("kustomization.yaml"), text).expect("a file");
    for (name, place) in [("dayone", ".."), ("baremetal-operator", "metal3/baremetal-operator")] {
        symlink(fixtures(place), directory.path().join(name)).expect("a link");
    }
    build(directory.path())
}

fn build(directory: &Path) -> Vec<Value> {
    objects(&run_text(peer("kustomize").arg("build").arg(directory)))
}

/// The objects of a manifest.
pub fn objects(manifest: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(manifest);
    let objects = documents.map(|document| Value::deserialize(document).expect("YAML"));
    objects.filter(|object| !object.is_null()).collect()
}

/// The one object of a kind and name.
pub fn object<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let mut found = objects.iter().filter(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    let object = found.next().unwrap_or_else(|| panic!("no {kind} {name}"));
    assert!(found.next().is_none(), "two {kind} {name}");
    object
}

/// The objects of a kind.
pub fn of_kind<'a>(objects: &'a [Value], kind: &str) -> impl Iterator<Item = &'a Value> {
    objects.iter().filter(move |object| object["kind"] == kind)
}

/// The elements of a list; none if it is not there.
pub fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The element of a list that has a name.
pub fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    each(list).find(|element| element["name"] == name).unwrap_or_else(|| panic!("no {name} in {list:#}"))
}
