//! Restores the boot override from before.

use serde_json::{Map, Value, json};

use super::Bmc;
use super::attempt::Meaning;
use super::boot_override::{ENABLED, MODE, OverrideForm, TARGET};
use super::current::Current;
use super::error::BmcError;
use super::http_uri::{self, HttpUri};
use super::next_reset;
use super::properties::Properties;
use super::set_override::{BootOverride, Reception};
use super::state::BootSource;
use super::survey::settings_path;

/// Whether an override has ended by itself.
fn is_over(now: &BootSource) -> bool {
    now.is("Disabled")
}

/// Whether the BMC shows the override that was set. Some BMCs show another target than the one that was sent, or write it in other letters.
fn is_ours(set: &BootOverride, now: &BootSource) -> bool {
    // A BMC that did not show the override then showed the one from before.
    let shown = set.shown.target.as_deref().filter(|_| set.shown != set.previous);
    [set.form.target(), shown].into_iter().flatten().any(|ours| now.has_target(ours))
}

/// Whether the BMC may still show an override that it accepted. So the earlier values are sent even if it shows them, unless somebody
/// else has set others since.
fn may_come(set: &BootOverride, now: &BootSource) -> bool {
    let is_theirs = !is_over(now) && !is_ours(set, now) && *now != set.previous;
    set.reception == Reception::Accepted && !is_theirs
}

/// The changes of `Boot` that bring an earlier override back, in the order in which they are tried.
fn earlier(now: &BootSource, before: &BootSource) -> Vec<Map<String, Value>> {
    let enabled = before.enabled.as_deref().unwrap_or("Disabled");
    let target = before.target.as_deref().unwrap_or("None");
    let full = Map::from_iter([(ENABLED.to_owned(), json!(enabled)), (TARGET.to_owned(), json!(target))]);
    // Some BMCs demand a mode. They get the current one.
    let mut with_mode = full.clone();
    with_mode.extend(now.mode.as_ref().map(|mode| (MODE.to_owned(), json!(mode))));
    let only = |property: &str, value: &str| Map::from_iter([(property.to_owned(), json!(value))]);
    vec![full, with_mode, only(ENABLED, enabled), only(TARGET, target)]
}

impl Bmc {
    /// Restores the override that was set before [`boot_once`](Self::boot_once), and returns whether that was
    /// necessary.
    ///
    /// Does nothing if the override has ended by itself, or if somebody has set another since. A boot mode that the
    /// caller asked for stays, because a system that was installed in this mode would not start in another.
    pub async fn restore(&self, set: &BootOverride) -> Result<bool, BmcError> {
        // It may have been changed by an earlier form than the one that the BMC has now.
        let order = match &set.order {
            Some(order) => self.restore_boot_order(order).await,
            None => Ok(false),
        };
        // If one of them fails, the other is restored all the same.
        let form = self.restore_form(set).await;
        let (order, form) = (order?, form?);
        Ok(order || form)
    }

    async fn restore_form(&self, set: &BootOverride) -> Result<bool, BmcError> {
        match &set.form {
            OverrideForm::DellAttributes { path, device } => {
                return self.restore_first_device(path, device, set.first_device.as_ref()).await;
            }
            OverrideForm::NextReset { slot } => return self.restore_next_reset(slot).await,
            OverrideForm::BootOrder { .. } => return Ok(false),
            OverrideForm::System { .. } | OverrideForm::Http { .. } | OverrideForm::BootOption { .. } => {}
        }
        let current = self.read_boot(&set.system, self.settings_of(&set.system).await?.as_deref()).await?;
        let now = &current.boot.source;
        if may_come(set, now) {
            let is_sent = self.send_first(&current, earlier(now, &set.previous)).await?;
            return Ok(is_sent && *now != set.previous);
        }
        if is_over(now) || !is_ours(set, now) || *now == set.previous {
            return Ok(false);
        }
        self.send_first(&current, earlier(now, &set.previous)).await
    }

    /// Describes an override that [`restore`](Self::restore) leaves, because it is neither the one that was set nor the one from before.
    pub async fn other_override(&self, set: &BootOverride) -> Result<Option<String>, BmcError> {
        if set.form.target().is_none() {
            return Ok(None);
        }
        let current = self.read_boot(&set.system, self.settings_of(&set.system).await?.as_deref()).await?;
        let now = current.boot.source;
        if is_over(&now) || is_ours(set, &now) || now == set.previous {
            return Ok(None);
        }
        let BootSource { enabled, target, .. } = now;
        self.masked(Ok(target.map(|target| format!("{target}, {}", enabled.as_deref().unwrap_or("enabled")))))
    }

