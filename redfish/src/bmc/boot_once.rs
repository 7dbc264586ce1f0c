//! Sets the boot override, and reads it back.

use serde_json::{Map, Value};

use super::Bmc;
use super::attempt::{self, Attempt, Meaning};
use super::boot_order::BootOrder;
use super::boot_override::{self, ENABLED, MODE, OverrideForm, TARGET};
use super::current::{Current, ReadResource, ShownBoot};
use super::error::BmcError;
use super::first_boot_device::{self, FirstBootDevice};
use super::http_uri::{self, HttpUri};
use super::limits::{MAX_TRIES, Poll};
use super::next_reset;
use super::plan::Plan;
use super::set_override::BootOverride;
use super::state::BootMode;
use super::verified::{Sent, Verified, has_override, is_shown};
use crate::RedfishError;
use crate::error::IN_POST;

/// Maximum number of requests: a BMC that refuses so many refuses all of them.
const MAX_ATTEMPTS: usize = 12;

/// What a form sets that must be read from the firmware first.
enum FirmwareEntry {
    NotNeeded,
    /// The device path of a boot option.
    BootOption(String),
    BootOrder(BootOrder),
}

impl FirmwareEntry {
    fn order(&self) -> Option<&BootOrder> {
        match self {
            Self::BootOrder(order) => Some(order),
            Self::BootOption(_) | Self::NotNeeded => None,
        }
    }

    /// The properties of `Boot` that a form sets.
    fn boot(&self, form: &OverrideForm, image_url: Option<&str>) -> Map<String, Value> {
        match self {
            Self::BootOption(device) => boot_override::with_device(form.boot(), device),
            _ if form.is_http() => http_uri::with_uri(form.boot(), image_url),
            _ => form.boot(),
        }
    }
}

impl Bmc {
    /// Makes the host boot from the plan's medium at its next start.
    ///
    /// If the BMC does not accept that for a single boot, the override stays until [`restore`](Self::restore);
    /// [`BootOverride::once`] is then false.
    pub async fn boot_once(&self, plan: &Plan) -> Result<BootOverride, BmcError> {
        self.masked(self.set_boot(plan, None).await)
    }

    /// Makes the host's firmware fetch this image by HTTP at its next start, with a plan of
    /// [`plan_http_boot`](Self::plan_http_boot). An error if the BMC does not show the URL afterwards.
    pub async fn boot_http_once(&self, plan: &Plan, image_url: &str) -> Result<BootOverride, BmcError> {
        self.masked(self.set_boot(plan, Some(image_url)).await)
    }

    /// Reads an iDRAC's attributes before the plan changes them, so that they can be restored. `None` if it changes none.
    pub async fn planned_first_boot_device(&self, plan: &Plan) -> Result<Option<FirstBootDevice>, BmcError> {
        let path = plan.boot.iter().find_map(|form| match form {
            OverrideForm::DellAttributes { path, .. } => Some(path),
            _ => None,
        });
        let Some(path) = path else { return Ok(None) };
        let read = self.first_boot_device(path).await?;
        self.masked(Ok(Some(read)))
    }

    async fn set_boot(&self, plan: &Plan, image_url: Option<&str>) -> Result<BootOverride, BmcError> {
        let first_device = self.planned_first_boot_device(plan).await?;
        Ok(BootOverride { first_device, ..self.try_forms(plan, image_url).await? })
    }

