//! What is kept of a boot: all that a restarted server needs to go on with it, or to undo it.

use std::net::IpAddr;
use std::time::Duration;

use imagelib::image::FileName;
use imagelib::recipe::RecipeId;
use serde::{Deserialize, Serialize};
use vocabulary::host::BootMode;

use super::credentials::CredentialsSource;
use super::evidence::Evidence;
use super::id::BootId;
use super::step::{Step, StepRecord};
use super::time::Timestamp;
use redfish::BmcAddress;
use redfish::bmc::{BootOverride, Medium, Plan};

/// The form of records that this version writes and reads.
const VERSION: u32 = 1;

/// Remarks that are kept of a boot; of more, the first and the newest.
const REMARKS: usize = 64;

/// Why a file is not the record of the boot that its name says.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    /// Not JSON, or not of a record. Says where, and never what.
    #[error("it is not a record of a boot: line {line}, column {column}")]
    Json { line: usize, column: usize },
    /// Written by another version of dayone.
    #[error("it has version {0}; this dayone reads version {VERSION}")]
    Version(u32),
    /// Under another name than its own.
    #[error("it is the record of the boot {0}")]
    Other(BootId),
}

/// How far a boot has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootState {
    /// It waits for others to end.
    Queued,
    /// Its steps are taken.
    Running,
    /// The host has booted.
    Booted,
    /// The host was switched on, and nothing that the boot waits for can be seen: whether it has booted is not known.
    Unknown,
    /// A step failed.
    Failed,
    /// It was deleted, and is being undone.
    Ejecting,
    /// It was deleted, and the BMC is as it was.
    Ejected,
}

impl BootState {
    /// Its name, as the API and records have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Booted => "booted",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
            Self::Ejecting => "ejecting",
            Self::Ejected => "ejected",
        }
    }
}

/// When the medium is taken out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum EjectWhen {
    /// When the boot is deleted. A live system reads its medium for as long as it runs.
    #[default]
    #[serde(rename = "when-deleted")]
    Deleted,
    /// As soon as the host has booted: for systems that have all they need in memory or on a disk by then.
    #[serde(rename = "when-booted")]
    Booted,
}

/// The BMC of a boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BmcReference {
    /// Where it is.
    pub address: BmcAddress,
    /// Where what logs in there comes from.
    pub credentials: CredentialsSource,
    /// Whether whoever answers there is taken for it.
    pub disable_certificate_verification: bool,
}

/// What a client may choose about a boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootOptions {
    /// What shows that the host has booted, any of it.
    pub wait_for: Vec<Evidence>,
    /// How long after power-on that may take, in seconds.
    pub booted_within: u64,
    /// How long the host gets to shut down of itself before it is switched off, in seconds; at 0 it is switched off at once.
    pub shutdown_within: u64,
    /// When the medium is taken out again.
    pub eject: EjectWhen,
    /// Whether the host is switched off before the medium is taken out.
    pub power_off: bool,
}

impl BootOptions {
    /// How long after power-on the host may take to boot.
    pub fn booted_within(&self) -> Duration {
        Duration::from_secs(self.booted_within)
    }
}

/// What a boot has changed at the BMC, or may have changed: written down before it is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtBmc {
    /// Which System, which slot, and how.
    pub plan: Plan,
    /// The slot that has the image, or may have it. While it is being inserted, that may be any of the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// Whether the BMC has read the whole image by itself, so that the host's reading is not seen.
    #[serde(default)]
    pub copied: bool,
    /// What the boot override was before, if it was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BootOverride>,
    /// That the BMC was told to start the host, or is about to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Started>,
}

/// What was seen of the host right before the BMC was told to start it. Signs that were there already show nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// Whether the BMC said that the host was off. Some switch it off and on in one step.
    pub was_off: bool,
    /// Whether the BMC said that an operating system ran, although the host was about to start.
    pub os_running: bool,
    /// Since when, by the BMC's clock and in its format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_running_since: Option<String>,
}

/// Something that happened, for whoever asks later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remark {
    /// When.
    pub at: Timestamp,
    /// What.
    pub text: String,
}

/// A boot, as it is written to the disk. Holds no secret in the clear.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootRecord {
    pub(super) version: u32,
    /// Its name.
    pub id: BootId,
    /// When it was asked for.
    pub created: Timestamp,
    /// What the documents call the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What the host boots from.
    pub image: RecipeId,
    /// As what the BMC shows it to the host.
    pub medium: Medium,
    /// How the host's firmware shall boot, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_mode: Option<BootMode>,
    /// The host's BMC.
    pub bmc: BmcReference,
    /// What the client chose.
    pub options: BootOptions,
    /// The static addresses that the host will have.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// How far it has come.
    pub state: BootState,
    /// Its steps, all of them, in their order.
    pub(super) steps: Vec<StepRecord>,
    /// What is to be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_bmc: Option<AtBmc>,
    /// What happened on the way.
    #[serde(default)]
    pub remarks: Vec<Remark>,
}

/// What a boot is made of.
#[derive(Debug, Clone)]
pub struct NewBoot {
    /// What the documents call the host.
    pub host: Option<String>,
    /// What it boots from.
    pub image: RecipeId,
    /// As what.
    pub medium: Medium,
    /// How its firmware shall boot.
    pub boot_mode: Option<BootMode>,
    /// Its BMC.
    pub address: BmcAddress,
    /// Whether whoever answers at the address is taken for the BMC.
    pub disable_certificate_verification: bool,
    /// What logs in there.
    pub credentials: super::credentials::GivenCredentials,
    /// What the client chose.
    pub options: BootOptions,
    /// The static addresses that the host will have.
    pub addresses: Vec<IpAddr>,
}

impl BootRecord {
    /// The record of a boot that is asked for now, and whose image is there.
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
            medium: new.medium,
            boot_mode: new.boot_mode,
            bmc,
            options: new.options,
            addresses: new.addresses,
            state: BootState::Queued,
            steps: Step::ALL.map(StepRecord::waiting).into(),
            at_bmc: None,
            remarks: Vec::new(),
        }
    }

    /// The record as it is written: JSON, one line.
    pub(super) fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut json = serde_json::to_vec(self)?;
        json.push(b'\n');
        Ok(json)
    }

    /// Reads the record of the boot `name`.
    pub(super) fn from_json(json: &[u8], name: &str) -> Result<Self, RecordError> {
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
        // Whatever was written: there is one record of each step, in their order.
        let found = std::mem::take(&mut record.steps);
        let step = |step| found.iter().find(|record| record.step == step).cloned();
        record.steps = Step::ALL.map(|name| step(name).unwrap_or_else(|| StepRecord::waiting(name))).into();
        Ok(record)
    }

    /// Its steps, in their order.
    pub fn steps(&self) -> &[StepRecord] {
        &self.steps
    }

    /// The file of the image that the BMC gets.
    pub(super) fn file_name(&self) -> &'static str {
        match self.medium {
            Medium::Cd => FileName::BootIso.as_str(),
            Medium::Usb => FileName::BootDisk.as_str(),
        }
    }

    /// Notes what happened.
    pub(super) fn remark(&mut self, text: impl Into<String>) {
        if self.remarks.len() >= REMARKS {
            self.remarks.remove(REMARKS / 2);
        }
        self.remarks.push(Remark { at: Timestamp::now(), text: text.into() });
    }
}
