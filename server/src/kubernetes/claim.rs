//! Reads the Secrets that objects name, and labels them so that dayone watches them. A Secret with network data also gets
//! an owner, if dayone may set one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use imagelib::digest::Digest;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use kube::api::PostParams;
use kube::runtime::reflector::ObjectRef;

use super::contention::{Decision, key_of_secret};
use super::context::Context;
use super::data_image::DataImage;
use super::decide::{self, ObjectEvent};
use super::kind::Kind;
use super::problem::{REQUEST, RequestError, request, request_within};
use super::reconcile::ReconcileError;
use super::resources::{PreprovisioningImage, SECRET_LABEL};

/// The result of looking up a Secret.
pub(super) enum Lookup {
    Found(Arc<Secret>),
    Missing,
    /// The API server does not let dayone read the Secret, or does not let it label the Secret that it read.
    Forbidden(RequestError, Option<Arc<Secret>>),
}

/// Looks up the Secret with an object's network data. The lease holder labels the Secret, and makes the object its owner.
/// It returns the Secret with the version that this write gave it.
///
/// If another controller removes the label or the owner each time, or dayone does not write, the returned Secret may have no label.
pub(super) async fn secret(
    object: &PreprovisioningImage,
    owner: &str,
    name: &str,
    context: &Context<PreprovisioningImage>,
) -> Result<Lookup, ReconcileError> {
    if !decide::is_object_name(name) {
        return Ok(Lookup::Missing);
    }
    let reference = object.owner_reference();
    let sets_owner = context.owner_permission.may_set();
    let is_claimed =
        |secret: &Secret| decide::is_labelled(secret) && (!sets_owner || decide::is_owned(secret, &reference));
    let cached = context.secrets.get(&ObjectRef::new(name).within(object.namespace()));
    let claims = context.leads() && !object.is_deleting();
    if let Some(secret) = cached.filter(|secret| !claims || is_claimed(secret)) {
        return Ok(Lookup::Found(secret));
    }
    let api: Api<Secret> = Api::namespaced(context.client.clone(), object.namespace());
    let secret = match request(format!("read the Secret {name}"), api.get_opt(name)).await {
        Ok(Some(secret)) => secret,
        Ok(None) => {
            context.contention.forget(&key_of_secret(
                &<PreprovisioningImage as kube::Resource>::kind(&()),
                object.namespace(),
                name,
            ));
            return Ok(Lookup::Missing);
        }
        Err(error) if error.is_forbidden() => return Ok(Lookup::Forbidden(error, None)),
        Err(error) => return Err(error.into()),
    };
    if !claims || !context.leads() || is_claimed(&secret) {
        return Ok(Lookup::Found(Arc::new(secret)));
    }
    let others = context.objects.state_filter(|other| {
        other.namespace() == object.namespace() && other.spec.network_data_name == name && !other.is_deleting()
    });
    let others = others.iter().map(|other| other.owner_reference());
    let owners: Vec<_> = std::iter::once(reference.clone()).chain(others).filter(|_| sets_owner).collect();
    let claim = Claim::of(object, &secret, &owners);
    if claim.is_contested(object, context) {
        return Ok(Lookup::Found(Arc::new(secret)));
    }
    let limit = context.write_limit(owner);
    let mut without_owner = None;
    if sets_owner {
        let mut claimed = secret.clone();
        decide::claim(&mut claimed, owners);
        let doing = format!("label the Secret {name}, and make it {}'s", object.name());
        let parameters = PostParams::default();
        match request_within(limit, doing, api.replace(name, &parameters, &claimed)).await {
            Ok(changed) => {
                claim.written(context);
                context.metrics.owners_refused(false);
                return Ok(Lookup::Found(Arc::new(changed)));
            }
            Err(error) if error.is_gone() => return Ok(Lookup::Missing),
            Err(error) if error.is_refused() => without_owner = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    match label(&api, &secret, limit).await {
        Ok(labelled) => {
            if labelled.is_some() {
                claim.written(context);
            }
            if let Some(error) = without_owner {
                owner_refused(&error, context);
            }
            Ok(Lookup::Found(Arc::new(labelled.unwrap_or(secret))))
        }
        Err(error) if error.is_gone() => Ok(Lookup::Missing),
        // The API server refuses the label as well, so the owner is not the reason.
        Err(error) if error.is_refused() => Ok(Lookup::Forbidden(error, Some(Arc::new(secret)))),
        Err(error) => Err(error.into()),
    }
}

/// Labels a Secret that a DataImage names. If that fails, dayone reads the Secret again from time to time.
pub(super) async fn label_if_possible(object: &DataImage, secret: Secret, context: &Context<DataImage>) -> Secret {
    if decide::is_labelled(&secret) {
        return secret;
    }
    // A slow webhook must not hold up all workers for a label that dayone can do without.
    let Some(_worker) = context.retries.slow_worker() else { return secret };
    let claim = Claim::of(object, &secret, &[]);
    if claim.is_contested(object, context) {
        return secret;
    }
    let api: Api<Secret> = Api::namespaced(context.client.clone(), object.namespace());
    match label(&api, &secret, REQUEST).await {
        Ok(labelled) => {
            claim.written(context);
            labelled.unwrap_or(secret)
        }
        Err(error) => {
            tracing::debug!("{error}; dayone notices changes of this Secret late");
            secret
        }
    }
}

/// What dayone writes into a Secret, to notice another controller that removes it.
struct Claim {
    key: String,
    name: String,
    /// The digest of what dayone wants in the Secret.
    goal: Digest,
    /// The digest of the version that dayone's write replaces. Other reconciliations may have read this version too, and
    /// have not seen that somebody removed anything.
    version: Digest,
}

impl Claim {
    fn of<K: Kind>(object: &K, secret: &Secret, owners: &[OwnerReference]) -> Self {
        let mut wanted: Vec<&str> = owners.iter().map(|owner| owner.uid.as_str()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted.push(SECRET_LABEL.0);
        let name = secret.metadata.name.clone().unwrap_or_default();
        let version = secret.metadata.resource_version.as_deref().unwrap_or_default();
        Self {
            key: key_of_secret(&K::kind(&()), object.namespace(), &name),
            name,
            goal: Digest::of(wanted.join("\n").as_bytes()),
            version: Digest::of(version.as_bytes()),
        }
    }

    /// Whether to leave the Secret to another controller, which removes what dayone writes into it each time.
    fn is_contested<K: Kind>(&self, object: &K, context: &Context<K>) -> bool {
        match context.contention.decide(&self.key, self.goal, self.version, Instant::now()) {
            Decision::Write => {
                context.contention.saw(&self.key, self.version);
                false
            }
            Decision::StandBack { first, .. } => {
                if first {
                    let event = ObjectEvent::warning("AnotherController", &contested(&self.name));
                    context.events.separate().publish(object, &[event]);
                }
                true
            }
        }
    }

    fn written<K: Kind>(&self, context: &Context<K>) {
        context.contention.wrote(&self.key, self.goal, self.version);
    }
}

/// The note of the Event about a Secret that another controller changes back.
fn contested(secret: &str) -> String {
    let (label, value) = SECRET_LABEL;
    format!(
        "another controller removes what dayone writes into the Secret {secret} each time, so dayone leaves the Secret alone for 10 \
         minutes, and, without the label, notices its changes up to 10 minutes late. Fix: have that controller set the label \
         {label}={value}, and keep metadata.ownerReferences"
    )
}

/// Labels a Secret, so that dayone watches it. Returns `None` if it has the label already.
async fn label(api: &Api<Secret>, secret: &Secret, limit: Duration) -> Result<Option<Secret>, RequestError> {
    if decide::is_labelled(secret) {
        return Ok(None);
    }
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let mut labelled = secret.clone();
    decide::label(&mut labelled);
    let (doing, parameters) = (format!("label the Secret {name}"), PostParams::default());
    request_within(limit, doing, api.replace(name, &parameters, &labelled)).await.map(Some)
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
