//! The properties that are read of a BMC's resources, each by itself.
//!
//! Schemas: `ComputerSystem` 1.22, `Manager` 1.19, `VirtualMedia` 1.6, `ActionInfo` 1.4, `Settings` 1.3 (DMTF DSP8010).
//! What BMCs send differs from them: properties are missing, null, of another type, or have values that no schema lists. So a
//! property that cannot be read is one that is not there, and never the end of the whole resource.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The most characters that are kept of a text. Longer than any URL that a BMC takes.
const LONGEST_TEXT: usize = 1024;

/// The most members that are read of a list.
const MOST_MEMBERS: usize = 64;

/// Reads a resource. What is no object is one without properties.
pub(super) fn read<T: DeserializeOwned + Default>(body: &Value) -> T {
    T::deserialize(body).unwrap_or_default()
}

/// A property that may be anything.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(T::deserialize(Value::deserialize(deserializer)?).ok())
}

/// A list of which the elements that cannot be read are left out.
fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<Vec<T>>, D::Error> {
    let Value::Array(elements) = Value::deserialize(deserializer)? else { return Ok(None) };
    Ok(Some(elements.into_iter().take(MOST_MEMBERS).filter_map(|element| T::deserialize(element).ok()).collect()))
}

/// A text, without control characters (they would reach terminals), bounded, and not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = clean(&String::deserialize(deserializer)?);
        if text.is_empty() { Err(serde::de::Error::custom("an empty text")) } else { Ok(Self(text)) }
    }
}

/// A foreign text as it may be shown: without control characters, and bounded.
pub(super) fn clean(text: &str) -> String {
    let shown: String = text.chars().filter(|character| !character.is_control()).take(LONGEST_TEXT).collect();
    shown.trim().to_owned()
}

/// A path on the BMC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path(pub(super) String);

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Text(path) = Text::deserialize(deserializer)?;
        let local = path.starts_with('/') && !path.starts_with("//");
        if local { Ok(Self(path)) } else { Err(serde::de::Error::custom("not a path")) }
    }
}

/// A link to another resource.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Link {
    #[serde(rename = "@odata.id")]
    pub(super) path: Path,
}

/// A collection of resources.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Collection {
    #[serde(deserialize_with = "list")]
    pub(super) members: Option<Vec<Link>>,
}

impl Collection {
    /// The paths of its members.
    pub(super) fn paths(self) -> Vec<String> {
        self.members.into_iter().flatten().map(|link| link.path.0).collect()
    }
}

/// The service root.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Root {
    #[serde(deserialize_with = "lenient")]
    pub(super) vendor: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) product: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) redfish_version: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) systems: Option<Link>,
    #[serde(deserialize_with = "lenient")]
    pub(super) managers: Option<Link>,
    pub(super) oem: Value,
}

/// `ComputerSystem`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct System {
    #[serde(deserialize_with = "lenient")]
    pub(super) id: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) name: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) manufacturer: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) model: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) serial_number: Option<Text>,
    #[serde(rename = "UUID", deserialize_with = "lenient")]
    pub(super) uuid: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) bios_version: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) power_state: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) boot: Option<Boot>,
    #[serde(deserialize_with = "lenient")]
    pub(super) boot_progress: Option<Progress>,
    #[serde(deserialize_with = "lenient")]
    pub(super) virtual_media: Option<Link>,
    #[serde(deserialize_with = "lenient")]
    pub(super) links: Option<SystemLinks>,
    #[serde(deserialize_with = "lenient")]
    pub(super) actions: Option<SystemActions>,
    #[serde(rename = "@Redfish.Settings", deserialize_with = "lenient")]
    pub(super) settings: Option<Settings>,
}

/// `ComputerSystem.Links`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct SystemLinks {
    #[serde(deserialize_with = "list")]
    pub(super) managed_by: Option<Vec<Link>>,
    #[serde(deserialize_with = "list")]
    pub(super) managers: Option<Vec<Link>>,
}

/// `ComputerSystem.Actions`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SystemActions {
    #[serde(rename = "#ComputerSystem.Reset", deserialize_with = "lenient")]
    pub(super) reset: Option<Action>,
}

