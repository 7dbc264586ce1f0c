//! Inserts an image, and makes sure that the slot shows it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Bmc;
use super::attempt::{self, Attempt, Meaning};
use super::error::BmcError;
use super::form::{self, Form, FormSequence, Method, Parameter};
use super::limits::{MAX_TRIES, Poll};
use super::plan::Plan;
use super::properties::Properties;
use super::shown_image::ShownImage;
use super::state::MediaState;
use super::survey::{Insert, Slot};
use super::vendor::Vendor;
use crate::RedfishError;

/// An image in its slot. [`Bmc::eject`] needs only `slot` to undo it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inserted {
    /// The slot's path.
    pub slot: String,
    /// What the slot shows.
    pub state: MediaState,
    /// The form of the request that the BMC accepted. `None` if the slot had the image already.
    pub form: Option<Form>,
    /// Whether another image was ejected first.
    pub replaced: bool,
    /// Sentences about anything unusual.
    pub notes: Vec<String>,
    /// Every request that was sent, including those that the BMC refused.
    pub attempts: Vec<Attempt>,
}

impl Inserted {
    /// How the slot shows the image at this URL. `None` if it shows the URL, or nothing.
    pub fn shown_as(&self, image_url: &str) -> Option<ShownImage> {
        ShownImage::of(&self.state, image_url)
    }
}

/// An image on its way into one slot.
struct Insertion<'a> {
    bmc: &'a Bmc,
    vendor: Vendor,
    image_url: &'a str,
    /// Whether the plan has no slot after this one.
    is_last: bool,
    /// The slot as it was read first, with the state that it had right before the insert request.
    slot: Slot,
    /// `None` if something was ejected: the slot has changed since its `ETag` was read.
    etag: Option<String>,
    /// Whether another image was ejected.
    replaced: bool,
    forms: FormSequence,
    /// The parameters that the action requires, if dayone has read its description.
    required: Option<BTreeSet<Parameter>>,
    /// How often the BMC was busy.
    busy: u32,
    /// Whether a request that did not reach the BMC was sent again.
    was_resent: bool,
    attempts: &'a mut Vec<Attempt>,
}

/// What follows an error of the BMC.
enum Next {
    /// The slot has the image all the same.
    Inserted(Inserted),
    /// Send this form.
    Send(Form),
}

/// Why a slot did not get the image.
enum SlotFailure {
    /// The slot seems to be for something else. Another one may accept the image.
    Unsuitable,
    /// The slot has another medium, which the BMC does not eject. There is another slot.
    Occupied {
        /// Every request that was sent.
        attempts: Vec<Attempt>,
    },
    /// No other slot would help.
    Final(BmcError),
}

impl<E: Into<BmcError>> From<E> for SlotFailure {
    fn from(error: E) -> Self {
        Self::Final(error.into())
    }
}

impl Bmc {
    /// Inserts the image at `image_url` into the first of the plan's slots that accepts it, and waits until the slot
    /// shows it. Ejects another image that is in the slot. Does nothing if the slot shows the image already.
    pub async fn insert(&self, plan: &Plan, image_url: &str) -> Result<Inserted, BmcError> {
        self.masked(self.insert_into_any(plan, image_url).await)
    }

