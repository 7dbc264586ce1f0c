//! The record of a boot: all that a restarted server needs to continue the boot, or to restore the BMC.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use imagelib::image::FileName;
use imagelib::recipe::RecipeId;
use serde::{Deserialize, Serialize};
use vocabulary::host::BootMode;
use vocabulary::text_as_serde;

use super::credentials::CredentialsSource;
use super::evidence::Evidence;
use super::id::BootId;
use super::method::BootMethod;
use super::step::{Step, StepRecord};
use super::time::Timestamp;
use redfish::BmcAddress;
use redfish::bmc::{BootOverride, FirmwareNetwork, Medium, Plan};

/// The version of the format.
const VERSION: u32 = 1;

/// The maximum number of remarks. The first and the newest stay.
const REMARKS: usize = 64;

/// Why a file is not a valid record of the boot that its name gives.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    /// The file is not a JSON record. The text gives the position and never the content.
    #[error("it is not a record of a boot: line {line}, column {column}")]
    Json { line: usize, column: usize },
    /// Another version of dayone wrote the record.
    #[error("it has version {0}; this dayone reads version {VERSION}")]
    Version(u32),
    /// The record belongs to another boot.
    #[error("it is the record of the boot {0}")]
    Other(BootId),
}

/// The state of a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BootState {
    /// The boot waits for others to end.
    Queued,
    /// The steps are under way.
    Running,
    /// The host has booted.
    Booted,
    /// The host was switched on, and dayone cannot tell whether it has booted.
    Unknown,
    /// A step failed.
    Failed,
    /// The boot was deleted, and dayone is restoring the BMC.
    Ejecting,
    /// The boot was deleted, and the BMC is restored.
    Ejected,
}

/// A text that is not the state of a boot.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not the state of a boot: queued, running, booted, unknown, failed, ejecting or ejected")]
pub struct NotABootState(String);

text_as_serde!(BootState, NotABootState);

/// When to eject the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum EjectWhen {
    /// When the boot is deleted. A live system reads its medium for as long as it runs.
    #[default]
    #[serde(rename = "when-deleted")]
    Deleted,
    /// As soon as the host has booted, for systems that no longer need their medium then.
    #[serde(rename = "when-booted")]
    Booted,
}

/// A text does not say when to eject the medium.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither when-deleted nor when-booted")]
pub struct NotEjectWhen(String);

text_as_serde!(EjectWhen, NotEjectWhen);

/// The BMC of a boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BmcReference {
    /// Its address.
    pub address: BmcAddress,
    /// Where its credentials come from.
    pub credentials: CredentialsSource,
    /// Whether dayone accepts any certificate.
    pub disable_certificate_verification: bool,
}

/// The options of a boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootOptions {
    /// The signs that show that the host has booted. Any one of them is enough.
    pub wait_for: Vec<Evidence>,
    /// How long the host may take to boot after it is switched on, in seconds.
    pub booted_within: u64,
    /// How long the host gets to shut down before it is switched off, in seconds. With 0, it is switched off at once.
    pub shutdown_within: u64,
    /// When to eject the medium.
    pub eject: EjectWhen,
    /// Whether to switch the host off before ejecting the medium.
    pub power_off: bool,
    /// Whether to boot although Secure Boot is on and the image does not keep it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore_secure_boot: bool,
}

impl BootOptions {
    /// How long the host may take to boot after it is switched on.
    pub fn booted_within(&self) -> Duration {
        Duration::from_secs(self.booted_within)
    }
}

/// What dayone has changed at the BMC, or may have changed. The record contains it before dayone changes anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtBmc {
    /// The requests that dayone planned: the System, the slots and the forms. The plan of a boot by the firmware's settings has their
    /// values from before. All records of a boot share it, because it takes more memory than the rest of them.
    pub plan: Arc<Plan>,
    /// The URL that dayone inserted. `None`: it follows from the installation key, because that was not rotated since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<InsertedUrl>,
    /// The slot that has the image, or may have it. `None` for HTTP boot, and while the image is being inserted: it may be in any planned slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// The slot into which the BMC may still insert the image: it did not show the image in time, and the BMC has not refused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
    /// Whether the BMC has copied the whole image, so that dayone does not see what the host reads.
    #[serde(default)]
    pub copied: bool,
    /// The boot override that dayone has set, with what undoes it.
    #[serde(default, rename = "before", skip_serializing_if = "Option::is_none")]
    pub boot_override: Option<BootOverride>,
    /// The state of the host before the BMC was told to start it. Written before the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Started>,
}

/// The URL of an image that a BMC got. It is a credential, like the key that lies beside the record, so `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsertedUrl(pub(super) String);

impl fmt::Debug for InsertedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InsertedUrl(…)")
    }
}

/// The state of the host right before the BMC was told to start it. Signs from before do not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// Whether the BMC reported the host as off. Some BMCs only switch off and on in one step.
    pub was_off: bool,
    /// Whether the BMC reported a running operating system, although the host was about to start.
    pub os_running: bool,
    /// Since when it reported one then, or before it was switched off, by the BMC's clock and in its format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_running_since: Option<String>,
}

