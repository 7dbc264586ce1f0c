//! Secrets with a host's network data.

use hosts::input::is_network_key;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use vocabulary::report::DocumentPath;

use super::conclude::ImageInputs;
use super::{DesiredImage, Failure};
use crate::host_images::NetworkSource;
use crate::kubernetes::resources::{NetworkDataStatus, SECRET_LABEL};

/// The key of NMState, which upstream requires.
const NMSTATE: &str = "nmstate";

/// Whether this is a valid name for an object. Anything else must not become part of a request's path.
pub(in crate::kubernetes) fn is_object_name(name: &str) -> bool {
    let letter = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= 253
        && name.split('.').all(|part| {
            let part = part.as_bytes();
            part.first().copied().is_some_and(letter)
                && part.last().copied().is_some_and(letter)
                && part.iter().all(|&c| letter(c) || c == b'-')
        })
}

/// The host's network, from its Secret. `None` if there is no Secret, or if it is empty.
pub(in crate::kubernetes) fn network_data(secret: Option<&Secret>) -> Result<Option<NetworkSource<'_>>, Failure> {
    let Some(data) = secret.and_then(|secret| secret.data.as_ref()).filter(|data| !data.is_empty()) else {
        return Ok(None);
    };
    let name = secret.and_then(|secret| secret.metadata.name.as_deref()).unwrap_or_default();
    let network = data.iter().filter(|(key, _)| is_network_key(key));
    let network: Vec<(&str, &[u8])> = network.map(|(key, value)| (key.as_str(), value.0.as_slice())).collect();
    // An empty `nmstate` means no network data, whatever other keys there are.
    if network.iter().any(|(key, value)| *key == NMSTATE && value.is_empty()) {
        return Ok(None);
    }
    if !network.is_empty() {
        let path = DocumentPath::document(&format!("Secret/{name}")).key("data");
        return Ok(Some(NetworkSource::Secret { path, data: network }));
    }
    let keys: Vec<&str> = data.keys().map(String::as_str).collect();
    Err(Failure::invalid(&format!(
        "network data Secret provided but missing required '{NMSTATE}' key; keys found: {}",
        keys.join(", ")
    )))
}

/// The inputs of an image with this Secret.
pub(in crate::kubernetes) fn image_inputs(image: &DesiredImage, secret: Option<&Secret>) -> ImageInputs {
    let version = secret.and_then(|secret| secret.metadata.resource_version.clone()).unwrap_or_default();
    let name = image.secret.clone().unwrap_or_default();
    ImageInputs {
        format: image.format.as_str(),
        architecture: image.architecture.clone(),
        network_data: NetworkDataStatus { name, version },
    }
}

/// Whether the Secret has the label by which dayone watches it.
pub(in crate::kubernetes) fn is_labelled(secret: &Secret) -> bool {
    let (label, value) = SECRET_LABEL;
    secret.metadata.labels.as_ref().and_then(|labels| labels.get(label)).is_some_and(|found| found == value)
}

/// Whether the Secret has this owner.
pub(in crate::kubernetes) fn is_owned(secret: &Secret, owner: &OwnerReference) -> bool {
    secret.metadata.owner_references.iter().flatten().any(|reference| reference.uid == owner.uid)
}

/// Adds the label by which dayone watches the Secret.
pub(in crate::kubernetes) fn label(secret: &mut Secret) {
    let (label, value) = SECRET_LABEL;
    secret.metadata.labels.get_or_insert_default().insert(label.to_owned(), value.to_owned());
}

/// Labels the Secret, and adds all these owners at once: each write is a new version of the Secret, which every owner has
/// to record in its status.
pub(in crate::kubernetes) fn claim(secret: &mut Secret, all: impl IntoIterator<Item = OwnerReference>) {
    label(secret);
    let owners = secret.metadata.owner_references.get_or_insert_default();
    for owner in all {
        if !owners.iter().any(|reference| reference.uid == owner.uid) {
            owners.push(owner);
        }
    }
}

