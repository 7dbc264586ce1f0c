//! Checks the profiles of one host for things that they must not have in common.

use std::collections::BTreeMap;

use crate::keyfile_format::GroupedKeys;
use crate::nmstate_document::quoted;
use vocabulary::host::KeyfileDocument;
use vocabulary::report::{DocumentPath, Report};

/// Checks the profiles of a host against each other.
pub(crate) fn check(profiles: &[(&KeyfileDocument, GroupedKeys<'_>)], report: &mut Report) {
    let mut files = BTreeMap::new();
    let (mut uuids, mut ids, mut devices) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (document, keys) in profiles {
        let path = &document.path;
        if let Some(first) = files.insert(document.name.to_ascii_lowercase(), path) {
            let message = format!(
                "has the same name as {first}: the image can have only one of them, and upper and lower case make no \
                 difference"
            );
            report.error("keyfile-name-twice", path, message);
        }
        let text = |key| keys.get("connection", key)?.text().ok().filter(|text| !text.is_empty());
        if let Some(first) = text("uuid").and_then(|uuid| uuids.insert(uuid.to_ascii_lowercase(), path)) {
            let message = format!("is the same as in {first}: NetworkManager would load only one of the two");
            report.error("keyfile-uuid-twice", &at(path, "uuid"), message);
        }
        if let Some(id) = text("id")
            && let Some(first) = ids.insert(id.to_string(), path)
        {
            let message = format!("is {}, as in {first}: it does not distinguish the two", quoted(&id));
            report.warning("keyfile-id-twice", &at(path, "id"), message);
        }
        let kind = text("type").unwrap_or_default();
        if let Some(name) = text("interface-name").filter(|_| text("autoconnect").as_deref() != Some("false"))
            && let Some(first) = devices.insert((name.to_string(), kind.to_string()), path)
        {
            let message =
                format!("is {}, as in {first}: NetworkManager activates only one of the two profiles", quoted(&name));
            report.warning("keyfile-same-device", &at(path, "interface-name"), message);
        }
    }
}

fn at(path: &DocumentPath, key: &str) -> DocumentPath {
    path.key("connection").key(key)
}
