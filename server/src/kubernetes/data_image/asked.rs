//! What a DataImage asks for, by its annotations.

use imagelib::data_image::{DataKind, FileSystem};

use super::DataImage;
use super::annotations::{FILE_SYSTEM, KIND, META_DATA, NETWORK_DATA, PAUSED, USER_DATA};
use crate::kubernetes::decide::{Failure, is_object_name};
use crate::kubernetes::kind::Kind as _;

/// Why there is no drive, in one word.
pub(super) mod reason {
    /// An annotation cannot be understood.
    pub(in crate::kubernetes::data_image) const CONFIGURATION: &str = "ConfigurationError";
    /// A Secret is missing, or a key of it.
    pub(in crate::kubernetes::data_image) const MISSING: &str = "MissingSecret";
    /// Readers of the drive would refuse what is given.
    pub(in crate::kubernetes::data_image) const INVALID: &str = "DataImageInvalid";
}

/// What an object asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing: it is somebody else's.
    Nothing,
    /// A drive.
    Drive(Wanted),
    /// What cannot be.
    Refused(Failure),
}

/// A drive that is asked for. Secrets are by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) kind: DataKind,
    pub(super) file_system: FileSystem,
    pub(super) network_data: Option<String>,
    pub(super) user_data: Option<String>,
    pub(super) meta_data: Option<String>,
}

impl Wanted {
    /// The Secrets that it is made of.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        [&self.network_data, &self.user_data, &self.meta_data].into_iter().flatten().map(String::as_str)
    }
}

/// Reads an object.
pub(super) fn asked(object: &DataImage) -> Asked {
    let Some(kind) = object.annotation(KIND) else { return Asked::Nothing };
    match wanted(object, kind) {
        Ok(wanted) => Asked::Drive(wanted),
        Err(message) => Asked::Refused(Failure { reason: reason::CONFIGURATION, message }),
    }
}

fn wanted(object: &DataImage, kind: &str) -> Result<Wanted, String> {
    let secret = |annotation| match object.annotation(annotation) {
        Some(name) if !is_object_name(name) => {
            Err(format!("the annotation {annotation} does not name a Secret: {name:?}"))
        }
        name => Ok(name.map(str::to_owned)),
    };
    let file_system = object.annotation(FILE_SYSTEM).map(str::parse).transpose();
    Ok(Wanted {
        kind: kind.parse().map_err(|error| format!("the annotation {KIND}: {error}"))?,
        file_system: file_system.map_err(|error| format!("the annotation {FILE_SYSTEM}: {error}"))?.unwrap_or_default(),
        network_data: secret(NETWORK_DATA)?,
        user_data: secret(USER_DATA)?,
        meta_data: secret(META_DATA)?,
    })
}

/// Whether the drive stays what it is, and where it is, whatever else changes: a host may be reading it.
pub(super) fn is_held(object: &DataImage) -> bool {
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
    fn annotations_say_what_is_on_the_drive() {
        let asked_for = asked(&object(&json!({
            KIND: "cidata", FILE_SYSTEM: "vfat", NETWORK_DATA: "net", USER_DATA: " user ", META_DATA: "",
        })));
        let wanted = Wanted {
            kind: DataKind::NoCloud,
            file_system: FileSystem::Vfat,
            network_data: Some("net".to_owned()),
            user_data: Some("user".to_owned()),
            meta_data: None,
        };
        assert_eq!(wanted.secrets().collect::<Vec<_>>(), ["net", "user"]);
        assert_eq!(asked_for, Asked::Drive(wanted));
        let Asked::Drive(wanted) = asked(&object(&json!({KIND: "config-2"}))) else { panic!("nothing else is needed") };
        assert_eq!((wanted.file_system, wanted.secrets().count()), (FileSystem::Iso, 0));
    }

    #[test]
    fn objects_without_the_annotation_are_somebody_elses_and_what_it_cannot_mean_is_refused() {
        assert_eq!(asked(&object(&json!({NETWORK_DATA: "net"}))), Asked::Nothing);
        assert_eq!(asked(&object(&json!(null))), Asked::Nothing);
        for (annotations, said) in [
            (json!({KIND: "floppy"}), "floppy"),
            (json!({KIND: "cidata", FILE_SYSTEM: "ext4"}), "ext4"),
            (json!({KIND: "cidata", USER_DATA: "../../secrets/x"}), "user-data does not name a Secret"),
        ] {
            let Asked::Refused(failure) = asked(&object(&annotations)) else { panic!("{annotations}") };
            assert_eq!(failure.reason, "ConfigurationError");
            assert!(failure.message.contains(said), "{}", failure.message);
        }
    }

    #[test]
    fn paused_objects_and_those_that_are_to_go_are_held() {
        assert!(!is_held(&object(&json!({}))));
        assert!(is_held(&object(&json!({PAUSED: ""}))));
        let deleting = json!({"metadata": {"deletionTimestamp": "2026-01-02T03:04:05Z"}});
        assert!(is_held(&serde_json::from_value(deleting).unwrap()));
    }
}