/// `ComputerSystem.Boot`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Boot {
    #[serde(rename = "BootSourceOverrideEnabled", deserialize_with = "lenient")]
    pub(super) enabled: Option<Text>,
    #[serde(rename = "BootSourceOverrideTarget", deserialize_with = "lenient")]
    pub(super) target: Option<Text>,
    #[serde(rename = "BootSourceOverrideMode", deserialize_with = "lenient")]
    pub(super) mode: Option<Text>,
    #[serde(rename = "BootSourceOverrideTarget@Redfish.AllowableValues", deserialize_with = "list")]
    pub(super) targets: Option<Vec<Text>>,
    #[serde(rename = "BootSourceOverrideMode@Redfish.AllowableValues", deserialize_with = "list")]
    pub(super) modes: Option<Vec<Text>>,
    #[serde(rename = "BootSourceOverrideEnabled@Redfish.AllowableValues", deserialize_with = "list")]
    pub(super) enables: Option<Vec<Text>>,
}

/// `ComputerSystem.BootProgress`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Progress {
    #[serde(deserialize_with = "lenient")]
    pub(super) last_state: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) last_state_time: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) oem_last_state: Option<Text>,
}

/// `@Redfish.Settings`: where the resource with the settings that wait for the next boot is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Settings {
    #[serde(deserialize_with = "lenient")]
    pub(super) settings_object: Option<Link>,
}

/// `Manager`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Manager {
    #[serde(deserialize_with = "lenient")]
    pub(super) manufacturer: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) model: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) firmware_version: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) virtual_media: Option<Link>,
    pub(super) links: Value,
    pub(super) oem: Value,
}

/// `VirtualMedia`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct VirtualMedia {
    #[serde(deserialize_with = "lenient")]
    pub(super) id: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) name: Option<Text>,
    #[serde(deserialize_with = "list")]
    pub(super) media_types: Option<Vec<Text>>,
    #[serde(deserialize_with = "lenient")]
    pub(super) image: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) image_name: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) inserted: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub(super) connected_via: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) verify_certificate: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub(super) actions: Option<MediaActions>,
}

/// `VirtualMedia.Actions`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MediaActions {
    #[serde(rename = "#VirtualMedia.InsertMedia", deserialize_with = "lenient")]
    pub(super) insert: Option<Action>,
    #[serde(rename = "#VirtualMedia.EjectMedia", deserialize_with = "lenient")]
    pub(super) eject: Option<Action>,
}

/// An action, with what it says of its parameters in place.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Action {
    #[serde(deserialize_with = "lenient")]
    pub(super) target: Option<Path>,
    #[serde(rename = "@Redfish.ActionInfo", deserialize_with = "lenient")]
    pub(super) info: Option<Path>,
    #[serde(rename = "ResetType@Redfish.AllowableValues", deserialize_with = "list")]
    pub(super) reset_types: Option<Vec<Text>>,
    #[serde(rename = "TransferProtocolType@Redfish.AllowableValues", deserialize_with = "list")]
    pub(super) transfer_protocols: Option<Vec<Text>>,
    #[serde(rename = "TransferMethod@Redfish.AllowableValues", deserialize_with = "list")]
    pub(super) transfer_methods: Option<Vec<Text>>,
}

/// `ActionInfo`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct ActionInfo {
    #[serde(deserialize_with = "list")]
    pub(super) parameters: Option<Vec<ActionParameter>>,
}

/// A parameter in an `ActionInfo`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct ActionParameter {
    #[serde(deserialize_with = "lenient")]
    pub(super) name: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub(super) required: Option<bool>,
    #[serde(deserialize_with = "list")]
    pub(super) allowable_values: Option<Vec<Text>>,
}

/// The texts of a list.
pub(super) fn texts(list: Option<Vec<Text>>) -> Option<Vec<String>> {
    list.map(|texts| texts.into_iter().map(|Text(text)| text).collect())
}

/// The text of a property.
pub(super) fn text(property: Option<Text>) -> Option<String> {
    property.map(|Text(text)| text)
}
