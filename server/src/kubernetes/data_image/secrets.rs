//! The content of a drive, from the Secrets that a DataImage names.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use vocabulary::report::DocumentPath;

use super::desired::{DesiredDrive, reason};
use crate::host_images::{Document, DriveNetwork};
use crate::kubernetes::decide::Failure;

/// The keys of the Secret with the network. dayone translates NMState; it copies network data unchanged.
const NMSTATE: &str = "nmstate";
const NETWORK_DATA: &str = "networkData";
/// The keys of the other Secrets, as the baremetal-operator reads them: the first one that exists.
const USER_DATA: [&str; 2] = ["userData", "value"];
const META_DATA: [&str; 2] = ["metaData", "value"];

/// The documents on a drive.
pub(super) struct Documents<'a> {
    pub(super) network: Option<DriveNetwork<'a>>,
    pub(super) user_data: Option<Document<'a>>,
    pub(super) meta_data: Option<Document<'a>>,
}

/// Finds the documents of a drive in its Secrets.
pub(super) fn documents<'a>(drive: &DesiredDrive, secrets: &'a [(String, Secret)]) -> Result<Documents<'a>, Failure> {
    let find = |name: &Option<String>, keys: &[&'static str]| match name {
        Some(name) => document(name, secrets, keys).map(Some),
        None => Ok(None),
    };
    let network = find(&drive.network_data, &[NMSTATE, NETWORK_DATA])?;
    Ok(Documents {
        network: network.map(|(key, document)| match key {
            NMSTATE => DriveNetwork::Nmstate(document),
            _ => DriveNetwork::Given(document),
        }),
        user_data: find(&drive.user_data, &USER_DATA)?.map(|(_, document)| document),
        meta_data: find(&drive.meta_data, &META_DATA)?.map(|(_, document)| document),
    })
}

/// The value of the first of these keys that the Secret has.
fn document<'a>(
    name: &str,
    secrets: &'a [(String, Secret)],
    keys: &[&'static str],
) -> Result<(&'static str, Document<'a>), Failure> {
    let secret = secrets.iter().find(|(found, _)| found == name);
    let (_, secret) = secret.ok_or_else(|| missing(format!("the Secret {name} does not exist")))?;
    let value = |key: &str| secret.data.as_ref()?.get(key);
    let found = keys.iter().find_map(|&key| Some((key, value(key)?)));
    let (key, ByteString(bytes)) = found.ok_or_else(|| {
        let existing: Vec<&str> = secret.data.iter().flatten().map(|(key, _)| key.as_str()).collect();
        let existing = if existing.is_empty() { "none".to_owned() } else { existing.join(", ") };
        missing(format!("the Secret {name} has no key {}; keys found: {existing}", keys.join(" or ")))
    })?;
    let path = DocumentPath::document(&format!("Secret/{name}")).key("data").key(key);
    Ok((key, Document { bytes, path }))
}

fn missing(message: String) -> Failure {
    Failure { reason: reason::MISSING, message }
}

#[cfg(test)]
mod tests {
    use imagelib::data_image::{DataKind, FileSystem};
    use serde_json::json;

    use super::*;

    fn secret(name: &str, keys: &[&str]) -> (String, Secret) {
        let data: serde_json::Map<_, _> = keys.iter().map(|key| ((*key).to_owned(), json!("aHVudGVyMg=="))).collect();
        (name.to_owned(), serde_json::from_value(json!({"metadata": {"name": name}, "data": data})).unwrap())
    }

    fn drive() -> DesiredDrive {
        DesiredDrive {
            kind: DataKind::NoCloud,
            file_system: FileSystem::Iso,
            network_data: Some("net".to_owned()),
            user_data: Some("user".to_owned()),
            meta_data: None,
        }
    }

    #[test]
    fn nmstate_precedes_network_data_and_specific_keys_precede_value() {
        let secrets = [secret("net", &["networkData", "nmstate"]), secret("user", &["userData", "value"])];
        let found = documents(&drive(), &secrets).unwrap_or_else(|failure| panic!("{}", failure.message));
        assert!(matches!(found.network, Some(DriveNetwork::Nmstate(_))));
        assert_eq!(found.user_data.unwrap().path.to_string(), "Secret/user: data.userData");
        assert!(found.meta_data.is_none());
        let secrets = [secret("net", &["networkData"]), secret("user", &["value"])];
        let found = documents(&drive(), &secrets).unwrap_or_else(|failure| panic!("{}", failure.message));
        assert!(matches!(found.network, Some(DriveNetwork::Given(_))));
        assert_eq!(found.user_data.unwrap().bytes, b"hunter2");
    }

    #[test]
    fn errors_name_what_is_missing_and_show_no_value() {
        for (secrets, said) in [
            (vec![secret("user", &["value"])], "the Secret net does not exist"),
            (vec![secret("net", &["a", "value"])], "no key nmstate or networkData; keys found: a, value"),
            (vec![secret("net", &["nmstate"]), secret("user", &[])], "no key userData or value; keys found: none"),
        ] {
            let failure = documents(&drive(), &secrets).err().unwrap();
            assert_eq!(failure.reason, "MissingSecret");
            assert!(failure.message.contains(said) && !failure.message.contains("hunter2"), "{}", failure.message);
        }
    }
}
