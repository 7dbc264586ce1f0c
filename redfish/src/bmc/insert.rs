//! Inserting an image, and seeing that it is inserted.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Bmc;
use super::attempt::{self, Attempt, Meaning};
use super::error::BmcError;
use super::form::{self, Climb, Form, Method, Parameter};
use super::limits::{Looks, TRIES};
use super::model::{self, read, texts};
use super::plan::Plan;
use super::state::MediaState;
use super::survey::{Insert, Slot};
use crate::RedfishError;

/// An image in its slot. What must be known to take it out again is `slot`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inserted {
    /// The slot.
    pub slot: String,
    /// What the slot says.
    pub state: MediaState,
    /// The form that the BMC took; none if the image was there already.
    pub form: Option<Form>,
    /// Whether another image was taken out first.
    pub replaced: bool,
    /// What was odd.
    pub notes: Vec<String>,
    /// Every request, also those that were refused.
    pub attempts: Vec<Attempt>,
}

/// How an attempt at one slot ended without the image in it.
enum Failed {
    /// The slot is meant for something else, as it seems.
    Slot,
    /// No other slot would help.
    All(BmcError),
}

impl<E: Into<BmcError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::All(error.into())
    }
}

impl Bmc {
    /// Inserts an image into the first of the plan's slots that takes it, whatever is in there, and waits until the BMC
    /// shows it.
    pub async fn insert(&self, plan: &Plan, image_url: &str) -> Result<Inserted, BmcError> {
        self.blanked(self.insert_anywhere(plan, image_url).await)
    }

    async fn insert_anywhere(&self, plan: &Plan, image_url: &str) -> Result<Inserted, BmcError> {
        let mut attempts = Vec::new();
        for (position, slot) in plan.slots.iter().enumerate() {
            let others = plan.slots.get(position + 1..).unwrap_or_default();
            match self.insert_into(plan, slot, others.is_empty(), image_url, &mut attempts).await {
                Ok(mut inserted) => {
                    inserted.attempts = attempts;
                    return Ok(inserted);
                }
                Err(Failed::Slot) => {}
                Err(Failed::All(error)) => return Err(error),
            }
        }
        Err(BmcError::InsertRefused { attempts })
    }