/// Removes what dayone does not read, before it keeps the Secret in memory. Secrets with BMCs' passwords have the same
/// label: of keys other than network data, only the names stay.
pub(in crate::kubernetes) fn reduce(secret: &mut Secret) {
    secret.metadata.managed_fields = None;
    secret.metadata.annotations = None;
    secret.string_data = None;
    for (key, value) in secret.data.iter_mut().flatten() {
        if !is_network_key(key) {
            value.0 = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{object, secret};
    use super::*;
    use crate::kubernetes::resources::PreprovisioningImage;

    fn is_claimed(secret: &Secret, object: &PreprovisioningImage) -> bool {
        is_labelled(secret) && is_owned(secret, &object.owner_reference())
    }

    #[test]
    fn network_data_is_found_by_its_keys_and_the_error_names_the_others() {
        assert_eq!(network_data(None), Ok(None));
        assert_eq!(network_data(Some(&secret("1", &[]))), Ok(None));
        assert_eq!(network_data(Some(&Secret::default())), Ok(None));
        assert_eq!(network_data(Some(&secret("1", &[("nmstate", "")]))), Ok(None));
        let found = |secret: &Secret| match network_data(Some(secret)).unwrap().unwrap() {
            NetworkSource::Secret { path, data } => {
                assert_eq!(path.to_string(), "Secret/net: data");
                data.into_iter().map(|(key, value)| (key.to_owned(), value.to_vec())).collect::<Vec<_>>()
            }
            NetworkSource::Nmstate(_) => panic!(),
        };
        let entry = |key: &str, value: &str| (key.to_owned(), value.as_bytes().to_vec());
        let both = secret("1", &[("networkData", "b"), ("nmstate", "a"), ("x", "y")]);
        assert_eq!(found(&both), [entry("networkData", "b"), entry("nmstate", "a")]);
        let profiles = secret("1", &[("a.nmconnection", "b"), ("x", "y")]);
        assert_eq!(found(&profiles), [entry("a.nmconnection", "b")]);
        let failure = network_data(Some(&secret("1", &[("userData", "content"), ("a", "content")]))).unwrap_err();
        assert_eq!(failure.reason, "ImageBuildInvalid");
        let message = "Cannot generate image: network data Secret provided but missing required 'nmstate' key";
        assert_eq!(failure.message, format!("{message}; keys found: a, userData"));
    }

    #[test]
    fn a_secret_is_claimed_once_and_keeps_its_other_owners() {
        let (one, mut other) = (object(), object());
        other.metadata.uid = Some("v".to_owned());
        let mut secret = secret("1", &[]);
        assert!(!is_claimed(&secret, &one));
        claim(&mut secret, [one.owner_reference(), one.owner_reference()]);
        assert!(is_claimed(&secret, &one) && !is_claimed(&secret, &other));
        claim(&mut secret, [one.owner_reference(), other.owner_reference()]);
        let owners = secret.metadata.owner_references.as_ref().unwrap();
        assert_eq!(owners.len(), 2);
        let first = serde_json::to_value(&owners[0]).unwrap();
        let expected = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "PreprovisioningImage", "name": "worker-0",
            "uid": "u"});
        assert_eq!(first, expected, "neither controller nor blockOwnerDeletion");
        secret.metadata.labels = None;
        assert!(!is_claimed(&secret, &one));
    }

    #[test]
    fn secrets_in_memory_have_only_network_data_and_the_names_of_other_keys() {
        let mut secret = secret("1", &[("nmstate", "state"), ("password", "hunter2")]);
        secret.metadata.annotations = Some([("last-applied".to_owned(), "hunter2".to_owned())].into());
        reduce(&mut secret);
        let kept = serde_json::to_string(&secret).unwrap();
        assert!(!kept.contains("hunter2") && !kept.contains("aHVudGVyMg"), "{kept}");
        let path = DocumentPath::document("Secret/net").key("data");
        let expected = NetworkSource::Secret { path, data: vec![("nmstate", b"state")] };
        assert_eq!(network_data(Some(&secret)).unwrap().unwrap(), expected);
        assert!(secret.data.unwrap().contains_key("password"));
    }

    #[test]
    fn names_that_could_change_a_requests_path_are_refused() {
        for name in ["net", "a.b-c", "0"] {
            assert!(is_object_name(name), "{name}");
        }
        for name in ["", "..", "a/b", "../x", "a?b", "A", "-a", "a-", "a..b", &"a".repeat(254)] {
            assert!(!is_object_name(name), "{name}");
        }
    }
}
