//! Reads the properties of a BMC's resources one by one.
//!
//! Schemas: `ComputerSystem` 1.22, `Manager` 1.19, `VirtualMedia` 1.6, `ActionInfo` 1.4, `Settings` 1.3 (DMTF DSP8010).
//! BMCs deviate from them: properties are missing, null or of another type, or have values that no schema lists. A
//! property that cannot be read therefore counts as missing, and the rest of the resource remains readable.

use serde_json::Value;

use crate::client::local_path;

/// Maximum length of a text, in characters. Longer than any URL that a BMC accepts.
const MAX_TEXT: usize = 1024;

/// Maximum number of elements that are read from a list.
const MAX_ELEMENTS: usize = 64;

/// A JSON object. Any other JSON value counts as an object without properties.
#[derive(Debug, Clone, Copy)]
pub(super) struct Properties<'a>(&'a Value);

impl<'a> Properties<'a> {
    pub(super) fn new(value: &'a Value) -> Self {
        Self(value)
    }

    pub(super) fn value(self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    pub(super) fn flag(self, name: &str) -> Option<bool> {
        self.value(name)?.as_bool()
    }

    pub(super) fn text(self, name: &str) -> Option<String> {
        text(self.value(name)?)
    }

    /// A path on the BMC.
    pub(super) fn path(self, name: &str) -> Option<String> {
        path(&self.text(name)?)
    }

    /// The path of the resource that a property links to.
    pub(super) fn link(self, name: &str) -> Option<String> {
        self.object(name).path("@odata.id")
    }

    pub(super) fn object(self, name: &str) -> Self {
        Self(self.value(name).unwrap_or(&Value::Null))
    }

    /// The texts in a list, without the elements that are not text.
    pub(super) fn texts(self, name: &str) -> Option<Vec<String>> {
        Some(self.list(name)?.filter_map(text).collect())
    }

    /// The paths of the resources that a list links to.
    pub(super) fn links(self, name: &str) -> Vec<String> {
        self.objects(name).filter_map(|link| link.path("@odata.id")).collect()
    }

    pub(super) fn objects(self, name: &str) -> impl Iterator<Item = Self> {
        self.list(name).into_iter().flatten().map(Self)
    }

    fn list(self, name: &str) -> Option<impl Iterator<Item = &'a Value> + use<'a>> {
        Some(self.value(name)?.as_array()?.iter().take(MAX_ELEMENTS))
    }
}

/// The path on the BMC that a reference names. References may be whole URLs (DMTF's schemas define them as `uri-reference`), and
/// some BMCs write a name there that only they know. The host is left out, so that a request for the path stays at the BMC.
pub(super) fn path(reference: &str) -> Option<String> {
    local_path(reference).filter(|path| !path.starts_with("//"))
}

/// The last segment of a path.
pub(super) fn last_segment(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

fn text(value: &Value) -> Option<String> {
    Some(clean(value.as_str()?)).filter(|text| !text.is_empty())
}

/// The first values of a list that may be long: HPE lists 80 ports, and an emulator a thousand Systems.
pub(super) fn some_of(offered: &[String]) -> String {
    const MAX_SHOWN: usize = 24;
    let shown = offered.iter().take(MAX_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if offered.len() > MAX_SHOWN { format!("{shown} and {} more", offered.len() - MAX_SHOWN) } else { shown }
}

/// Makes a BMC's text safe to show: without control characters, which would reach terminals, and not too long.
pub(super) fn clean(text: &str) -> String {
    let shown: String = text.chars().filter(|character| !character.is_control()).take(MAX_TEXT).collect();
    shown.trim().to_owned()
}
