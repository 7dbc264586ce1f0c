//! The list that says which NICs the names of a document mean: `nics.yaml` beside it, or `NAME.nics`, written as in
//! agent-config.

use std::fs;
use std::path::Path;

use serde_yaml::Value;
use vocabulary::host::NamedNic;
use vocabulary::report::DocumentPath;

/// The NICs beside the document at `path`; none where there is no list.
pub(crate) fn beside(path: &Path) -> Vec<NamedNic> {
    let lists = [path.with_file_name("nics.yaml"), path.with_extension("nics")];
    let Some(text) = lists.iter().find_map(|list| fs::read_to_string(list).ok()) else { return Vec::new() };
    let list: Value = serde_yaml::from_str(&text).unwrap();
    let at = DocumentPath::document("list").key("interfaces");
    let nic = |(index, nic): (usize, &Value)| NamedNic {
        name: nic["name"].as_str().unwrap().to_owned(),
        mac: nic["macAddress"].as_str().unwrap().parse().unwrap(),
        path: at.index(index),
    };
    list["interfaces"].as_sequence().unwrap().iter().enumerate().map(nic).collect()
}