    async fn try_forms(&self, plan: &Plan, image_url: Option<&str>) -> Result<BootOverride, BmcError> {
        let path = &plan.system.path;
        let current = self.read_boot(path, plan.system.settings.as_deref()).await?;
        let previous = current.boot.clone();
        let mut attempts = Vec::new();
        let mut forms = plan.boot.iter().collect::<Vec<_>>();
        while let Some(form) = (!forms.is_empty() && attempts.len() < MAX_ATTEMPTS).then(|| forms.remove(0)) {
            let Some(entry) = self.firmware_entry(&current, form).await? else { continue };
            match self.set(&current, form, &entry, image_url, &mut attempts).await {
                Ok(()) => {
                    let set = self.verify_override(plan, previous.clone(), form, &entry, image_url, attempts).await?;
                    let instead = forms.into_iter().find(|other| other.is_instead());
                    return match instead.filter(|_| !is_shown(form, &set.shown)) {
                        // Such an iLO accepts the override, and ignores it.
                        Some(instead) => Ok(self.set_instead(plan, &current, instead, set).await),
                        None => Ok(set),
                    };
                }
                Err(error) => match Meaning::of(&error) {
                    Meaning::Final => return Err(error.into()),
                    Meaning::Unknown => {
                        let is_set = match (form.target(), entry.order()) {
                            (Some(target), _) => {
                                let now = self.read_boot(path, plan.system.settings.as_deref()).await?.boot.source;
                                now.has_target(target)
                            }
                            (None, Some(order)) => self.has_boot_order(order).await?,
                            (None, None) => false,
                        };
                        if is_set {
                            return self.verify_override(plan, previous, form, &entry, image_url, attempts).await;
                        }
                        return Err(BmcError::BootRefused { attempts });
                    }
                    // It says nothing about the form. With another one, the host might boot from the medium for ever.
                    Meaning::Busy if error.is_unavailable() => return Err(BmcError::BootRefused { attempts }),
                    meaning => {
                        // `Continuous` is for a BMC that refuses `Once`, and not for one in a state that passes.
                        if meaning == Meaning::Busy {
                            forms.retain(|other| form.is_continuous() || !other.is_continuous());
                        }
                        // Such an iLO refuses every change of the override.
                        if error.says("UnsupportedOperation") {
                            forms.retain(|other| other.target().is_none());
                        }
                        // Such an iLO accepts an override when its host is off. A boot order would outlast the boot.
                        if error.says(IN_POST) {
                            forms.retain(|other| matches!(other, OverrideForm::NextReset { .. }));
                        }
                        let faults = attempt::named_properties(&error, &[TARGET, ENABLED, MODE]);
                        forms.retain(|other| boot_override::differs(other, form, &faults));
                    }
                },
            }
        }
        match plan.mode {
            Some(mode)
                if attempts.iter().any(|attempt| attempt.error.as_ref().is_some_and(|error| error.contains(MODE))) =>
            {
                Err(BmcError::Mode { mode, offered: plan.system.boot.modes.clone() })
            }
            _ => Err(BmcError::BootRefused { attempts }),
        }
    }

    /// Sets another form in place of an override that the BMC does not show. If that fails, the override stays what was set: the BMC
    /// may have it, and it is to be undone.
    async fn set_instead(
        &self,
        plan: &Plan,
        current: &Current,
        form: &OverrideForm,
        set: BootOverride,
    ) -> BootOverride {
        let mut attempts = set.attempts.clone();
        let Ok(Some(entry)) = self.firmware_entry(current, form).await else { return set };
        let answered = self.set(current, form, &entry, None, &mut attempts).await;
        // Without an answer, the BMC may have the new order.
        let set = BootOverride { attempts: attempts.clone(), order: entry.order().cloned(), ..set };
        if answered.is_err() {
            return set;
        }
        self.verify_override(plan, current.boot.clone(), form, &entry, None, attempts).await.unwrap_or(set)
    }

    /// Reads what a form needs from the firmware. `None` if the firmware has nothing that the form can set.
    async fn firmware_entry(&self, current: &Current, form: &OverrideForm) -> Result<Option<FirmwareEntry>, BmcError> {
        Ok(match form {
            OverrideForm::BootOption { name } => {
                self.boot_option(current.boot_options.as_deref(), name).await?.map(FirmwareEntry::BootOption)
            }
            OverrideForm::BootOrder { name } => {
                self.boot_order(current.bios.as_deref(), name).await?.map(FirmwareEntry::BootOrder)
            }
            _ => Some(FirmwareEntry::NotNeeded),
        })
    }

    async fn set(
        &self,
        current: &Current,
        form: &OverrideForm,
        entry: &FirmwareEntry,
        image_url: Option<&str>,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), RedfishError> {
        if let Some(order) = entry.order() {
            return self.patch_patiently(order.path(), &order.body(), attempts).await;
        }
        match form {
            OverrideForm::DellAttributes { path, device } => {
                self.patch_patiently(path, &first_boot_device::body("Enabled", device), attempts).await
            }
            OverrideForm::NextReset { slot } => self.patch_patiently(slot, &next_reset::body(true), attempts).await,
            _ => self.send(current, &entry.boot(form, image_url), attempts).await,
        }
    }

    /// Sends a change of another resource than the System. Repeats it if the BMC takes no request at the moment or does not answer.
    async fn patch_patiently(&self, path: &str, body: &Value, attempts: &mut Vec<Attempt>) -> Result<(), RedfishError> {
        let mut tries = 1;
        loop {
            let result = self.try_patch(path, body, None, self.limits().change, attempts).await;
            if tries == MAX_TRIES || !result.as_ref().is_err_and(RedfishError::is_unavailable) {
                return result;
            }
            tries += 1;
            tokio::time::sleep(self.limits().pause).await;
        }
    }

