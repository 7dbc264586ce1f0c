//! The status to write, from the outcome of a request for an image.

use std::time::Duration;

use imagelib::digest::Digest;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::{ERROR, Failure, READY, reason};
use crate::host_images::PublishedImage;
use crate::kubernetes::resources::{Condition, NetworkDataStatus, PreprovisioningImage, PreprovisioningImageStatus};
use crate::kubernetes::unready::PATIENCE;

/// The API server's limit for the message of a condition.
const MESSAGE_BYTES: usize = 32_768;
const RETRY: Duration = Duration::from_secs(10);
const MAX_RETRY: Duration = Duration::from_mins(10);

/// The inputs of an image that the status records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kubernetes) struct ImageInputs {
    pub(in crate::kubernetes) format: &'static str,
    pub(in crate::kubernetes) architecture: String,
    pub(in crate::kubernetes) network_data: NetworkDataStatus,
}

impl ImageInputs {
    pub(in crate::kubernetes) fn are_in(&self, status: &PreprovisioningImageStatus) -> bool {
        status.format == self.format
            && status.architecture == self.architecture
            && status.network_data == self.network_data
    }

    fn write_to(&self, status: &mut PreprovisioningImageStatus) {
        self.format.clone_into(&mut status.format);
        status.architecture.clone_from(&self.architecture);
        status.network_data.clone_from(&self.network_data);
    }
}

/// The outcome of a request for an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kubernetes) enum Outcome {
    /// The image is published.
    Published(PublishedImage, ImageInputs),
    /// The image will be ready after a while. It has not been ready for this time. Without inputs, dayone does not know yet
    /// whether it can make the image.
    NotReady(String, Option<ImageInputs>, Duration),
    /// Somebody has to change something. The image has failed for this reason for this time. The inputs are those of the image
    /// that failed, as far as dayone knows them: the baremetal-operator shows an error only if the status has the inputs that
    /// it requested.
    Failed(Failure, Option<ImageInputs>, Duration),
}

impl Outcome {
    /// Why somebody has to change something.
    pub(in crate::kubernetes) fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure, ..) => Some(failure),
            Self::Published(..) | Self::NotReady(..) => None,
        }
    }
}

/// Whether the status has an image of what the object asks for, as far as dayone knows the inputs of that.
pub(in crate::kubernetes) fn has_image(object: &PreprovisioningImage, inputs: Option<&ImageInputs>) -> bool {
    let status = &object.status;
    !status.image_url.is_empty()
        && status.architecture == object.spec.architecture
        && inputs.is_none_or(|inputs| inputs.are_in(status))
}

/// Why dayone cannot make the image whose URL is in the status of an object that is being deleted. dayone does not write this status any
/// more, but a host may still boot from the image.
pub(in crate::kubernetes) fn lost(object: &PreprovisioningImage, outcome: &Outcome) -> Option<Failure> {
    let kept = &object.status.image_url;
    match outcome {
        _ if kept.is_empty() => None,
        Outcome::Published(image, _) if *kept != image.url && Some(kept) != image.other_url.as_ref() => {
            Some(Failure::lost("the object is being deleted", "status.imageUrl"))
        }
        Outcome::Failed(failure, ..) => Some(failure.clone()),
        Outcome::Published(..) | Outcome::NotReady(..) => None,
    }
}

/// What to do about an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kubernetes) struct Conclusion {
    /// The status to write, if it differs from the present one. More writes may be due after it.
    pub(in crate::kubernetes) status: Option<PreprovisioningImageStatus>,
    /// When to reconcile the object again, if no event will report the change that dayone waits for.
    pub(in crate::kubernetes) again: Option<Duration>,
}

/// Decides what to do about an outcome. `now` is the time for conditions that change.
pub(in crate::kubernetes) fn conclude(object: &PreprovisioningImage, outcome: &Outcome, now: Timestamp) -> Conclusion {
    let mut draft = Draft {
        status: object.status.clone(),
        generation: object.metadata.generation,
        // Times in conditions have no fractions.
        now: Timestamp::from_second(now.as_second()).unwrap_or(now),
    };
    let ready = object.status.condition(READY).is_some_and(Condition::is_true);
    let mut again = None;
    match outcome {
        Outcome::Published(image, inputs) => {
            let moves = !object.status.image_url.is_empty() && object.status.image_url != image.url;
            if moves && !inputs.are_in(&object.status) {
                draft.withdraw(ready, inputs);
            } else {
                draft.publish(image, inputs);
            }
        }
        // If a base was only touched, dayone reads it again, and the image will be the one in the status. If the base
        // stays away, its image is not ready.
        Outcome::NotReady(_, inputs, waited) if ready && has_image(object, inputs.as_ref()) && *waited < PATIENCE => {
            again = Some(RETRY);
        }
        Outcome::NotReady(message, ..) => {
            let message = if message.is_empty() { "Image is not ready yet" } else { message };
            draft.set(READY, false, reason::SUCCESS, message);
            draft.set(ERROR, false, reason::SUCCESS, "");
            again = Some(RETRY);
        }
        Outcome::Failed(failure, inputs, since) => {
            draft.fail(failure, inputs.as_ref());
            if [reason::MISSING_NETWORK_DATA, reason::FORBIDDEN].contains(&failure.reason) {
                // No event reports a new Secret without dayone's label, or a right that was granted.
                again = Some(since.saturating_add(RETRY).min(MAX_RETRY));
            }
        }
    }
    Conclusion { status: Some(draft.status).filter(|status| *status != object.status), again }
}

