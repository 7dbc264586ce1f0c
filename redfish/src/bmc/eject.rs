//! Ejects a medium, and makes sure that it is gone.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Bmc;
use super::attempt::{Attempt, Meaning};
use super::error::BmcError;
use super::limits::{MAX_TRIES, Poll};
use super::shown_image::ShownImage;
use super::state::MediaState;
use super::survey::Slot;

/// The result of [`Bmc::eject`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ejected {
    /// The slot's path.
    pub slot: String,
    /// What was in the slot.
    pub found: Found,
    /// Every request that was sent, including those that the BMC refused.
    pub attempts: Vec<Attempt>,
}

/// What was in a slot before an eject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// The image, which was ejected.
    Image,
    /// Nothing.
    Nothing,
    /// Another image, which is still there.
    Other,
}

impl Bmc {
    /// Ejects the medium in the slot at this path, and waits until the slot is empty. With `image_url`, ejects only
    /// that image: somebody may have inserted another one since. A slot that shows no URL counts as one with that image, unless it
    /// has a medium of the remote console. So give a URL only for a slot into which the image was inserted.
    ///
    /// Call it when the host no longer needs the medium: a live system that still reads it would lose its root file
    /// system. Some BMCs eject only while the host is off, and answer [`BmcError::NotEjected`] otherwise.
    pub async fn eject(&self, slot: &str, image_url: Option<&str>) -> Result<Ejected, BmcError> {
        self.masked(self.eject_from(slot, image_url, None).await)
    }

    /// Ejects an image as [`eject`](Self::eject) does, also if the slot shows it in another way than by its URL.
    pub async fn eject_shown(
        &self,
        slot: &str,
        image_url: &str,
        shown_as: Option<&ShownImage>,
    ) -> Result<Ejected, BmcError> {
        self.masked(self.eject_from(slot, Some(image_url), shown_as).await)
    }

    async fn eject_from(
        &self,
        slot: &str,
        image_url: Option<&str>,
        shown_as: Option<&ShownImage>,
    ) -> Result<Ejected, BmcError> {
        let (slot, etag) = self.read_slot(slot).await?;
        let mut attempts = Vec::new();
        let shows_no_url = slot.state.image.is_none() && !slot.state.is_of_remote_console();
        // What was shown after the insert has its secrets masked.
        let shown = self.masked(Ok(slot.state.clone()))?;
        let is_shown = shown_as.is_some_and(|shown_as| shown_as.is_in(&shown));
        let is_ours = image_url.is_none_or(|url| shows_no_url || is_shown || slot.state.names(url));
        let found = match (slot.state.is_connected(), is_ours) {
            (true, true) => {
                self.eject_slot(&slot, etag.as_deref(), &mut attempts).await?;
                Found::Image
            }
            (true, false) => Found::Other,
            (false, is_ours) => {
                // Some BMCs would take a leftover URL for inserted when somebody inserts the same URL again.
                if is_ours && !slot.state.is_empty() {
                    let _ = self.eject_slot(&slot, etag.as_deref(), &mut attempts).await;
                }
                Found::Nothing
            }
        };
        Ok(Ejected { slot: slot.path, found, attempts })
    }

    /// Ejects whatever is in a slot that was just read.
    pub(super) async fn eject_slot(
        &self,
        slot: &Slot,
        etag: Option<&str>,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), BmcError> {
        let mut forms = Vec::new();
        // iLO refuses a request without a body, other BMCs one with a body.
        forms.extend(slot.eject.as_ref().map(|target| Form::Post { target, body: json!({}) }));
        forms.extend(slot.eject.as_ref().map(|target| Form::Post { target, body: Value::Null }));
        forms.push(Form::Patch { body: json!({"Image": null, "Inserted": false}) });
        // iLO 4 accepts nothing but the image.
        forms.push(Form::Patch { body: json!({"Image": null}) });
        let limit = self.limits().change;
        let mut was_repeated = false;
        for form in forms {
            let mut tries = 0;
            loop {
                tries += 1;
                let result = match &form {
                    Form::Post { target, body } => self.try_post(target, body, limit, attempts).await,
                    Form::Patch { body } => self.try_patch(&slot.path, body, etag, limit, attempts).await,
                };
                let meaning = match &result {
                    Ok(()) => Meaning::Unknown,
                    Err(error) => Meaning::of(error),
                };
                match (meaning, result) {
                    // After a form that was accepted, a refusal of another one says nothing about the medium.
                    (Meaning::Final, Err(error))
                        if !(was_repeated && error.status() == Some(http::StatusCode::FORBIDDEN)) =>
                    {
                        return Err(error.into());
                    }
                    (Meaning::Unknown, result) => match self.wait_until_ejected(&slot.path).await? {
                        None => return Ok(()),
                        // The BMC accepted the request. Another one may help, if the last eject had not ended by then.
                        Some(_) if tries < 2 && (!was_repeated || result.is_err()) => {}
                        // Some BMCs accept a form and do nothing. If there is no answer, the form is not the reason.
                        Some(_) if result.is_ok() => {
                            was_repeated = true;
                            break;
                        }
                        Some(state) => return Err(not_ejected(slot, state, attempts)),
                    },
                    // The BMC refused because there is nothing to eject.
                    _ if !self.media_state(&slot.path).await?.is_connected() => return Ok(()),
                    (Meaning::Busy, _) if tries < MAX_TRIES => tokio::time::sleep(self.limits().pause).await,
                    _ => break,
                }
            }
        }
        let state = self.media_state(&slot.path).await?;
        Err(not_ejected(slot, state, attempts))
    }

    /// Waits until the slot shows no medium. If it still shows one at the end, returns what it shows.
    async fn wait_until_ejected(&self, path: &str) -> Result<Option<MediaState>, BmcError> {
        let mut poll = Poll::new(self.limits().poll_interval, self.limits().settle / 2);
        let mut last = None;
        loop {
            match self.media_state(path).await {
                Ok(state) if !state.is_connected() => return Ok(None),
                Ok(state) => last = Some(state),
                Err(error) if error.may_pass() => {}
                Err(error) => return Err(error),
            }
            if !poll.wait().await {
                return Ok(Some(last.unwrap_or_default()));
            }
        }
    }
}

/// One form of the eject request.
enum Form<'a> {
    Post { target: &'a str, body: Value },
    Patch { body: Value },
}

fn not_ejected(slot: &Slot, state: MediaState, attempts: &mut Vec<Attempt>) -> BmcError {
    BmcError::NotEjected { slot: slot.path.clone(), state: Box::new(state), attempts: std::mem::take(attempts) }
}
