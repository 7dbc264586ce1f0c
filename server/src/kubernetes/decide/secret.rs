//! Secrets with a host's network data.

use imagelib::report::DocumentPath;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::conclude::MadeOf;
use super::{Failure, Wanted};
use crate::kubernetes::resources::{NetworkDataStatus, SECRET_LABEL};

/// The keys whose value may be the host's NMState. The first that is there counts; the second is what the
/// baremetal-operator calls network data.
const KEYS: [&str; 2] = ["nmstate", "networkData"];

/// Whether an object can have this name. What is no name must not become part of a request's path.
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

/// The host's NMState, as a Secret has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kubernetes) struct Document<'a> {
    key: &'static str,
    pub(in crate::kubernetes) bytes: &'a [u8],
}

impl Document<'_> {
    /// Where it is, for people.
    pub(in crate::kubernetes) fn path(&self, secret: &str) -> DocumentPath {
        DocumentPath::document(&format!("Secret/{secret}")).key("data").key(self.key).embedded_document()
    }
}

/// The host's NMState. A Secret without anything in it is no network data, as is none.
pub(in crate::kubernetes) fn network_data(secret: Option<&Secret>) -> Result<Option<Document<'_>>, Failure> {
    let Some(data) = secret.and_then(|secret| secret.data.as_ref()).filter(|data| !data.is_empty()) else {
        return Ok(None);
    };
    let found = KEYS.into_iter().find_map(|key| data.get(key).map(|value| Document { key, bytes: &value.0 }));
    if found.is_some() {
        return Ok(found.filter(|document| !document.bytes.is_empty()));
    }
    let keys: Vec<&str> = data.keys().map(String::as_str).collect();
    Err(Failure::invalid(&format!(
        "network data Secret provided but missing required '{}' key; keys found: {}",
        KEYS[0],
        keys.join(", ")
    )))
}

/// What an image of this Secret is made of.
pub(in crate::kubernetes) fn made_of(wanted: &Wanted, secret: Option<&Secret>) -> MadeOf {
    let version = secret.and_then(|secret| secret.metadata.resource_version.clone()).unwrap_or_default();
    let name = wanted.secret.clone().unwrap_or_default();
    MadeOf {
        format: wanted.format.as_str(),
        architecture: wanted.architecture.clone(),
        network_data: NetworkDataStatus { name, version },
    }
}

/// Whether the Secret is watched, and belongs to the object.
pub(in crate::kubernetes) fn is_claimed(secret: &Secret, owner: &OwnerReference) -> bool {
    let (label, value) = SECRET_LABEL;
    secret.metadata.labels.as_ref().and_then(|labels| labels.get(label)).is_some_and(|found| found == value)
        && secret.metadata.owner_references.iter().flatten().any(|reference| reference.uid == owner.uid)
}

/// Makes it so, for all these. Each change is a new version of the Secret, which all of them have in their status.
pub(in crate::kubernetes) fn claim(secret: &mut Secret, all: impl IntoIterator<Item = OwnerReference>) {
    let (label, value) = SECRET_LABEL;
    secret.metadata.labels.get_or_insert_default().insert(label.to_owned(), value.to_owned());
    let owners = secret.metadata.owner_references.get_or_insert_default();
    for owner in all {
        if !owners.iter().any(|reference| reference.uid == owner.uid) {
            owners.push(owner);
        }
    }
}

/// Takes out what nothing here reads, before the Secret is kept in memory. BMCs' passwords have the same label: of all
/// other keys there are only the names.
pub(in crate::kubernetes) fn reduce(secret: &mut Secret) {
    secret.metadata.managed_fields = None;
    secret.metadata.annotations = None;
    secret.string_data = None;
    for (key, value) in secret.data.iter_mut().flatten() {
        if !KEYS.contains(&key.as_str()) {
            value.0 = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{object, secret};
    use super::*;

    #[test]
    fn network_data_has_one_key_and_its_absence_names_those_that_are_there() {
        assert_eq!(network_data(None), Ok(None));
        assert_eq!(network_data(Some(&secret("1", &[]))), Ok(None));
        assert_eq!(network_data(Some(&Secret::default())), Ok(None));
        assert_eq!(network_data(Some(&secret("1", &[("nmstate", "")]))), Ok(None));
        let document = |key, bytes| Ok(Some(Document { key, bytes }));
        let secret_of = |keys: &[(&str, &str)]| Some(secret("1", keys));
        let both = secret_of(&[("networkData", "b"), ("nmstate", "a"), ("x", "y")]);
        assert_eq!(network_data(both.as_ref()), document("nmstate", b"a".as_slice()));
        let other = secret_of(&[("networkData", "b"), ("x", "y")]);
        assert_eq!(network_data(other.as_ref()), document("networkData", b"b".as_slice()));
        let failure = network_data(Some(&secret("1", &[("userData", "content"), ("a", "content")]))).unwrap_err();
        assert_eq!(failure.reason, "ImageBuildInvalid");
        let message = "Cannot generate image: network data Secret provided but missing required 'nmstate' key";
        assert_eq!(failure.message, format!("{message}; keys found: a, userData"));
    }

    #[test]
    fn a_secret_is_claimed_once_and_other_owners_stay() {
        let (one, mut other) = (object(), object());
        other.metadata.uid = Some("v".to_owned());
        let mut secret = secret("1", &[]);
        assert!(!is_claimed(&secret, &one.owner_reference()));
        claim(&mut secret, [one.owner_reference(), one.owner_reference()]);
        assert!(is_claimed(&secret, &one.owner_reference()) && !is_claimed(&secret, &other.owner_reference()));
        claim(&mut secret, [one.owner_reference(), other.owner_reference()]);
        let owners = secret.metadata.owner_references.as_ref().unwrap();
        assert_eq!(owners.len(), 2);
        let first = serde_json::to_value(&owners[0]).unwrap();
        let expected = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "PreprovisioningImage", "name": "worker-0",
            "uid": "u"});
        assert_eq!(first, expected, "no controller, and nothing that holds up a deletion");
        secret.metadata.labels = None;
        assert!(!is_claimed(&secret, &one.owner_reference()));
    }

    #[test]
    fn of_secrets_in_memory_there_is_the_network_data_and_the_names_of_other_keys() {
        let mut secret = secret("1", &[("nmstate", "state"), ("password", "hunter2")]);
        secret.metadata.annotations = Some([("last-applied".to_owned(), "hunter2".to_owned())].into());
        reduce(&mut secret);
        let kept = serde_json::to_string(&secret).unwrap();
        assert!(!kept.contains("hunter2") && !kept.contains("aHVudGVyMg"), "{kept}");
        assert_eq!(network_data(Some(&secret)).unwrap().unwrap().bytes, b"state");
        assert!(secret.data.unwrap().contains_key("password"));
    }

    #[test]
    fn names_that_could_lead_elsewhere_are_none() {
        for name in ["net", "a.b-c", "0"] {
            assert!(is_object_name(name), "{name}");
        }
        for name in ["", "..", "a/b", "../x", "a?b", "A", "-a", "a-", "a..b", &"a".repeat(254)] {
            assert!(!is_object_name(name), "{name}");
        }
    }
}