struct Draft {
    status: PreprovisioningImageStatus,
    generation: Option<i64>,
    now: Timestamp,
}

impl Draft {
    /// The content of the image changed, and so its URL changes. The first write makes the image not ready, the second one
    /// removes the URL, and the third one publishes the new URL. So a URL in the status always answers.
    fn withdraw(&mut self, ready: bool, inputs: &ImageInputs) {
        self.set(READY, false, reason::SUCCESS, "Config changed");
        if ready {
            self.observe(ERROR);
        } else {
            self.status.image_url.clear();
            inputs.write_to(&mut self.status);
            self.set(ERROR, false, reason::SUCCESS, "");
        }
    }

    fn publish(&mut self, image: &PublishedImage, inputs: &ImageInputs) {
        self.status.image_url.clone_from(&image.url);
        self.status.kernel_url = image.kernel_url.clone().unwrap_or_default();
        self.status.extra_kernel_params.clone_from(&image.extra_kernel_parameters);
        inputs.write_to(&mut self.status);
        self.set(READY, true, reason::SUCCESS, "Generated image");
        self.set(ERROR, false, reason::SUCCESS, "");
    }

    fn fail(&mut self, failure: &Failure, inputs: Option<&ImageInputs>) {
        self.status.image_url.clear();
        if let Some(inputs) = inputs {
            inputs.write_to(&mut self.status);
        }
        self.set(READY, false, failure.reason, "");
        self.set(ERROR, true, failure.reason, &failure.message);
    }

    fn set(&mut self, kind: &str, value: bool, reason: &str, message: &str) {
        let status = if value { "True" } else { "False" };
        let conditions = &mut self.status.conditions;
        if !conditions.iter().any(|condition| condition.kind == kind) {
            conditions.push(Condition { kind: kind.to_owned(), ..Condition::default() });
        }
        let message = message.get(..message.floor_char_boundary(MESSAGE_BYTES)).unwrap_or_default();
        for condition in conditions.iter_mut().filter(|condition| condition.kind == kind) {
            if condition.status != status {
                condition.last_transition_time = Some(Time(self.now));
            }
            status.clone_into(&mut condition.status);
            reason.clone_into(&mut condition.reason);
            message.clone_into(&mut condition.message);
            condition.observed_generation = self.generation;
        }
    }

    /// Keeps the condition, and marks it as observed for the present generation.
    fn observe(&mut self, kind: &str) {
        for condition in self.status.conditions.iter_mut().filter(|condition| condition.kind == kind) {
            condition.observed_generation = self.generation;
        }
    }
}

/// The digest of an outcome: what dayone wants, whatever the object has.
pub(in crate::kubernetes) fn goal(outcome: &Outcome) -> Digest {
    match outcome {
        Outcome::Published(image, inputs) => digest(&json!([
            image.url,
            image.kernel_url,
            image.extra_kernel_parameters,
            inputs.format,
            inputs.architecture,
            inputs.network_data,
        ])),
        Outcome::NotReady(message, ..) => digest(&json!([message])),
        Outcome::Failed(failure, ..) => digest(&json!([failure.reason, failure.message])),
    }
}

/// The digest of what dayone writes into a status, without times and generations.
pub(in crate::kubernetes) fn content(status: &PreprovisioningImageStatus) -> Digest {
    let condition = |kind| status.condition(kind).map(|one| json!([one.status, one.reason, one.message]));
    digest(&json!([
        status.image_url,
        status.kernel_url,
        status.extra_kernel_params,
        status.format,
        status.architecture,
        status.network_data,
        condition(READY),
        condition(ERROR),
    ]))
}

fn digest(value: &Value) -> Digest {
    Digest::of(value.to_string().as_bytes())
}

/// A merge patch that sets the status, whatever it was before. It leaves fields alone that dayone does not know.
pub(in crate::kubernetes) fn patch(resource_version: &str, status: &PreprovisioningImageStatus) -> Value {
    let text = |text: &str| if text.is_empty() { Value::Null } else { text.into() };
    let network_data = &status.network_data;
    let network_data = if *network_data == NetworkDataStatus::default() {
        Value::Null
    } else {
        json!({ "name": text(&network_data.name), "version": text(&network_data.version) })
    };
    json!({
        "metadata": { "resourceVersion": resource_version },
        "status": {
            "imageUrl": text(&status.image_url),
            "kernelUrl": text(&status.kernel_url),
            "extraKernelParams": text(&status.extra_kernel_params),
            "format": text(&status.format),
            "architecture": text(&status.architecture),
            "networkData": network_data,
            "conditions": status.conditions,
        },
    })
}
