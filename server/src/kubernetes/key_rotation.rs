//! Rotates the installation key in a Secret, for the operator's command; and follows the Secret, for replicas.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::header::DATE;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::client::Body;
use kube::{Api, Client};
use media::access::Clock;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::installation_key::{InstallationKeyError, labels, parse, secret_of, spare};
use super::key_secret::{KeySchedule, KeySecret};
use super::problem::{RequestError, request};
use crate::store::{InstallationKey, KeyError, Keys};

/// How often a replica looks at the Secret.
const PACE: Duration = Duration::from_secs(5);

/// Why the key in a Secret cannot be rotated.
#[derive(Debug, thiserror::Error)]
pub enum RotateSecretError {
    /// The API server refuses a request, or does not answer.
    #[error("{0}")]
    Request(String),
    /// The Secret has no key.
    #[error(transparent)]
    Key(#[from] InstallationKeyError),
    /// There is no Secret.
    #[error("there is no Secret {0}; the first replica of dayone controller creates it")]
    NoSecret(String),
    /// The answer of the API server has no date.
    #[error(
        "the answer of the API server has no Date, so the time of the rotation is unknown: is there a proxy in front of it that removes this \
         header?"
    )]
    NoTime,
    /// The previous rotation is not over.
    #[error(
        "the grace period of the previous rotation is not over: wait for its end (`dayone key show`), or end it with `dayone key end-grace`"
    )]
    Underway,
    /// There is no grace period.
    #[error("there is no previous installation key, so no grace period to end")]
    NoPrevious,
    /// The system has no random numbers.
    #[error("cannot create a key: {0}")]
    Random(KeyError),
}

impl From<RequestError> for RotateSecretError {
    fn from(error: RequestError) -> Self {
        Self::Request(error.to_string())
    }
}

/// The Secret with the key.
pub struct KeySecretApi {
    client: Client,
    api: Api<Secret>,
    namespace: String,
    name: String,
}

