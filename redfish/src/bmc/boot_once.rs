//! Sets the boot override, and restores the previous one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Bmc;
use super::attempt::{self, Attempt, Meaning};
use super::boot_override::{self, ENABLED, MODE, OverrideForm, TARGET};
use super::error::BmcError;
use super::limits::MAX_TRIES;
use super::plan::Plan;
use super::properties::Properties;
use super::state::{Boot, BootMode, BootSource};
use super::survey::settings_path;
use crate::{RedfishError, Resource};

/// Maximum number of requests: a BMC that refuses so many refuses all of them.
const MAX_ATTEMPTS: usize = 12;

/// A boot override that was set, with what [`Bmc::restore`] needs to undo it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootOverride {
    /// The System's path.
    pub system: String,
    /// The previous override.
    pub before: BootSource,
    /// The form that the BMC accepted.
    pub form: OverrideForm,
    /// The override that the BMC shows now. Empty for [`OverrideForm::DellAttributes`].
    pub shown: BootSource,
    /// Whether the override ends after one boot. If not, the host boots from the medium until the previous override is
    /// restored.
    pub once: bool,
    /// Sentences about anything unusual.
    pub notes: Vec<String>,
    /// Every request that was sent, including those that the BMC refused.
    pub attempts: Vec<Attempt>,
}

/// A System and its settings resource, as they were just read.
struct Current {
    system: Resource,
    settings: Option<Resource>,
    boot: Boot,
}

impl Current {
    /// Divides a change of `Boot` between the two resources: a property that the settings resource has is changed
    /// there.
    fn divide(&self, boot: &Map<String, Value>) -> Vec<(&Resource, Value)> {
        let pending = self.settings.as_ref().and_then(|settings| settings.body.get("Boot")).and_then(Value::as_object);
        let (waiting, direct): (Map<_, _>, Map<_, _>) = boot
            .clone()
            .into_iter()
            .partition(|(property, _)| pending.is_some_and(|pending| pending.contains_key(property)));
        let mut parts = Vec::new();
        parts.extend(self.settings.as_ref().filter(|_| !waiting.is_empty()).map(|to| (to, json!({"Boot": waiting}))));
        if !direct.is_empty() {
            parts.push((&self.system, json!({"Boot": direct})));
        }
        parts
    }
}

impl Bmc {
    /// Makes the host boot from the plan's medium at its next start.
    ///
    /// If the BMC does not accept that for a single boot, the override stays until [`restore`](Self::restore);
    /// [`BootOverride::once`] is then false.
    pub async fn boot_once(&self, plan: &Plan) -> Result<BootOverride, BmcError> {
        self.masked(self.set_boot(plan).await)
    }

