//! The drive that a DataImage describes in its annotations.

use imagelib::data_image::{DataKind, FileSystem};

use super::DataImage;
use super::resource::{META_DATA, NETWORK_DATA, USER_DATA};
use crate::kubernetes::decide::{Failure, is_object_name};
use crate::kubernetes::kind::Kind as _;

/// The kind of drive: `config-2`, `cidata` or `combustion`. dayone leaves objects without this annotation alone.
const KIND: &str = "dayone.metal3.io/data-image";
/// `iso` or `vfat`.
const FILE_SYSTEM: &str = "dayone.metal3.io/file-system";
/// dayone does not change objects that have this annotation, with any value.
const PAUSED: &str = "baremetalhost.metal3.io/paused";

/// Reasons of the Events that report why there is no drive.
pub(in crate::kubernetes) mod reason {
    /// An annotation is not valid.
    pub(in crate::kubernetes) const CONFIGURATION: &str = "ConfigurationError";
    /// A Secret, or a key of it, does not exist.
    pub(in crate::kubernetes) const MISSING: &str = "MissingSecret";
    /// The readers of the drive would refuse its content.
    pub(in crate::kubernetes) const INVALID: &str = "DataImageInvalid";
}

/// What a DataImage describes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Desired {
    /// Nothing: the object does not ask dayone for a drive.
    Unmanaged,
    /// A drive.
    Drive(DesiredDrive),
    /// A drive that dayone cannot make.
    Invalid(Failure),
}

/// A drive, with the names of the Secrets that hold its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DesiredDrive {
    pub(super) kind: DataKind,
    pub(super) file_system: FileSystem,
    pub(super) network_data: Option<String>,
    pub(super) user_data: Option<String>,
    pub(super) meta_data: Option<String>,
}

impl DesiredDrive {
    /// The names of the Secrets.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        [&self.network_data, &self.user_data, &self.meta_data].into_iter().flatten().map(String::as_str)
    }
}

/// Reads the annotations of an object.
pub(super) fn desired(object: &DataImage) -> Desired {
    let Some(kind) = object.annotation(KIND) else { return Desired::Unmanaged };
    match drive(object, kind) {
        Ok(drive) => Desired::Drive(drive),
        Err(message) => Desired::Invalid(Failure { reason: reason::CONFIGURATION, message }),
    }
}

fn drive(object: &DataImage, kind: &str) -> Result<DesiredDrive, String> {
    let secret = |annotation| match object.annotation(annotation) {
        Some(name) if !is_object_name(name) => {
            Err(format!("the annotation {annotation} does not name a Secret: {name:?}"))
        }
        name => Ok(name.map(str::to_owned)),
    };
    let file_system = object.annotation(FILE_SYSTEM).map(str::parse).transpose();
    Ok(DesiredDrive {
        kind: kind.parse().map_err(|error| format!("the annotation {KIND}: {error}"))?,
        file_system: file_system.map_err(|error| format!("the annotation {FILE_SYSTEM}: {error}"))?.unwrap_or_default(),
        network_data: secret(NETWORK_DATA)?,
        user_data: secret(USER_DATA)?,
        meta_data: secret(META_DATA)?,
    })
}

/// Whether dayone must leave the drive and its URL unchanged, because a host may be reading the drive.
pub(super) fn is_frozen(object: &DataImage) -> bool {
    let annotations = object.metadata.annotations.as_ref();
    object.is_deleting() || annotations.is_some_and(|annotations| annotations.contains_key(PAUSED))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(annotations: &serde_json::Value) -> DataImage {
        serde_json::from_value(json!({"metadata": {"name": "worker-0", "annotations": annotations}})).unwrap()
    }

    #[test]
    fn annotations_describe_the_drive() {
        let found = desired(&object(&json!({
            KIND: "cidata", FILE_SYSTEM: "vfat", NETWORK_DATA: "net", USER_DATA: " user ", META_DATA: "",
        })));
        let drive = DesiredDrive {
            kind: DataKind::NoCloud,
            file_system: FileSystem::Vfat,
            network_data: Some("net".to_owned()),
            user_data: Some("user".to_owned()),
            meta_data: None,
        };
        assert_eq!(drive.secrets().collect::<Vec<_>>(), ["net", "user"]);
        assert_eq!(found, Desired::Drive(drive));
        let Desired::Drive(drive) = desired(&object(&json!({KIND: "config-2"}))) else { panic!("the kind is enough") };
        assert_eq!((drive.file_system, drive.secrets().count()), (FileSystem::Iso, 0));
    }

    #[test]
    fn objects_without_the_annotation_are_unmanaged_and_other_values_are_invalid() {
        assert_eq!(desired(&object(&json!({NETWORK_DATA: "net"}))), Desired::Unmanaged);
        assert_eq!(desired(&object(&json!(null))), Desired::Unmanaged);
        for (annotations, said) in [
            (json!({KIND: "floppy"}), "floppy"),
            (json!({KIND: "cidata", FILE_SYSTEM: "ext4"}), "ext4"),
            (json!({KIND: "cidata", USER_DATA: "../../secrets/x"}), "user-data does not name a Secret"),
        ] {
            let Desired::Invalid(failure) = desired(&object(&annotations)) else { panic!("{annotations}") };
            assert_eq!(failure.reason, "ConfigurationError");
            assert!(failure.message.contains(said), "{}", failure.message);
        }
    }

    #[test]
    fn paused_and_deleted_objects_are_frozen() {
        assert!(!is_frozen(&object(&json!({}))));
        assert!(is_frozen(&object(&json!({PAUSED: ""}))));
        let deleting = json!({"metadata": {"deletionTimestamp": "2026-01-02T03:04:05Z"}});
        assert!(is_frozen(&serde_json::from_value(deleting).unwrap()));
    }
}
