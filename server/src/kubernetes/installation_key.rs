//! The installation key in Kubernetes: a Secret that the first replica creates and the others read.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};

use super::key_secret::{KeySecret, LENGTH};
use super::problem::{RequestError, request};
use crate::store::{InstallationKey, KeyError};

/// An API server that is just starting refuses all requests for a moment.
const REFUSED: Duration = Duration::from_secs(5);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Why there is no key. Trying again does not help.
#[derive(Debug, thiserror::Error)]
pub enum InstallationKeyError {
    /// The API server refuses the request.
    #[error("{0}")]
    Refused(String),
    /// The Secret exists, but has no key of the right length.
    #[error(
        "the Secret {namespace}/{name} has {found}, and dayone needs {LENGTH} random bytes under \"key\"; restore it from a \
         backup, or delete it and start dayone again (with another key, all images' URLs change)"
    )]
    Unusable {
        /// The namespace of the Secret.
        namespace: String,
        /// The name of the Secret.
        name: String,
        /// What it has, and where.
        found: String,
    },
    /// The system has no random numbers.
    #[error("cannot create a key: {0}")]
    Random(KeyError),
}

/// Reads the key, or creates it if there is none. Waits until the API server answers.
pub async fn installation_key(client: &Client, namespace: &str, name: &str) -> Result<KeySecret, InstallationKeyError> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let mut wait = FIRST_WAIT;
    let mut refused_since = None;
    loop {
        let error = match read_or_create(&api, name).await {
            Ok(secret) => return parse(&secret, namespace, name),
            Err(Failure::Random(error)) => return Err(InstallationKeyError::Random(error)),
            Err(Failure::Request(error)) => error,
        };
        // Another replica has just created the Secret.
        if error.is_conflict() {
            continue;
        }
        // Not 401: the client reads a replaced token again after a while.
        if !matches!(error.code(), 400 | 403 | 404 | 422) {
            refused_since = None;
        } else if refused_since.get_or_insert_with(Instant::now).elapsed() >= REFUSED {
            return Err(InstallationKeyError::Refused(error.to_string()));
        }
        tracing::warn!(seconds = wait.as_secs_f64(), "{error}; dayone tries again after this time");
        tokio::time::sleep(wait).await;
        wait = wait.saturating_mul(2).min(MAX_WAIT);
    }
}

enum Failure {
    Request(RequestError),
    Random(KeyError),
}

async fn read_or_create(api: &Api<Secret>, name: &str) -> Result<Secret, Failure> {
    let read = request(format!("read the Secret {name}"), api.get_opt(name)).await.map_err(Failure::Request)?;
    if let Some(secret) = read {
        return Ok(secret);
    }
    // In the middle of a rotation, the keys are in the spare Secret. A role from before rotations does not allow to read it.
    let spare = spare(name);
    match request(format!("read the Secret {spare}"), api.get_opt(&spare)).await {
        Ok(Some(secret)) => return Ok(secret),
        Ok(None) => {}
        Err(error) if error.is_forbidden() => {}
        Err(error) => return Err(Failure::Request(error)),
    }
    let key = InstallationKey::generate().map_err(Failure::Random)?;
    let secret = secret_of(name, &KeySecret::new(key));
    let parameters = PostParams::default();
    request(format!("create the Secret {name}"), api.create(&parameters, &secret)).await.map_err(Failure::Request)
}

/// The name of the Secret that holds the keys while an immutable Secret is replaced.
pub(super) fn spare(name: &str) -> String {
    format!("{name}-rotation")
}

pub(super) fn labels() -> BTreeMap<String, String> {
    [("app.kubernetes.io/managed-by".to_owned(), "dayone".to_owned())].into()
}

/// A Secret with this name and this content.
pub(super) fn secret_of(name: &str, content: &KeySecret) -> Secret {
    Secret {
        metadata: ObjectMeta { name: Some(name.to_owned()), labels: Some(labels()), ..ObjectMeta::default() },
        type_: Some("Opaque".to_owned()),
        data: Some(content.data()),
        ..Secret::default()
    }
}

pub(super) fn parse(secret: &Secret, namespace: &str, name: &str) -> Result<KeySecret, InstallationKeyError> {
    KeySecret::parse(secret).map_err(|error| InstallationKeyError::Unusable {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        found: error.to_string(),
    })
}