/// A note about something unusual during a boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remark {
    /// The time.
    pub at: Timestamp,
    /// What happened.
    pub text: String,
}

/// The record of a boot on disk. Contains no unencrypted secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootRecord {
    pub(super) version: u32,
    /// The id of the boot.
    pub id: BootId,
    /// The time of the request.
    pub created: Timestamp,
    /// The host's name in the documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The image that the host boots from.
    pub image: RecipeId,
    /// How the host gets the image.
    #[serde(default, skip_serializing_if = "BootMethod::is_default")]
    pub method: BootMethod,
    /// The kind of medium that the BMC or the firmware shows to the host.
    pub medium: Medium,
    /// The boot mode of the firmware, if it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_mode: Option<BootMode>,
    /// The host's BMC.
    pub bmc: BmcReference,
    /// The options.
    pub options: BootOptions,
    /// The static addresses that the host will have.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// A static network for the host's firmware, if the documents have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware_network: Option<FirmwareNetwork>,
    /// The state of the boot.
    pub state: BootState,
    /// All steps, in their order.
    pub(super) steps: Vec<StepRecord>,
    /// What dayone has to undo at the BMC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_bmc: Option<Arc<AtBmc>>,
    /// Notes about what happened.
    #[serde(default)]
    pub remarks: Vec<Remark>,
}

/// A request for a boot.
#[derive(Debug, Clone)]
pub struct NewBoot {
    /// The host's name in the documents.
    pub host: Option<String>,
    /// The image that the host boots from.
    pub image: RecipeId,
    /// How the host gets the image.
    pub method: BootMethod,
    /// The kind of medium.
    pub medium: Medium,
    /// The boot mode of the firmware.
    pub boot_mode: Option<BootMode>,
    /// The address of the BMC.
    pub address: BmcAddress,
    /// Whether dayone accepts any certificate of the BMC.
    pub disable_certificate_verification: bool,
    /// The credentials for the BMC.
    pub credentials: super::credentials::GivenCredentials,
    /// The options.
    pub options: BootOptions,
    /// The static addresses that the host will have.
    pub addresses: Vec<IpAddr>,
    /// A static network for the host's firmware.
    pub firmware_network: Option<FirmwareNetwork>,
}

impl BootRecord {
    /// The record of a new boot, whose image is published.
    pub(super) fn new(id: BootId, new: NewBoot, credentials: CredentialsSource) -> Self {
        let bmc = BmcReference {
            address: new.address,
            credentials,
            disable_certificate_verification: new.disable_certificate_verification,
        };
        Self {
            version: VERSION,
            id,
            created: Timestamp::now(),
            host: new.host,
            image: new.image,
            method: new.method,
            medium: new.medium,
            boot_mode: new.boot_mode,
            bmc,
            options: new.options,
            addresses: new.addresses,
            firmware_network: new.firmware_network,
            state: BootState::Queued,
            steps: Step::ALL.map(StepRecord::waiting).into(),
            at_bmc: None,
            remarks: Vec::new(),
        }
    }

    /// The content of the file: one line of JSON.
    pub(crate) fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut json = serde_json::to_vec(self)?;
        json.push(b'\n');
        Ok(json)
    }

    /// Reads the record of the boot `name`.
    pub(crate) fn from_json(json: &[u8], name: &str) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let place = |error: serde_json::Error| RecordError::Json { line: error.line(), column: error.column() };
        let Version { version } = serde_json::from_slice(json).map_err(place)?;
        if version != VERSION {
            return Err(RecordError::Version(version));
        }
        let mut record: Self = serde_json::from_slice(json).map_err(place)?;
        if record.id.as_str() != name {
            return Err(RecordError::Other(record.id));
        }
        // Whatever the file contains, there is one record for each step, in their order.
        let found = std::mem::take(&mut record.steps);
        let step = |step| found.iter().find(|record| record.step == step).cloned();
        record.steps = Step::ALL.map(|name| step(name).unwrap_or_else(|| StepRecord::waiting(name))).into();
        Ok(record)
    }

    /// Its steps, in their order.
    pub fn steps(&self) -> &[StepRecord] {
        &self.steps
    }

    /// The name of the image's file that the BMC gets.
    pub(super) fn file_name(&self) -> &'static str {
        match self.medium {
            Medium::Cd => FileName::BootIso.as_str(),
            Medium::Usb => FileName::BootDisk.as_str(),
        }
    }

    /// Returns what dayone has to undo at the BMC, to be changed. Other records that share it stay as they are.
    pub(super) fn at_bmc_mut(&mut self) -> Option<&mut AtBmc> {
        self.at_bmc.as_mut().map(Arc::make_mut)
    }

    /// Adds a remark.
    pub(super) fn remark(&mut self, text: impl Into<String>) {
        if self.remarks.len() >= REMARKS {
            self.remarks.remove(REMARKS / 2);
        }
        self.remarks.push(Remark { at: Timestamp::now(), text: text.into() });
    }
}
