//! The installation's key in Kubernetes: a Secret that the first replica makes and all others read.

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
/// An API server that is just starting refuses everybody for a moment.
const REFUSED: Duration = Duration::from_secs(5);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Why there is no key. Waiting does not help.
#[derive(Debug, thiserror::Error)]
pub enum InstallationKeyError {
    /// The API server refuses.
    #[error("{0}")]
    Refused(String),
    /// The Secret is there, and has no key of the right length.
    #[error(
        "the Secret {namespace}/{name} has {found} under {KEY:?} where {LENGTH} random bytes belong; restore it from a \
         backup, or delete it and start dayone again (with another key, all images' URLs change)"
    )]
    Unusable {
        /// Of the Secret.
        namespace: String,
        /// Of the Secret.
        name: String,
        /// What is there.
        found: String,
    },
    /// The system has no random numbers.
    #[error("no key can be made: {0}")]
    Random(KeyError),
}

/// Reads the key, or makes it where there is none. While the API server is away it is waited for.
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
        // Another replica was first.
        if error.is_conflict() {
            continue;
        }
        // 401: a token that was replaced is read anew after a while.
        if !matches!(error.code(), 400 | 403 | 404 | 422) {
            refused_since = None;
        } else if refused_since.get_or_insert_with(Instant::now).elapsed() >= REFUSED {
            return Err(InstallationKeyError::Refused(error.to_string()));
        }
        tracing::warn!(seconds = wait.as_secs_f64(), "{error}; tried again after these seconds");
        tokio::time::sleep(wait).await;
        wait = wait.saturating_mul(2).min(LONGEST_WAIT);
    }
}

enum Failure {
    Request(RequestError),
    Random(KeyError),
}

async fn read_or_create(api: &Api<Secret>, name: &str) -> Result<Secret, Failure> {
    let read = request(|| format!("read the Secret {name}"), api.get_opt(name)).await.map_err(Failure::Request)?;
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
    request(|| format!("create the Secret {name}"), api.create(&parameters, &secret)).await.map_err(Failure::Request)
}

fn parse(secret: &Secret, namespace: &str, name: &str) -> Result<InstallationKey, InstallationKeyError> {
    let value = secret.data.as_ref().and_then(|data| data.get(KEY)).map(|value| value.0.as_slice());
    match value.map(<[u8; LENGTH]>::try_from) {
        Some(Ok(key)) => Ok(InstallationKey::from_bytes(key)),
        other => Err(InstallationKeyError::Unusable {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            found: match other {
                None => "nothing".to_owned(),
                Some(_) => format!("{} bytes", value.map_or(0, <[u8]>::len)),
            },
        }),
    }
}
