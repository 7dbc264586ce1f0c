//! Ejecting.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Bmc;
use super::attempt::{Attempt, Meaning};
use super::error::BmcError;
use super::limits::{Looks, TRIES};
use super::state::MediaState;
use super::survey::Slot;

/// How an eject ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ejected {
    /// The slot.
    pub slot: String,
    /// What was found there.
    pub found: Found,
    /// Every request, also those that were refused.
    pub attempts: Vec<Attempt>,
}

/// What was in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// The image, which was taken out.
    Image,
    /// Nothing.
    Nothing,
    /// Somebody else's image, which was left.
    Other,
}

impl Bmc {
    /// Takes the medium out of a slot, and waits until the BMC shows that. With `image_url`, another image than that is
    /// left where it is: somebody has inserted it since.
    ///
    /// A live system that still reads its medium loses its root file system; and some BMCs eject only while the host is
    /// off. When it is done is the caller's to know.
    pub async fn eject(&self, slot: &str, image_url: Option<&str>) -> Result<Ejected, BmcError> {
        self.blanked(self.eject_from(slot, image_url).await)
    }

    async fn eject_from(&self, slot: &str, image_url: Option<&str>) -> Result<Ejected, BmcError> {
        let resource = self.client().get(slot).await?;
        let slot = Slot::read(slot, &resource.body);
        let mut attempts = Vec::new();
        let is_ours = image_url.is_none_or(|url| slot.state.image.is_none() || slot.state.names(url));
        let found = match (slot.state.is_connected(), is_ours) {
            (true, true) => {
                self.eject_slot(&slot, resource.etag.as_deref(), &mut attempts).await?;
                Found::Image
            }
            (true, false) => Found::Other,
            (false, is_ours) => {
                // A URL that stays behind would be taken for inserted by the next who inserts it.
                if is_ours && !slot.state.is_empty() {
                    let _ = self.eject_slot(&slot, resource.etag.as_deref(), &mut attempts).await;
                }
                Found::Nothing
            }
        };
        Ok(Ejected { slot: slot.path, found, attempts })
    }

    /// Ejects whatever is in a slot that has just been read.
    pub(super) async fn eject_slot(
        &self,
        slot: &Slot,
        etag: Option<&str>,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), BmcError> {
        let mut forms = Vec::new();
        // iLO refuses a request without a body, others one with it.
        forms.extend(slot.eject.as_ref().map(|target| Form::Post { target, body: json!({}) }));
        forms.extend(slot.eject.as_ref().map(|target| Form::Post { target, body: Value::Null }));
        forms.push(Form::Patch { body: json!({"Image": null, "Inserted": false}) });
        // iLO 4 takes nothing but the image.
        forms.push(Form::Patch { body: json!({"Image": null}) });
        let limit = self.limits().change;
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
                    (Meaning::Final, Err(error)) => return Err(error.into()),
                    (Meaning::Unknown, _) => match self.see_ejected(&slot.path).await? {
                        None => return Ok(()),
                        // It said that it did it; once more, as the last eject may not have ended.
                        Some(_) if tries < 2 => {}
                        Some(state) => return Err(not_ejected(slot, state, attempts)),
                    },
                    // There is nothing to eject: then the refusal was for that.
                    _ if !self.media_state(&slot.path).await?.is_connected() => return Ok(()),
                    (Meaning::Busy, _) if tries < TRIES => tokio::time::sleep(self.limits().pause).await,
                    _ => break,
                }
            }
        }
        let state = self.media_state(&slot.path).await?;
        Err(not_ejected(slot, state, attempts))
    }

    /// Waits until the slot shows no medium. What it shows is returned if it goes on showing one.
    async fn see_ejected(&self, path: &str) -> Result<Option<MediaState>, BmcError> {
        let mut looks = Looks::new(self.limits().look, self.limits().settle / 2);
        let mut last = None;
        loop {
            match self.media_state(path).await {
                Ok(state) if !state.is_connected() => return Ok(None),
                Ok(state) => last = Some(state),
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error),
            }
            if !looks.again().await {
                return Ok(Some(last.unwrap_or_default()));
            }
        }
    }
}

/// How a BMC is told to eject.
enum Form<'a> {
    Post { target: &'a str, body: Value },
    Patch { body: Value },
}

fn not_ejected(slot: &Slot, state: MediaState, attempts: &mut Vec<Attempt>) -> BmcError {
    BmcError::NotEjected { slot: slot.path.clone(), state: Box::new(state), attempts: std::mem::take(attempts) }
}
