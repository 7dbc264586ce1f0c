//! Secrets that objects name: read, labelled so that they are watched, and given an owner where that is allowed.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use kube::runtime::reflector::ObjectRef;

use super::context::Context;
use super::decide;
use super::kind::Kind as _;
use super::look::ReconcileError;
use super::problem::{RequestError, request};
use super::resources::PreprovisioningImage;

/// What came of looking for a Secret.
pub(super) enum Found {
    Secret(Arc<Secret>),
    Missing,
    /// The API server refuses to have it read, or labelled; then it was read.
    Refused(RequestError, Option<Arc<Secret>>),
}

/// Returns the Secret as the API server has it where that matters: the replica that writes labels it, so that it is
/// watched, and makes it the object's.
pub(super) async fn secret(
    object: &PreprovisioningImage,
    name: &str,
    context: &Context<PreprovisioningImage>,
) -> Result<Found, ReconcileError> {
    if !decide::is_object_name(name) {
        return Ok(Found::Missing);
    }
    let owner = object.owner_reference();
    let sets_owner = context.owners.may_be_set();
    let is_claimed = |secret: &Secret| decide::is_labelled(secret) && (!sets_owner || decide::is_owned(secret, &owner));
    let cached = context.secrets.get(&ObjectRef::new(name).within(object.namespace()));
    let claims = context.leads() && !object.is_deleting();
    if let Some(secret) = cached.filter(|secret| !claims || is_claimed(secret)) {
        return Ok(Found::Secret(secret));
    }
    let api: Api<Secret> = Api::namespaced(context.client.clone(), object.namespace());
    let secret = match request(|| format!("read the Secret {name}"), api.get_opt(name)).await {
        Ok(Some(secret)) => secret,
        Ok(None) => return Ok(Found::Missing),
        Err(error) if error.is_forbidden() => return Ok(Found::Refused(error, None)),
        Err(error) => return Err(error.into()),
    };
    if !claims || !context.leads() || is_claimed(&secret) {
        return Ok(Found::Secret(Arc::new(secret)));
    }
    if sets_owner {
        let others = context.objects.state_filter(|other| {
            other.namespace() == object.namespace() && other.spec.network_data_name == name && !other.is_deleting()
        });
        let mut claimed = secret.clone();
        decide::claim(&mut claimed, [owner].into_iter().chain(others.iter().map(|other| other.owner_reference())));
        match replace(&api, &claimed, || format!("label the Secret {name}, and make it {}'s", object.name())).await {
            Ok(changed) => {
                context.metrics.owners_refused(false);
                return Ok(Found::Secret(Arc::new(changed)));
            }
            Err(error) if error.is_gone() => return Ok(Found::Missing),
            Err(error) if error.is_forbidden() => without_owner(&error, context),
            Err(error) => return Err(error.into()),
        }
    }
    label(&api, secret, context).await
}

/// Labels the Secret, so that it is watched.
async fn label(
    api: &Api<Secret>,
    secret: Secret,
    context: &Context<PreprovisioningImage>,
) -> Result<Found, ReconcileError> {
    if decide::is_labelled(&secret) {
        return Ok(Found::Secret(Arc::new(secret)));
    }
    let name = secret.metadata.name.clone().unwrap_or_default();
    let mut labelled = secret.clone();
    decide::label(&mut labelled);
    match replace(api, &labelled, || format!("label the Secret {name}")).await {
        Ok(changed) => Ok(Found::Secret(Arc::new(changed))),
        Err(error) if error.is_gone() => Ok(Found::Missing),
        Err(error) if error.is_forbidden() => {
            // It was not for the owner alone.
            context.metrics.owners_refused(false);
            Ok(Found::Refused(error, Some(Arc::new(secret))))
        }
        Err(error) => Err(error.into()),
    }
}

/// Labels a Secret that a DataImage names. One that cannot be labelled is asked for from time to time.
pub(super) async fn label_if_possible(api: &Api<Secret>, secret: Secret) -> Secret {
    if decide::is_labelled(&secret) {
        return secret;
    }
    let name = secret.metadata.name.clone().unwrap_or_default();
    let mut labelled = secret.clone();
    decide::label(&mut labelled);
    match replace(api, &labelled, || format!("label the Secret {name}")).await {
        Ok(changed) => changed,
        Err(error) => {
            tracing::debug!("{error}; its changes are noticed late");
            secret
        }
    }
}

fn without_owner(error: &RequestError, context: &Context<PreprovisioningImage>) {
    context.metrics.owners_refused(true);
    if context.owners.refused() {
        tracing::warn!(
            "{error}; Secrets are labelled without an owner, which changes nothing for the images. Fix: grant the right to \
             delete Secrets, if Kubernetes is to delete them with the last PreprovisioningImage that names them"
        );
    }
}

async fn replace(api: &Api<Secret>, secret: &Secret, doing: impl FnOnce() -> String) -> Result<Secret, RequestError> {
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    request(doing, api.replace(name, &PostParams::default(), secret)).await
}