    async fn insert_into(
        &self,
        plan: &Plan,
        slot: &Slot,
        is_last: bool,
        image_url: &str,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Inserted, Failed> {
        let resource = self.client().get(&slot.path).await?;
        let mut slot = Slot::read(&slot.path, &resource.body);
        let inserted = |state, form, replaced, notes| Inserted {
            slot: slot.path.clone(),
            state,
            form,
            replaced,
            notes,
            attempts: Vec::new(),
        };
        if slot.state.is_connected() && slot.state.names(image_url) {
            return Ok(inserted(slot.state.clone(), None, false, Vec::new()));
        }
        // A URL that was left behind must go, too: some BMCs take the same URL for what is inserted already.
        let replaced = slot.state.is_connected();
        if !slot.state.is_empty() {
            match self.eject_slot(&slot, resource.etag.as_deref(), attempts).await {
                Err(error) if replaced => return Err(error.into()),
                _ => {}
            }
        }
        let before = slot.state.clone();
        let mut climb = Climb::new(&form::ladder(plan.vendor, &slot));
        let mut required = BTreeSet::new();
        let mut asked = false;
        let mut form = climb.first().ok_or(Failed::Slot)?;
        let mut busy = 0;
        let mut lost = false;
        loop {
            check_protocol(slot.insert.as_ref(), image_url)?;
            let body = form.body(image_url, slot.insert.as_ref());
            let result = if let (Method::Post, Some(insert)) = (form.method, &slot.insert) {
                self.try_post(&insert.target, &body, self.limits().insert, attempts).await
            } else {
                // What was ejected has changed the slot since it was read.
                let etag = resource.etag.as_deref().filter(|_| slot.state.is_empty());
                self.try_patch(&slot.path, &body, etag, self.limits().insert, attempts).await
            };
            let Err(error) = result else {
                return match self.see_inserted(&slot.path, &before, image_url, attempts).await {
                    Ok((state, notes)) => Ok(inserted(state, Some(form), replaced, notes)),
                    Err(error) => Err(Failed::All(self.take_back(&slot, error).await)),
                };
            };
            let next = match Meaning::of(&error) {
                Meaning::Final => return Err(error.into()),
                Meaning::Licence => {
                    return Err(Failed::All(BmcError::Licence { vendor: plan.vendor, message: said(&error) }));
                }
                Meaning::Image => {
                    let attempts = std::mem::take(attempts);
                    return Err(Failed::All(BmcError::ImageUnreachable { message: said(&error), attempts }));
                }
                Meaning::Form if attempt::refuses_url(&error) => {
                    let attempts = std::mem::take(attempts);
                    return Err(Failed::All(BmcError::Url { message: said(&error), attempts }));
                }
                Meaning::Unknown => match self.see_inserted(&slot.path, &before, image_url, attempts).await {
                    Ok((state, notes)) => return Ok(inserted(state, Some(form), replaced, notes)),
                    // It has not arrived.
                    Err(BmcError::NotInserted { attempts: tried, .. })
                        if !lost && matches!(error, RedfishError::Broken { .. }) =>
                    {
                        lost = true;
                        *attempts = tried;
                        Some(form.clone())
                    }
                    Err(error) => return Err(Failed::All(self.take_back(&slot, error).await)),
                },
                Meaning::Busy => {
                    busy += 1;
                    if busy >= TRIES {
                        return Err(Failed::All(BmcError::InsertRefused { attempts: std::mem::take(attempts) }));
                    }
                    tokio::time::sleep(self.limits().pause).await;
                    if self.clear(&slot.path, image_url, attempts).await? {
                        let (state, notes) = self.see_inserted(&slot.path, &before, image_url, attempts).await?;
                        return Ok(inserted(state, Some(form), replaced, notes));
                    }
                    Some(form.clone())
                }
                // A slot for the remote console may have the action and refuse it: then another is the one.
                Meaning::NoAction if is_last => climb.without_action(),
                Meaning::NoAction => None,
                Meaning::Form => {
                    if let Some(insert) = slot.insert.as_mut().filter(|_| !asked) {
                        asked = true;
                        required = self.read_action_info(insert).await;
                    }
                    climb.next(&error, &required)
                }
            };
            form = next.ok_or(Failed::Slot)?;
        }
    }

    /// What the BMC says of the action's parameters, asked for only when it has refused the plain form. Its answer
    /// completes `insert`; what it requires is returned.
    async fn read_action_info(&self, insert: &mut Insert) -> BTreeSet<Parameter> {
        let Some(path) = &insert.info else { return BTreeSet::new() };
        // Without it, the ladder goes on as it is.
        let Ok(resource) = self.client().get(path).await else { return BTreeSet::new() };
        let info: model::ActionInfo = read(&resource.body);
        let mut required = BTreeSet::new();
        for parameter in info.parameters.into_iter().flatten() {
            let Some(model::Text(name)) = parameter.name else { continue };
            match name.as_str() {
                "TransferProtocolType" => insert.transfer_protocols = texts(parameter.allowable_values),
                "TransferMethod" => insert.transfer_methods = texts(parameter.allowable_values),
                _ => {}
            }
            if parameter.required == Some(true) {
                required.extend(Parameter::by_name(&name));
            }
        }
        required
    }

    /// Ejects what is in the way. Whether the image is in the slot nevertheless is returned.
    async fn clear(&self, path: &str, image_url: &str, attempts: &mut Vec<Attempt>) -> Result<bool, RedfishError> {
        let resource = self.client().get(path).await?;
        let slot = Slot::read(path, &resource.body);
        if !slot.state.is_connected() {
            return Ok(false);
        }
        if slot.state.names(image_url) {
            return Ok(true);
        }
        // What it says of that is in the attempts; the next try to insert decides.
        let _ = self.eject_slot(&slot, resource.etag.as_deref(), attempts).await;
        Ok(false)
    }

    /// What is not shown may be there all the same, or come later: it is ejected, as far as the BMC does that.
    async fn take_back(&self, slot: &Slot, error: BmcError) -> BmcError {
        if matches!(error, BmcError::NotInserted { .. }) {
            let _ = self.eject_slot(slot, None, &mut Vec::new()).await;
        }
        error
    }

    /// Waits until the slot shows the image. Some BMCs need seconds for it.
    async fn see_inserted(
        &self,
        path: &str,
        before: &MediaState,
        image_url: &str,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(MediaState, Vec<String>), BmcError> {
        let mut looks = Looks::new(self.limits().look, self.limits().settle);
        let mut last = MediaState::default();
        loop {
            match self.media_state(path).await {
                Ok(state) => {
                    if state.is_connected() && state.names(image_url) {
                        return Ok((state, Vec::new()));
                    }
                    last = state;
                }
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error),
            }
            if last.is_connected() && last.image != before.image {
                let note = format!(
                    "{path} shows the medium as {}",
                    last.image.as_deref().map_or("without an image", |_| "another URL")
                );
                return Ok((last, vec![note]));
            }
            if !looks.again().await {
                break;
            }
        }
        // It accepted the image and shows it; that it says no word of a connection may be its habit.
        if last.names(image_url) && last.inserted != Some(false) {
            let via = last.connected_via.as_deref().unwrap_or("nothing");
            let note = format!("{path} shows the image, but says {via} for ConnectedVia");
            return Ok((last, vec![note]));
        }
        let attempts = std::mem::take(attempts);
        Err(BmcError::NotInserted {
            slot: path.to_owned(),
            state: Box::new(last),
            after: self.limits().settle,
            attempts,
        })
    }
}

fn check_protocol(insert: Option<&Insert>, image_url: &str) -> Result<(), BmcError> {
    let Some(offered) = insert.and_then(|insert| insert.transfer_protocols.as_ref()) else { return Ok(()) };
    let wanted = form::protocol(image_url);
    if offered.is_empty() || offered.iter().any(|protocol| protocol.eq_ignore_ascii_case(wanted)) {
        return Ok(());
    }
    Err(BmcError::Protocol { wanted, offered: offered.clone() })
}

/// What the BMC said, or else what happened.
fn said(error: &RedfishError) -> String {
    let messages = error.messages().iter().map(ToString::to_string).collect::<Vec<_>>();
    if messages.is_empty() { error.to_string() } else { messages.join("; ") }
}
