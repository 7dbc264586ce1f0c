//! Reads the Secrets that objects name, and labels them so that dayone watches them. A Secret with network data also gets
//! an owner, if dayone may set one.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use kube::runtime::reflector::ObjectRef;

use super::context::Context;
use super::decide;
use super::kind::Kind as _;
use super::problem::{RequestError, request};
use super::reconcile::ReconcileError;
use super::resources::PreprovisioningImage;

/// The result of looking up a Secret.
pub(super) enum Lookup {
    Found(Arc<Secret>),
    Missing,
    /// The API server does not let dayone read the Secret, or does not let it label the Secret that it read.
    Forbidden(RequestError, Option<Arc<Secret>>),
}

/// Looks up the Secret with an object's network data. The lease holder labels the Secret, and makes the object its owner.
/// It returns the Secret with the version that this write gave it.
pub(super) async fn secret(
    object: &PreprovisioningImage,
    name: &str,
    context: &Context<PreprovisioningImage>,
) -> Result<Lookup, ReconcileError> {
    if !decide::is_object_name(name) {
        return Ok(Lookup::Missing);
    }
    let owner = object.owner_reference();
    let sets_owner = context.owner_permission.may_set();
    let is_claimed = |secret: &Secret| decide::is_labelled(secret) && (!sets_owner || decide::is_owned(secret, &owner));
    let cached = context.secrets.get(&ObjectRef::new(name).within(object.namespace()));
    let claims = context.leads() && !object.is_deleting();
    if let Some(secret) = cached.filter(|secret| !claims || is_claimed(secret)) {
        return Ok(Lookup::Found(secret));
    }
    let api: Api<Secret> = Api::namespaced(context.client.clone(), object.namespace());
    let secret = match request(format!("read the Secret {name}"), api.get_opt(name)).await {
        Ok(Some(secret)) => secret,
        Ok(None) => return Ok(Lookup::Missing),
        Err(error) if error.is_forbidden() => return Ok(Lookup::Forbidden(error, None)),
        Err(error) => return Err(error.into()),
    };
    if !claims || !context.leads() || is_claimed(&secret) {
        return Ok(Lookup::Found(Arc::new(secret)));
    }
    let mut without_owner = None;
    if sets_owner {
        let others = context.objects.state_filter(|other| {
            other.namespace() == object.namespace() && other.spec.network_data_name == name && !other.is_deleting()
        });
        let mut claimed = secret.clone();
        decide::claim(&mut claimed, [owner].into_iter().chain(others.iter().map(|other| other.owner_reference())));
        let doing = format!("label the Secret {name}, and make it {}'s", object.name());
        match request(doing, api.replace(name, &PostParams::default(), &claimed)).await {
            Ok(changed) => {
                context.metrics.owners_refused(false);
                return Ok(Lookup::Found(Arc::new(changed)));
            }
            Err(error) if error.is_gone() => return Ok(Lookup::Missing),
            Err(error) if error.is_forbidden() => without_owner = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    match label(&api, &secret).await {
        Ok(labelled) => {
            if let Some(error) = without_owner {
                owner_refused(&error, context);
            }
            Ok(Lookup::Found(Arc::new(labelled.unwrap_or(secret))))
        }
        Err(error) if error.is_gone() => Ok(Lookup::Missing),
        // The API server refuses the label as well, so the owner is not the reason.
        Err(error) if error.is_forbidden() => Ok(Lookup::Forbidden(error, Some(Arc::new(secret)))),
        Err(error) => Err(error.into()),
    }
}

/// Labels a Secret that a DataImage names. If that fails, dayone reads the Secret again from time to time.
pub(super) async fn label_if_possible(api: &Api<Secret>, secret: Secret) -> Secret {
    match label(api, &secret).await {
        Ok(labelled) => labelled.unwrap_or(secret),
        Err(error) => {
            tracing::debug!("{error}; dayone notices changes of this Secret late");
            secret
        }
    }
}

/// Labels a Secret, so that dayone watches it. Returns `None` if it has the label already.
async fn label(api: &Api<Secret>, secret: &Secret) -> Result<Option<Secret>, RequestError> {
    if decide::is_labelled(secret) {
        return Ok(None);
    }
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let mut labelled = secret.clone();
    decide::label(&mut labelled);
    request(format!("label the Secret {name}"), api.replace(name, &PostParams::default(), &labelled)).await.map(Some)
}

fn owner_refused(error: &RequestError, context: &Context<PreprovisioningImage>) {
    context.metrics.owners_refused(true);
    if context.owner_permission.refused() {
        // The admission plugin OwnerReferencesPermissionEnforcement uses these words. Any other refusal gives its own reason.
        let fix = if error.to_string().contains("you can't delete") {
            ". Fix: grant the right to delete Secrets, if Kubernetes is to delete them with the last PreprovisioningImage \
             that names them"
        } else {
            ""
        };
        tracing::warn!(
            "{error}; dayone labels Secrets without setting an owner, which changes nothing for the images{fix}"
        );
    }
}
