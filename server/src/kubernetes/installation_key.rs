//! The installation key in Kubernetes: a Secret that the first replica creates and the others read.

use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};

use super::problem::{RequestError, request};
use crate::store::{InstallationKey, KeyError};

const KEY: &str = "key";
const LENGTH: usize = 32;
/// An API server that is just starting refuses all requests for a moment.
const REFUSED: Duration = Duration::from_secs(5);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Why there is no key. Trying again does not help.
#[derive(Debug, thiserror::Error)]
pub enum InstallationKeyError {
    /// The API server refuses the request.
    #[error("{0}")]
    Refused(String),
    /// The Secret exists, but has no key of the right length.
    #[error(
        "the Secret {namespace}/{name} has {found} under {KEY:?}, and needs {LENGTH} random bytes there; restore it from a \
         backup, or delete it and start dayone again (with another key, all images' URLs change)"
    )]
    Unusable {
        /// The namespace of the Secret.
        namespace: String,
        /// The name of the Secret.
        name: String,
        /// What it has under the key.
        found: String,
    },
    /// The system has no random numbers.
    #[error("cannot create a key: {0}")]
    Random(KeyError),
}

/// Reads the key, or creates it if there is none. Waits until the API server answers.
pub async fn installation_key(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<InstallationKey, InstallationKeyError> {
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
        wait = wait.saturating_mul(2).min(LONGEST_WAIT);
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
    let key = InstallationKey::generate().map_err(Failure::Random)?;
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some([("app.kubernetes.io/managed-by".to_owned(), "dayone".to_owned())].into()),
            ..ObjectMeta::default()
        },
        type_: Some("Opaque".to_owned()),
        data: Some([(KEY.to_owned(), ByteString(key.as_bytes().to_vec()))].into()),
        immutable: Some(true),
        ..Secret::default()
    };
    let parameters = PostParams::default();
    request(format!("create the Secret {name}"), api.create(&parameters, &secret)).await.map_err(Failure::Request)
}

fn parse(secret: &Secret, namespace: &str, name: &str) -> Result<InstallationKey, InstallationKeyError> {
    let value = secret.data.as_ref().and_then(|data| data.get(KEY)).map(|value| value.0.as_slice());
    if let Some(Ok(key)) = value.map(<[u8; LENGTH]>::try_from) {
        return Ok(InstallationKey::from_bytes(key));
    }
    let found = value.map_or_else(|| "nothing".to_owned(), |value| format!("{} bytes", value.len()));
    Err(InstallationKeyError::Unusable { namespace: namespace.to_owned(), name: name.to_owned(), found })
}