    async fn insert_into_any(&self, plan: &Plan, image_url: &str) -> Result<Inserted, BmcError> {
        let mut attempts = Vec::new();
        let mut notes = Vec::new();
        for (position, slot) in plan.slots.iter().enumerate() {
            let others = plan.slots.get(position + 1..).unwrap_or_default();
            match self.insert_into(plan, slot, others.is_empty(), image_url, &mut attempts).await {
                Ok(mut inserted) => {
                    inserted.notes.extend(notes);
                    inserted.attempts = attempts;
                    return Ok(inserted);
                }
                Err(SlotFailure::Unsuitable) => {}
                Err(SlotFailure::Occupied { attempts: tried }) => {
                    attempts = tried;
                    // The boot override names a kind of drive, and not a slot.
                    notes.push(format!(
                        "the BMC does not eject the medium in {}, so dayone uses another slot; the host may boot from that medium instead",
                        slot.path
                    ));
                }
                Err(SlotFailure::Final(error)) => return Err(error),
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
    ) -> Result<Inserted, SlotFailure> {
        let (mut slot, mut etag) = self.read_slot(&slot.path).await?;
        if slot.state.is_connected() && slot.state.names(image_url) {
            let Slot { path, state, .. } = slot;
            let (notes, attempts) = (Vec::new(), Vec::new());
            return Ok(Inserted { slot: path, state, form: None, replaced: false, notes, attempts });
        }
        // A leftover URL must go, too: some BMCs would take the same URL for inserted already.
        let replaced = slot.state.is_connected();
        if !slot.state.is_empty() {
            match self.eject_slot(&slot, etag.as_deref(), attempts).await {
                Err(error) if replaced => {
                    return Err(match error {
                        error if is_last || error.is_unavailable() => error.into(),
                        BmcError::NotEjected { attempts, .. } => SlotFailure::Occupied { attempts },
                        error => error.into(),
                    });
                }
                _ => {}
            }
            slot.state = self.media_state(&slot.path).await?;
            etag = None;
        }
        let mut insertion = Insertion {
            bmc: self,
            vendor: plan.vendor,
            image_url,
            is_last,
            etag,
            forms: FormSequence::new(&form::forms(plan.vendor, &slot)),
            slot,
            replaced,
            required: None,
            busy: 0,
            was_resent: false,
            attempts,
        };
        insertion.run().await
    }

    /// Reads the description of the action's parameters, adds the accepted values to `insert`, and returns the required
    /// parameters. Only for a BMC that has refused the plainest form.
    async fn read_action_info(&self, insert: &mut Insert) -> BTreeSet<Parameter> {
        let Some(path) = &insert.info else { return BTreeSet::new() };
        // Without the description, the forms are tried as they are.
        let Ok(resource) = self.client().get(path).await else { return BTreeSet::new() };
        let mut required = BTreeSet::new();
        for parameter in Properties::new(&resource.body).objects("Parameters") {
            let Some(name) = parameter.text("Name") else { continue };
            match name.as_str() {
                "TransferProtocolType" => insert.transfer_protocols = parameter.texts("AllowableValues"),
                "TransferMethod" => insert.transfer_methods = parameter.texts("AllowableValues"),
                _ => {}
            }
            if parameter.flag("Required") == Some(true) {
                required.extend(Parameter::by_name(&name));
            }
        }
        required
    }

    /// Ejects another image that is in the slot. Returns what the slot then shows, which may be the right image.
    async fn eject_other(
        &self,
        path: &str,
        image_url: &str,
        attempts: &mut Vec<Attempt>,
    ) -> Result<MediaState, BmcError> {
        let (slot, etag) = self.read_slot(path).await?;
        if !slot.state.is_connected() || slot.state.names(image_url) {
            return self.masked(Ok(slot.state));
        }
        // A refusal is recorded in the attempts. The next insert request shows whether it matters.
        let _ = self.eject_slot(&slot, etag.as_deref(), attempts).await;
        self.media_state(path).await
    }

    /// Ejects an image that the slot does not show: the BMC may insert it later all the same. Leaves a medium that somebody has
    /// connected meanwhile.
    async fn eject_unconfirmed(&self, slot: &Slot, error: BmcError) -> BmcError {
        let is_foreign = |state: &MediaState| state.is_connected() && state.is_of_remote_console();
        if matches!(&error, BmcError::NotInserted { state, .. } if !is_foreign(state)) {
            let _ = self.eject_slot(slot, None, &mut Vec::new()).await;
        }
        error
    }

    /// Waits until the slot shows the image, which takes some BMCs seconds. Returns notes about anything unusual. `before` is
    /// what the slot showed right before the insert request.
    async fn wait_until_inserted(
        &self,
        path: &str,
        before: &MediaState,
        image_url: &str,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(MediaState, Vec<String>), BmcError> {
        let mut poll = Poll::new(self.limits().poll_interval, self.limits().settle);
        let mut last = MediaState::default();
        loop {
            match self.media_state(path).await {
                Ok(state) => {
                    if state.is_connected() && state.names(image_url) {
                        return Ok((state, Vec::new()));
                    }
                    last = state;
                }
                Err(error) if error.may_pass() => {}
                Err(error) => return Err(error),
            }
            // Every image of a server may have the same file name. So for a BMC that shows only this name, or nothing, the
            // only sign is that a medium is connected that was not.
            let is_new = !before.is_connected() || last.image != before.image;
            if last.is_connected() && is_new && !last.is_of_remote_console() {
                let note = match &last.image {
                    Some(_) => format!("{path} shows a medium, but not the image's URL"),
                    None => format!("{path} shows a medium without a URL"),
                };
                return Ok((last, vec![note]));
            }
            if !poll.wait().await {
                break;
            }
        }
        // The BMC accepted the image and shows its URL. It may be one that never reports a connection.
        if last.names(image_url) && last.inserted != Some(false) {
            let via = last.connected_via.as_deref().unwrap_or("nothing");
            let note = format!("{path} shows the image, but {via} for ConnectedVia");
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

impl Insertion<'_> {
    /// Sends one form after another until the BMC accepts one.
    async fn run(&mut self) -> Result<Inserted, SlotFailure> {
        let mut form = self.forms.first().ok_or(SlotFailure::Unsuitable)?;
        loop {
            check_protocol(self.slot.insert.as_ref(), self.image_url)?;
            let Err(error) = self.send(&form).await else {
                return match self.wait_until_inserted().await {
                    Ok(shown) => Ok(self.inserted(shown, form)),
                    Err(error) => Err(self.bmc.eject_unconfirmed(&self.slot, error).await.into()),
                };
            };
            match self.after_error(error, form).await? {
                Next::Inserted(inserted) => return Ok(inserted),
                Next::Send(next) => form = next,
            }
        }
    }

    async fn send(&mut self, form: &Form) -> Result<(), RedfishError> {
        let limit = self.bmc.limits().insert;
        let body = form.body(self.image_url, self.slot.insert.as_ref());
        if let (Method::Post, Some(insert)) = (form.method, &self.slot.insert) {
            return self.bmc.try_post(&insert.target, &body, limit, self.attempts).await;
        }
        self.bmc.try_patch(&self.slot.path, &body, self.etag.as_deref(), limit, self.attempts).await
    }

    async fn wait_until_inserted(&mut self) -> Result<(MediaState, Vec<String>), BmcError> {
        let Self { bmc, slot, image_url, attempts, .. } = self;
        bmc.wait_until_inserted(&slot.path, &slot.state, image_url, attempts).await
    }

    /// The result, without the attempts.
    fn inserted(&self, (state, notes): (MediaState, Vec<String>), form: Form) -> Inserted {
        let (slot, replaced) = (self.slot.path.clone(), self.replaced);
        Inserted { slot, state, form: Some(form), replaced, notes, attempts: Vec::new() }
    }

    fn take_attempts(&mut self) -> Vec<Attempt> {
        std::mem::take(self.attempts)
    }

    async fn after_error(&mut self, error: RedfishError, form: Form) -> Result<Next, SlotFailure> {
        let next = match Meaning::of(&error) {
            Meaning::Final => return Err(error.into()),
            Meaning::Licence => {
                return Err(BmcError::Licence { vendor: self.vendor, message: bmc_messages(&error) }.into());
            }
            // The message may quote the URL, and so have a word such as "download".
            Meaning::Image | Meaning::Form if attempt::refuses_url(&error) => {
                let attempts = self.take_attempts();
                return Err(BmcError::Url { message: bmc_messages(&error), attempts }.into());
            }
            Meaning::Image => {
                let attempts = self.take_attempts();
                return Err(BmcError::ImageUnreachable { message: bmc_messages(&error), attempts }.into());
            }
            Meaning::Unknown => return Ok(self.after_no_answer(&error, form).await?),
            Meaning::Busy => return Ok(self.after_busy(form).await?),
            // A slot for the remote console may list the action and refuse it. Then another slot is the right one.
            Meaning::NoAction if self.is_last => self.forms.next_patch(),
            Meaning::NoAction => None,
            Meaning::Form => self.after_refused_form(&error).await,
        };
        next.map(Next::Send).ok_or(SlotFailure::Unsuitable)
    }

    /// Without an answer, the BMC may have inserted the image.
    async fn after_no_answer(&mut self, error: &RedfishError, form: Form) -> Result<Next, BmcError> {
        match self.wait_until_inserted().await {
            Ok(shown) => Ok(Next::Inserted(self.inserted(shown, form))),
            // The request did not reach the BMC.
            Err(BmcError::NotInserted { attempts: tried, .. })
                if !self.was_resent && matches!(error, RedfishError::Broken { .. }) =>
            {
                self.was_resent = true;
                *self.attempts = tried;
                Ok(Next::Send(form))
            }
            Err(error) => Err(self.bmc.eject_unconfirmed(&self.slot, error).await),
        }
    }

    async fn after_busy(&mut self, form: Form) -> Result<Next, BmcError> {
        self.busy += 1;
        if self.busy >= MAX_TRIES {
            return Err(BmcError::InsertRefused { attempts: self.take_attempts() });
        }
        tokio::time::sleep(self.bmc.limits().pause).await;
        let state = self.bmc.eject_other(&self.slot.path, self.image_url, self.attempts).await?;
        if state.is_connected() && state.names(self.image_url) {
            let shown = self.wait_until_inserted().await?;
            return Ok(Next::Inserted(self.inserted(shown, form)));
        }
        self.slot.state = state;
        Ok(Next::Send(form))
    }

    /// Returns the next form. Reads the description of the action first, if the BMC has one.
    async fn after_refused_form(&mut self, error: &RedfishError) -> Option<Form> {
        if let Some(insert) = self.slot.insert.as_mut().filter(|_| self.required.is_none()) {
            self.required = Some(self.bmc.read_action_info(insert).await);
        }
        self.forms.next(error, self.required.as_ref().unwrap_or(&BTreeSet::new()))
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

/// The BMC's messages, or else the error.
fn bmc_messages(error: &RedfishError) -> String {
    let messages = error.messages().iter().map(ToString::to_string).collect::<Vec<_>>();
    if messages.is_empty() { error.to_string() } else { messages.join("; ") }
}