impl KeySecretApi {
    /// The Secret `name` in `namespace`.
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        let api = Api::namespaced(client.clone(), namespace);
        Self { client, api, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The time of day by the clock of the API server: that of the machine where the command runs may be wrong, and replicas compare the
    /// time with their own.
    pub async fn now(&self) -> Result<SystemTime, RotateSecretError> {
        let version = http::Request::get("/version").body(Body::empty()).map_err(kube::Error::HttpError);
        let answer = async { self.client.send(version?).await };
        let answer = request("read the time of day", answer).await?;
        let date = answer.headers().get(DATE).and_then(|date| date.to_str().ok());
        date.and_then(|date| httpdate::parse_http_date(date).ok()).ok_or(RotateSecretError::NoTime)
    }

    /// Replaces the key. Replicas take it over within half a minute, and serve URLs of the previous key for `grace` seconds more.
    pub async fn rotate(&self, grace: u64, now: SystemTime) -> Result<KeySecret, RotateSecretError> {
        if let Some(completed) = self.complete().await? {
            return Ok(completed);
        }
        let secret = self.read().await?;
        let content = parse(&secret, &self.namespace, &self.name)?;
        if content.previous_until(now).is_some() {
            return Err(RotateSecretError::Underway);
        }
        let key = InstallationKey::generate().map_err(RotateSecretError::Random)?;
        let rotated = content.rotated(key, now, grace);
        self.replace(secret, &rotated).await?;
        Ok(rotated)
    }

    /// Ends the grace period.
    pub async fn end_grace(&self, now: SystemTime) -> Result<KeySecret, RotateSecretError> {
        self.complete().await?;
        let secret = self.read().await?;
        let content = parse(&secret, &self.namespace, &self.name)?;
        if content.previous_until(now).is_none() {
            return Err(RotateSecretError::NoPrevious);
        }
        let ended = content.without_grace();
        self.replace(secret, &ended).await?;
        Ok(ended)
    }

    /// The content of the Secret.
    pub async fn content(&self) -> Result<KeySecret, RotateSecretError> {
        Ok(parse(&self.read().await?, &self.namespace, &self.name)?)
    }

    async fn read(&self) -> Result<Secret, RotateSecretError> {
        let secret = request(format!("read the Secret {}", self.name), self.api.get_opt(&self.name)).await?;
        secret.ok_or_else(|| RotateSecretError::NoSecret(format!("{}/{}", self.namespace, self.name)))
    }

    /// Replaces the content. Earlier versions of dayone made the Secret immutable; then the new content lies in a spare Secret,
    /// while this one is deleted and created again.
    async fn replace(&self, secret: Secret, content: &KeySecret) -> Result<(), RotateSecretError> {
        if secret.immutable != Some(true) {
            let metadata = ObjectMeta { labels: Some(labels()), ..secret.metadata };
            let new = Secret { metadata, ..secret_of(&self.name, content) };
            let doing = format!("replace the Secret {}", self.name);
            request(doing, self.api.replace(&self.name, &PostParams::default(), &new)).await?;
            return Ok(());
        }
        self.create(&spare(&self.name), content).await?;
        self.complete().await.map(drop)
    }

    /// Completes a rotation of an immutable Secret that was interrupted. The spare Secret has the new content.
    async fn complete(&self) -> Result<Option<KeySecret>, RotateSecretError> {
        let spare = spare(&self.name);
        let found = request(format!("read the Secret {spare}"), self.api.get_opt(&spare)).await?;
        let Some(found) = found else { return Ok(None) };
        let content = parse(&found, &self.namespace, &spare)?;
        let present = request(format!("read the Secret {}", self.name), self.api.get_opt(&self.name)).await?;
        let is_done = present.as_ref().is_some_and(|present| KeySecret::parse(present).as_ref() == Ok(&content));
        if !is_done {
            if let Some(present) = present {
                self.delete(&self.name, &present).await?;
            }
            self.create(&self.name, &content).await?;
        }
        self.delete(&spare, &found).await?;
        Ok(Some(content))
    }

    async fn create(&self, name: &str, content: &KeySecret) -> Result<(), RotateSecretError> {
        let secret = secret_of(name, content);
        request(format!("create the Secret {name}"), self.api.create(&PostParams::default(), &secret)).await?;
        Ok(())
    }

    /// Deletes exactly this Secret, and not one that somebody has created in its place.
    async fn delete(&self, name: &str, secret: &Secret) -> Result<(), RotateSecretError> {
        let preconditions = Preconditions {
            uid: secret.metadata.uid.clone(),
            resource_version: secret.metadata.resource_version.clone(),
        };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        request(format!("delete the Secret {name}"), self.api.delete(name, &parameters)).await?;
        Ok(())
    }

    /// Follows the Secret until `stopping` is cancelled. Calls `use_keys` with the keys that are valid from then on, on a thread
    /// that may block.
    pub async fn follow(
        self,
        clock: Clock,
        mut schedule: KeySchedule,
        use_keys: impl Fn(Keys) + Send + Sync + 'static,
        stopping: CancellationToken,
    ) {
        let use_keys = Arc::new(use_keys);
        let mut trouble = None;
        while stopping.run_until_cancelled(tokio::time::sleep(PACE)).await.is_some() {
            let content = match self.content().await {
                Ok(content) => {
                    trouble = None;
                    Some(content)
                }
                // During a rotation of an immutable Secret, there is none for a moment.
                Err(error) => {
                    let text = Some(error.to_string());
                    if text != trouble {
                        warn!(%error, "cannot follow the installation key; dayone goes on with the keys that it has");
                        trouble = text;
                    }
                    None
                }
            };
            let keys = match content {
                Some(content) => schedule.update(content, clock.now()),
                None => schedule.pass(clock.now()),
            };
            let Some(keys) = keys else { continue };
            info!("the installation key was rotated: {schedule}");
            let use_keys = Arc::clone(&use_keys);
            // Fails only if the work panics; the panic hook has logged where.
            let _ = tokio::task::spawn_blocking(move || use_keys(keys)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_time_of_a_rotation_is_that_of_the_api_server() {
        let api = |header| {
            let server = tower::service_fn(move |request: http::Request<Body>| {
                assert_eq!(request.uri().path(), "/version");
                let answer = http::Response::builder().header(&header, "Sun, 06 Nov 1994 08:49:37 GMT");
                std::future::ready(Ok::<_, std::convert::Infallible>(answer.body(Body::empty()).unwrap()))
            });
            KeySecretApi::new(Client::new(server, "hosts"), "hosts", "dayone-key")
        };
        let now = api(DATE).now().await.unwrap();
        assert_eq!(now, SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777));
        let error = api(http::header::EXPIRES).now().await.unwrap_err().to_string();
        assert!(error.contains("no Date"), "{error}");
    }
}
