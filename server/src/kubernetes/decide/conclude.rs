//! From what came of an order to the status that is to be written.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::{ERROR, Failure, READY, reason};
use crate::kubernetes::provider::PublishedImage;
use crate::kubernetes::resources::{Condition, NetworkDataStatus, PreprovisioningImage, PreprovisioningImageStatus};
use crate::kubernetes::waiting::PATIENCE;

/// The API server takes no longer one.
const MESSAGE_BYTES: usize = 32_768;
const RETRY: Duration = Duration::from_secs(10);
const RETRY_AT_MOST: Duration = Duration::from_mins(10);

/// What the image was made of, as the status has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kubernetes) struct MadeOf {
    pub(in crate::kubernetes) format: &'static str,
    pub(in crate::kubernetes) architecture: String,
    pub(in crate::kubernetes) network_data: NetworkDataStatus,
}

impl MadeOf {
    pub(in crate::kubernetes) fn is_in(&self, status: &PreprovisioningImageStatus) -> bool {
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

/// What came of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kubernetes) enum Outcome {
    /// The image is there.
    Published(PublishedImage, MadeOf),
    /// It will be there after a while. This is for how long it has not been.
    NotReady(String, MadeOf, Duration),
    /// Somebody has to change something. With it, what the image would have been made of, as far as that is known: the
    /// baremetal-operator shows an error only of an image that is made of what it asked for.
    Failed(Failure, Option<MadeOf>),
}

/// What is to be done about an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kubernetes) struct Conclusion {
    /// To be written, where it is another than there is. Further writes may be due after it.
    pub(in crate::kubernetes) status: Option<PreprovisioningImageStatus>,
    /// When to look again, where no event tells.
    pub(in crate::kubernetes) again: Option<Duration>,
}

/// What is to be done about an outcome, at this time.
pub(in crate::kubernetes) fn conclude(object: &PreprovisioningImage, outcome: &Outcome, now: Timestamp) -> Conclusion {
    let mut draft = Draft {
        status: object.status.clone(),
        generation: object.metadata.generation,
        // Times in conditions have no fractions.
        now: Timestamp::from_second(now.as_second()).unwrap_or(now),
    };
    let ready = object.condition(READY).is_some_and(Condition::is_true);
    let mut again = None;
    match outcome {
        Outcome::Published(image, made_of) => {
            let moves = !object.status.image_url.is_empty() && object.status.image_url != image.url;
            if moves && !made_of.is_in(&object.status) {
                draft.withdraw(ready, made_of);
            } else {
                draft.publish(image, made_of);
            }
        }
        // A base that was touched is read anew, and the image that the status names will be the same. One that stays
        // away takes the image with it.
        Outcome::NotReady(_, made_of, waited) if ready && made_of.is_in(&object.status) && *waited < PATIENCE => {
            again = Some(RETRY);
        }
        Outcome::NotReady(message, ..) => {
            let message = if message.is_empty() { "Image is not ready yet" } else { message };
            draft.set(READY, false, reason::SUCCESS, message);
            draft.set(ERROR, false, reason::SUCCESS, "");
            again = Some(RETRY);
        }
        Outcome::Failed(failure, made_of) => {
            draft.fail(failure, made_of.as_ref());
            if [reason::MISSING_NETWORK_DATA, reason::FORBIDDEN].contains(&failure.reason) {
                // A Secret without our label does not tell that it is there, and nothing tells of a right that is granted.
                again = Some(draft.since_error().saturating_add(RETRY).min(RETRY_AT_MOST));
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
    /// The image's content changed, and so its URL: first it is not ready any more, then the URL goes, then comes the
    /// new one. Whoever sees a URL sees one that answers.
    fn withdraw(&mut self, ready: bool, made_of: &MadeOf) {
        self.set(READY, false, reason::SUCCESS, "Config changed");
        if ready {
            self.observe(ERROR);
        } else {
            self.status.image_url.clear();
            made_of.write_to(&mut self.status);
            self.set(ERROR, false, reason::SUCCESS, "");
        }
    }

    fn publish(&mut self, image: &PublishedImage, made_of: &MadeOf) {
        self.status.image_url.clone_from(&image.url);
        self.status.kernel_url = image.kernel_url.clone().unwrap_or_default();
        self.status.extra_kernel_params.clone_from(&image.extra_kernel_parameters);
        made_of.write_to(&mut self.status);
        self.set(READY, true, reason::SUCCESS, "Generated image");
        self.set(ERROR, false, reason::SUCCESS, "");
    }

    fn fail(&mut self, failure: &Failure, made_of: Option<&MadeOf>) {
        self.status.image_url.clear();
        if let Some(made_of) = made_of {
            made_of.write_to(&mut self.status);
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

    /// The condition stays, of the object as it is now.
    fn observe(&mut self, kind: &str) {
        for condition in self.status.conditions.iter_mut().filter(|condition| condition.kind == kind) {
            condition.observed_generation = self.generation;
        }
    }

    fn since_error(&self) -> Duration {
        let error = self.status.conditions.iter().find(|condition| condition.kind == ERROR);
        let since =
            error.and_then(|error| error.last_transition_time.as_ref()).map(|time| self.now.duration_since(time.0));
        since.and_then(|since| Duration::try_from(since).ok()).unwrap_or_default()
    }
}

/// A merge patch that makes this status of whatever is there, and leaves alone what is not known here.
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
