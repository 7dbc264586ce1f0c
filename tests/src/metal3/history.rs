//! The history of a watched object, with the answers of its images' URLs.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Replica, image_url, is_true};
use crate::kubernetes::Client;
use crate::kubernetes::metal3::{PREPROVISIONING_IMAGES, collection};

/// A version of an object.
#[derive(Debug, Clone)]
pub struct Sighting {
    /// The object.
    pub object: Value,
    /// The answer to a request for its image at this moment, if the object says that the image is ready.
    pub answered: Option<Result<u16, String>>,
}

/// All versions of an object that the watch has seen.
pub struct History(Arc<Mutex<Vec<Sighting>>>);

impl History {
    pub(super) fn follow(client: &Client, namespace: &str, name: &str, replica: &Replica) -> Self {
        let seen: Arc<Mutex<Vec<Sighting>>> = Arc::default();
        let note = Arc::clone(&seen);
        let base = replica.own(super::PUBLISHED);
        let images = reqwest::blocking::Client::builder().no_proxy().build().expect("a client");
        let path = format!("{}?fieldSelector=metadata.name={name}", collection(namespace, PREPROVISIONING_IMAGES));
        client.watch(&path, move |event| {
            let object = event["object"].clone();
            let answered = is_true(&object, "Ready").then(|| {
                let url = image_url(&object).replacen(super::PUBLISHED, &base, 1);
                let answer = images.head(url).send();
                answer.map(|answer| answer.status().as_u16()).map_err(|error| error.to_string())
            });
            note.lock().unwrap_or_else(PoisonError::into_inner).push(Sighting { object, answered });
        });
        Self(seen)
    }

    /// Returns the versions so far, oldest first.
    pub fn sightings(&self) -> Vec<Sighting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the versions after `first`, up to `last`. Waits for `last`, which may arrive later.
    pub fn between(&self, first: &Value, last: &Value) -> Vec<Sighting> {
        let at = |all: &[Sighting], object: &Value| {
            let version = &object["metadata"]["resourceVersion"];
            all.iter().position(|sighting| sighting.object["metadata"]["resourceVersion"] == *version)
        };
        let started = Instant::now();
        loop {
            let mut all = self.sightings();
            if let Some(end) = at(&all, last) {
                all.truncate(end + 1);
                let begin = at(&all, first).map_or(0, |at| at + 1);
                return all.split_off(begin);
            }
            assert!(started.elapsed() < Duration::from_secs(20), "the watch has not shown {last:#}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asserts that every image was available while its object said that it was ready.
    pub fn assert_ready_images_answered(&self) {
        let all = self.sightings();
        assert!(all.iter().any(|sighting| sighting.answered.is_some()), "no image was ever ready");
        for Sighting { object, answered } in &all {
            assert!(answered.as_ref().is_none_or(|answered| *answered == Ok(200)), "{answered:?}: {object:#}");
        }
    }
}