    /// Restores the override and the URL that were set before [`boot_http_once`](Self::boot_http_once) set this URL, and returns
    /// whether that was necessary. Leaves what somebody has set since.
    pub async fn restore_http(&self, set: &BootOverride, image_url: &str) -> Result<bool, BmcError> {
        let current = self.read_boot(&set.system, self.settings_of(&set.system).await?.as_deref()).await?;
        let now = &current.boot.source;
        let has_uri = current.boot.http_uri.as_ref().is_some_and(|uri| uri.as_str() == image_url);
        let is_ours = has_uri || is_ours(set, now);
        let may_come = may_come(set, now);
        let is_set = (is_ours && !is_over(now) && *now != set.previous) || may_come;
        let before = set.http_uri.as_ref().map(HttpUri::as_str);
        let mut forms = Vec::new();
        if is_set {
            let earlier = earlier(now, &set.previous);
            let with_uri =
                earlier.iter().filter(|_| has_uri || may_come).map(|boot| http_uri::with_uri(boot.clone(), before));
            forms.extend(with_uri.collect::<Vec<_>>());
            forms.extend(earlier);
        }
        let mut changed = false;
        if !forms.is_empty() {
            changed = self.send_first(&current, forms).await? && *now != set.previous;
        }
        if has_uri && !self.forget_uri(set, image_url, before).await? {
            tracing::debug!("the BMC keeps the URL of HTTP boot, which is not used without the boot override");
        }
        Ok(changed || has_uri)
    }

    /// Replaces the URL that is left by the one from before, and returns whether the BMC shows another one then. Some BMCs refuse null.
    async fn forget_uri(&self, set: &BootOverride, image_url: &str, before: Option<&str>) -> Result<bool, BmcError> {
        for uri in [before, Some(before.unwrap_or_default())] {
            let current = self.read_boot(&set.system, self.settings_of(&set.system).await?.as_deref()).await?;
            if current.boot.http_uri.as_ref().is_none_or(|uri| uri.as_str() != image_url) {
                return Ok(true);
            }
            match self.send(&current, &http_uri::with_uri(Map::new(), uri), &mut Vec::new()).await {
                Err(error) if Meaning::of(&error) == Meaning::Final => return Err(error.into()),
                _ => {}
            }
        }
        Ok(false)
    }

    /// Sends the first of these changes that the BMC accepts.
    async fn send_first(&self, current: &Current, forms: Vec<Map<String, Value>>) -> Result<bool, BmcError> {
        let mut attempts = Vec::new();
        let mut last = None;
        for boot in forms {
            match self.send(current, &boot, &mut attempts).await {
                Ok(()) => return Ok(true),
                Err(error) if Meaning::of(&error) == Meaning::Final => return Err(error.into()),
                Err(error) => last = Some(error),
            }
        }
        Err(last.map_or(BmcError::BootRefused { attempts }, Into::into))
    }

    /// Whether the host has started since the override was set, and has used it up: the BMC showed it, and no longer does. False if
    /// the BMC never showed it, because then it shows nothing else after a start than before.
    pub async fn is_used_up(&self, set: &BootOverride) -> Result<bool, BmcError> {
        if !set.once || set.reception != Reception::Shown {
            return Ok(false);
        }
        match &set.form {
            OverrideForm::NextReset { slot } => {
                Ok(next_reset::read(&self.client().get(slot).await?.body) == Some(false))
            }
            // The standard override, which dayone did not set there, says nothing about them.
            OverrideForm::DellAttributes { path, device } => {
                Ok(self.first_boot_device(path).await?.device.is_some_and(|now| now != *device))
            }
            OverrideForm::BootOrder { .. } => Ok(false),
            OverrideForm::System { .. } | OverrideForm::Http { .. } | OverrideForm::BootOption { .. } => {
                if is_over(&set.shown) {
                    return Ok(false);
                }
                let current = self.read_boot(&set.system, self.settings_of(&set.system).await?.as_deref()).await?;
                Ok(is_over(&current.boot.source))
            }
        }
    }

    /// Takes the property of a slot back, unless a reset has used it up.
    async fn restore_next_reset(&self, slot: &str) -> Result<bool, BmcError> {
        if next_reset::read(&self.client().get(slot).await?.body) != Some(true) {
            return Ok(false);
        }
        self.client().update(slot, &next_reset::body(false), None, self.limits().change).await?;
        Ok(true)
    }

    async fn settings_of(&self, system: &str) -> Result<Option<String>, BmcError> {
        Ok(settings_path(Properties::new(&self.client().get(system).await?.body)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(enabled: &str, target: &str) -> BootSource {
        BootSource { enabled: Some(enabled.to_owned()), target: Some(target.to_owned()), mode: None }
    }

    fn set(previous: BootSource, shown: BootSource) -> BootOverride {
        BootOverride {
            system: "/redfish/v1/Systems/1".to_owned(),
            previous,
            form: OverrideForm::System { target: "Cd".to_owned(), enabled: Some("Continuous".to_owned()), mode: None },
            http_uri: None,
            order: None,
            first_device: None,
            shown,
            reception: Reception::Accepted,
            once: false,
            notes: Vec::new(),
            attempts: Vec::new(),
        }
    }

    #[test]
    fn an_override_is_recognised_by_what_was_sent_and_by_what_was_shown() {
        let set_as = |target: &str| set(source("Disabled", "None"), source("Continuous", target));
        for (shown, now, expected) in [
            ("Cd", "Cd", true),
            ("Cd", "CD", true),
            ("UsbCd", "UsbCd", true),
            ("UsbCd", "Pxe", false),
            ("Cd", "UsbCd", false),
        ] {
            let set = set_as(shown);
            assert_eq!(is_ours(&set, &source("Continuous", now)), expected, "{shown} {now}");
            assert_eq!(may_come(&set, &source("Continuous", now)), expected, "{shown} {now}");
        }
        // The BMC showed the override from before.
        let set = set(source("Continuous", "Hdd"), source("Continuous", "Hdd"));
        assert!(!is_ours(&set, &source("Once", "Hdd")));
    }
}
