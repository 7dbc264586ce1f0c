//! Reads the settings of a firmware: as they are, and as they will be at the host's next start.

use serde_json::{Map, Value, json};

use super::error::FirmwareError;
use super::jobs::Job;
use super::settings::{Change, FirmwareSettings};
use crate::RedfishError;
use crate::bmc::Bmc;
use crate::bmc::error::BmcError;
use crate::bmc::properties::{Properties, clean};
use crate::bmc::survey::{Survey, settings_path};
use crate::bmc::vendor::Vendor;

/// The places of a firmware's settings.
pub(super) struct Firmware {
    /// Without changes.
    pub(super) settings: FirmwareSettings,
    /// The name of the registry that describes the attributes.
    pub(super) registry: Option<String>,
}

/// The settings, as they were just read.
pub(super) struct Present {
    current: Map<String, Value>,
    staged: Map<String, Value>,
    pub(super) job: Option<Job>,
}

impl Present {
    /// The value at the host's next start.
    pub(super) fn effective(&self, attribute: &str) -> Option<&Value> {
        self.staged.get(attribute).or_else(|| self.current.get(attribute))
    }

    /// All values at the host's next start.
    pub(super) fn effective_all(&self) -> Map<String, Value> {
        let mut all = self.current.clone();
        all.extend(self.staged.clone());
        all
    }

    /// The value that the firmware has now.
    pub(super) fn current(&self, attribute: &str) -> Option<&Value> {
        self.current.get(attribute)
    }

    /// Whether the firmware has the new value.
    pub(super) fn is_applied(&self, change: &Change, image_url: &str) -> bool {
        self.current(&change.attribute) == Some(&change.set.with(image_url))
    }

    /// Whether the firmware has, or will have, the new value.
    pub(super) fn is_staged(&self, change: &Change, image_url: &str) -> bool {
        self.effective(&change.attribute) == Some(&change.set.with(image_url))
    }

    /// Whether the new value waits for the host's next start.
    pub(super) fn waits(&self, change: &Change, image_url: &str) -> bool {
        self.staged.get(&change.attribute) == Some(&change.set.with(image_url))
    }

    /// Refuses changes of somebody else that an iDRAC would not let dayone add to, or would carry out together with dayone's.
    pub(super) fn refuse_waiting(&self, settings: &FirmwareSettings) -> Result<(), FirmwareError> {
        if settings.jobs.is_none() {
            return Ok(());
        }
        if let Some(job) = &self.job {
            return Err(FirmwareError::Waiting(job.path.clone()));
        }
        let mut waiting = self.staged.iter().filter(|(name, value)| self.current.get(*name) != Some(value));
        waiting.next().map_or(Ok(()), |(name, _)| Err(FirmwareError::Waiting(clean(name))))
    }
}

impl Bmc {
    /// Finds the places of the firmware's settings.
    pub(super) async fn firmware(&self, survey: &Survey, bios: &str) -> Result<Firmware, BmcError> {
        let body = self.client().get(bios).await?.body;
        let resource = Properties::new(&body);
        let staged = settings_path(resource).unwrap_or_else(|| format!("{}/Settings", bios.trim_end_matches('/')));
        let jobs = match survey.vendor {
            Vendor::Dell => {
                survey.managers.first().map(|manager| format!("{}/Oem/Dell/Jobs", manager.path.trim_end_matches('/')))
            }
            _ => None,
        };
        let settings = FirmwareSettings { bios: bios.to_owned(), staged, jobs, changes: Vec::new() };
        Ok(Firmware { settings, registry: resource.text("AttributeRegistry") })
    }

    /// Reads the settings.
    pub(super) async fn present(&self, settings: &FirmwareSettings) -> Result<Present, BmcError> {
        let current = attributes(&self.client().get(&settings.bios).await?.body);
        let staged = match self.client().get(&settings.staged).await {
            Ok(staged) => attributes(&staged.body),
            // Some BMCs have the resource only while settings wait for the next start.
            Err(error) if error.status().is_some_and(|status| status.as_u16() == 404) => Map::new(),
            Err(error) => return Err(error.into()),
        };
        let job = match &settings.jobs {
            Some(jobs) => self.open_job(jobs).await?,
            None => None,
        };
        Ok(Present { current, staged, job })
    }

    /// The registry that describes the attributes. `None` with a note if the BMC does not give it: the BMC itself checks what it is sent.
    pub(super) async fn attribute_registry(
        &self,
        bios: &str,
        name: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<Option<Value>, BmcError> {
        let registries = Properties::new(&self.client().root()).link("Registries");
        let registries = registries.unwrap_or_else(|| "/redfish/v1/Registries".to_owned());
        let file = name.map(|name| format!("{}/{name}", registries.trim_end_matches('/')));
        let mut last = None;
        let mut paths = Vec::new();
        if let Some(file) = file {
            match self.client().get(&file).await {
                Ok(file) => {
                    paths.extend(Properties::new(&file.body).objects("Location").filter_map(|it| it.path("Uri")));
                }
                Err(error) => last = Some(error),
            }
        }
        // Where an iDRAC has it.
        paths.push(format!("{}/BiosRegistry", bios.trim_end_matches('/')));
        for path in paths {
            match self.client().get(&path).await {
                Ok(registry) if registry.body.get("RegistryEntries").is_some() => return Ok(Some(registry.body)),
                Ok(_) => {}
                Err(error) if is_final(&error) => return Err(error.into()),
                Err(error) => last = Some(error),
            }
        }
        let why = last.map(|error| format!(": {error}")).unwrap_or_default();
        notes.push(format!("the BMC does not show which of the firmware's settings can be changed{why}"));
        Ok(None)
    }
}

/// Whether no other request would succeed either.
fn is_final(error: &RedfishError) -> bool {
    let is_unreadable = matches!(
        error,
        RedfishError::TooLarge { .. } | RedfishError::TooManyValues { .. } | RedfishError::NotJson { .. }
    );
    error.status().is_none() && !is_unreadable
}

fn attributes(body: &Value) -> Map<String, Value> {
    let attributes = body.get("Attributes").cloned().unwrap_or_else(|| json!({}));
    if let Value::Object(attributes) = attributes { attributes } else { Map::new() }
}