    /// Sends a change of `Boot`. Repeats it if the BMC is busy or does not answer, because a second one changes
    /// nothing.
    pub(super) async fn send(
        &self,
        current: &Current,
        boot: &Map<String, Value>,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), RedfishError> {
        // sushy-tools reads the whole image before it answers.
        let limit = if boot.contains_key(http_uri::URI) { self.limits().insert } else { self.limits().change };
        for (mut resource, body) in current.divide(boot) {
            let mut tries = 1;
            loop {
                let etag = resource.etag.as_deref();
                let result = if current.is_staged(resource) {
                    self.try_stage(&resource.path, &body, etag, limit, attempts).await
                } else {
                    self.try_patch(&resource.path, &body, etag, limit, attempts).await
                };
                match result {
                    Ok(()) => break,
                    // With an iDRAC 10, the System's own properties are read-only.
                    Err(error) if error.says("PropertyNotWritable") && resource.path == current.system.path => {
                        match &current.settings {
                            Some(settings) => resource = &settings.resource,
                            None => return Err(error),
                        }
                    }
                    Err(error) if Meaning::of(&error) == Meaning::Unknown && self.shows(resource, &body).await => break,
                    Err(error)
                        if tries < MAX_TRIES && matches!(Meaning::of(&error), Meaning::Busy | Meaning::Unknown) =>
                    {
                        tries += 1;
                        tokio::time::sleep(self.limits().pause).await;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Whether a resource shows the values of a change, although the BMC did not report its end.
    async fn shows(&self, resource: &ReadResource, change: &Value) -> bool {
        let Ok(now) = self.client().get(&resource.path).await else { return false };
        let boot = change.get("Boot").and_then(Value::as_object);
        boot.is_some_and(|boot| {
            boot.iter().all(|(name, value)| {
                let shown = now.body.get("Boot").and_then(|shown| shown.get(name));
                match (shown.and_then(Value::as_str), value.as_str()) {
                    // BMCs may show a word in another case than dayone sends it.
                    (Some(shown), Some(value)) if name != http_uri::URI => shown.eq_ignore_ascii_case(value),
                    _ => shown == Some(value),
                }
            })
        })
    }

    /// Reads the override back. An error if the BMC does not have it.
    async fn verify_override(
        &self,
        plan: &Plan,
        previous: ShownBoot,
        form: &OverrideForm,
        entry: &FirmwareEntry,
        image_url: Option<&str>,
        mut attempts: Vec<Attempt>,
    ) -> Result<BootOverride, BmcError> {
        let verified = match (form, entry.order()) {
            (OverrideForm::NextReset { slot }, _) => self.verify_next_reset(slot, &mut attempts).await?,
            (_, Some(order)) => self.verify_boot_order(order, &mut attempts).await?,
            (OverrideForm::DellAttributes { path, device }, _) => self.verify_first_boot_device(path, device).await?,
            _ => {
                let sent = Sent { form, boot: entry.boot(form, image_url), image_url };
                self.verify_boot(plan, &previous, &sent, &mut attempts).await?
            }
        };
        let Verified { shown, reception, once, notes } = verified;
        Ok(BootOverride {
            system: plan.system.path.clone(),
            previous: previous.source,
            form: form.clone(),
            http_uri: previous.http_uri,
            order: entry.order().cloned(),
            first_device: None,
            shown,
            reception,
            once,
            notes,
            attempts,
        })
    }

    /// Reads the override until the BMC shows it and this mode, or for a short time: some BMCs show a change only a moment later.
    pub(super) async fn read_until_shown(
        &self,
        plan: &Plan,
        sent: &Sent<'_>,
        mode: Option<BootMode>,
    ) -> Result<Current, BmcError> {
        let mut poll = Poll::new(self.limits().poll_interval, self.limits().settle / 6);
        loop {
            let read = self.read_boot(&plan.system.path, plan.system.settings.as_deref()).await;
            let is_there = match &read {
                Ok(Current { boot, .. }) if sent.form.is_http() => {
                    boot.http_uri.as_ref().map(HttpUri::as_str) == sent.image_url
                        && has_override(sent.form, &boot.source)
                        && !boot.source.contradicts(mode)
                }
                Ok(Current { boot, .. }) => is_shown(sent.form, &boot.source) && !boot.source.contradicts(mode),
                Err(error) => !error.may_pass(),
            };
            if is_there || !poll.wait().await {
                return read;
            }
        }
    }
}