    async fn set_boot(&self, plan: &Plan) -> Result<BootOverride, BmcError> {
        let path = &plan.system.path;
        let current = self.read_boot(path, plan.system.settings.as_deref()).await?;
        let before = current.boot.source.clone();
        let mut attempts = Vec::new();
        let mut forms = plan.boot.iter().collect::<Vec<_>>();
        while let Some(form) = (!forms.is_empty() && attempts.len() < MAX_ATTEMPTS).then(|| forms.remove(0)) {
            match self.set(&current, form, &mut attempts).await {
                Ok(()) => return self.verify_override(plan, before, form.clone(), attempts).await,
                Err(error) => match Meaning::of(&error) {
                    Meaning::Final => return Err(error.into()),
                    Meaning::Unknown => {
                        let now = self.read_boot(path, plan.system.settings.as_deref()).await?.boot.source;
                        if matches!(form, OverrideForm::System { target, .. } if now.target.as_ref() == Some(target)) {
                            return self.verify_override(plan, before, form.clone(), attempts).await;
                        }
                    }
                    _ => {
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

    /// Restores the override that was set before [`boot_once`](Self::boot_once), and returns whether that was
    /// necessary.
    ///
    /// Does nothing if the override has ended by itself, or if somebody has set another since. A boot mode that the
    /// caller asked for stays, because a system that was installed in this mode would not start in another.
    pub async fn restore(&self, set: &BootOverride) -> Result<bool, BmcError> {
        let target = match &set.form {
            OverrideForm::System { target, .. } => target,
            OverrideForm::DellAttributes { path, device } => return self.restore_attributes(path, device).await,
        };
        let mut attempts = Vec::new();
        let current = self.read_boot(&set.system, self.settings_of(&set.system).await?.as_deref()).await?;
        let now = &current.boot.source;
        if now.enabled.as_deref() == Some("Disabled") || now.target.as_ref() != Some(target) || *now == set.before {
            return Ok(false);
        }
        let enabled = set.before.enabled.as_deref().unwrap_or("Disabled");
        let target = set.before.target.as_deref().unwrap_or("None");
        let full = Map::from_iter([(ENABLED.to_owned(), json!(enabled)), (TARGET.to_owned(), json!(target))]);
        // Some BMCs demand a mode. They get the current one.
        let mut with_mode = full.clone();
        with_mode.extend(now.mode.as_ref().map(|mode| (MODE.to_owned(), json!(mode))));
        let only = |property: &str, value: &str| Map::from_iter([(property.to_owned(), json!(value))]);
        let mut last = None;
        for boot in [full, with_mode, only(ENABLED, enabled), only(TARGET, target)] {
            match self.send(&current, &boot, &mut attempts).await {
                Ok(()) => return Ok(true),
                Err(error) if Meaning::of(&error) == Meaning::Final => return Err(error.into()),
                Err(error) => last = Some(error),
            }
        }
        Err(last.map_or(BmcError::BootRefused { attempts }, Into::into))
    }

    /// Sets an iDRAC's attributes for the next boot to their defaults, unless somebody has changed them since. Their
    /// previous values are not restored, because they were for a single boot, too.
    async fn restore_attributes(&self, path: &str, device: &str) -> Result<bool, BmcError> {
        let attributes = self.client().get(path).await?.body;
        let now = attributes.get("Attributes").and_then(|attributes| attributes.get(boot_override::DEVICE));
        if now.and_then(Value::as_str) != Some(device) {
            return Ok(false);
        }
        let body = boot_override::dell_attributes("Disabled", "Normal");
        self.client().update(path, &body, None, self.limits().change).await?;
        Ok(true)
    }

    async fn set(
        &self,
        current: &Current,
        form: &OverrideForm,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), RedfishError> {
        match form {
            OverrideForm::System { .. } => self.send(current, &form.boot(), attempts).await,
            OverrideForm::DellAttributes { path, device } => {
                let body = boot_override::dell_attributes("Enabled", device);
                self.try_patch(path, &body, None, self.limits().change, attempts).await
            }
        }
    }

    /// Sends a change of `Boot`. Repeats it if the BMC is busy or does not answer, because a second one changes
    /// nothing.
    async fn send(
        &self,
        current: &Current,
        boot: &Map<String, Value>,
        attempts: &mut Vec<Attempt>,
    ) -> Result<(), RedfishError> {
        for (resource, body) in current.divide(boot) {
            let mut tries = 1;
            loop {
                let etag = resource.etag.as_deref();
                let result = self.try_patch(&resource.path, &body, etag, self.limits().change, attempts).await;
                match result {
                    Ok(()) => break,
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

    /// Reads the override back. If the BMC changed the mode together with the target, sets the previous mode again,
    /// unless the caller asked for a mode.
    async fn verify_override(
        &self,
        plan: &Plan,
        before: BootSource,
        form: OverrideForm,
        mut attempts: Vec<Attempt>,
    ) -> Result<BootOverride, BmcError> {
        let path = &plan.system.path;
        let mut notes = Vec::new();
        let mut once = form.is_once();
        let mut shown = BootSource::default();
        if let OverrideForm::System { target, mode, .. } = &form {
            let current = self.read_boot(path, plan.system.settings.as_deref()).await?;
            shown = current.boot.source.clone();
            if shown.target.as_ref() != Some(target) {
                let is = shown.target.as_deref().unwrap_or("nothing");
                notes.push(format!("the BMC accepted the boot target {target}, but shows {is}"));
            }
            if once && shown.enabled.as_deref() == Some("Continuous") {
                once = false;
            }
            if !once {
                notes.push(
                    "the boot override is for every boot until it is undone, because the BMC accepts none for \
                            a single boot"
                        .to_owned(),
                );
            }
            let was = BootMode::read(before.mode.as_deref());
            if let (Some(was), None, Some(is)) = (was, mode, BootMode::read(shown.mode.as_deref()))
                && was != is
            {
                notes.push(format!(
                    "the BMC changed the mode from {was} to {is} together with the boot target; {was} was set again"
                ));
                let again = Map::from_iter([(MODE.to_owned(), json!(was.as_str()))]);
                self.send(&current, &again, &mut attempts).await?;
            }
        }
        Ok(BootOverride { system: path.clone(), before, form, shown, once, notes, attempts })
    }

    async fn settings_of(&self, system: &str) -> Result<Option<String>, BmcError> {
        Ok(settings_path(Properties::new(&self.client().get(system).await?.body)))
    }

    /// Reads the override. The values in the settings resource take precedence, because they apply to the next boot.
    async fn read_boot(&self, path: &str, settings: Option<&str>) -> Result<Current, BmcError> {
        let system = self.client().get(path).await?;
        let mut boot = Boot::read(Properties::new(&system.body));
        let settings = match settings {
            Some(settings) => match self.client().get(settings).await {
                Ok(settings) => Some(settings),
                // Some BMCs have the resource only while settings wait for the next boot.
                Err(error) if error.status().is_some_and(|status| status.is_client_error()) => None,
                Err(error) => return Err(error.into()),
            },
            None => None,
        };
        if let Some(settings) = &settings {
            let BootSource { enabled, target, mode } = Boot::read(Properties::new(&settings.body)).source;
            boot.source.enabled = enabled.or(boot.source.enabled);
            boot.source.target = target.or(boot.source.target);
            boot.source.mode = mode.or(boot.source.mode);
        }
        Ok(Current { system, settings, boot })
    }
}
