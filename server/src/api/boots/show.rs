//! Boots as the API shows them.

use std::net::IpAddr;

use serde::{Serialize, Serializer};
use utoipa::ToSchema;
use vocabulary::host::BootMode;

use crate::api::timestamp::rfc3339_millis;
use crate::boots::{BootMethod, BootRecord, BootState, EjectWhen, Evidence, Remark, Step, StepRecord, StepState, View};
use redfish::bmc::{FirmwareSettings, Medium};

/// A boot: it brings a host from an image to a running system, through the host's BMC.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Boot)]
pub(super) struct BootBody {
    /// The boot's id.
    #[schema(example = "06gq1k2m5v8t3n4p")]
    id: String,
    /// The host's name in the documents.
    host: Option<String>,
    /// `queued`, `running`, `booted`, `unknown` (dayone cannot tell whether the host has booted), `failed`, `ejecting` or
    /// `ejected`.
    #[schema(value_type = String, example = "running")]
    state: BootState,
    /// Whether the boot has ended: dayone does nothing more, and the BMC is free for another boot.
    ended: bool,
    /// Whether the medium is inserted or may be inserted; for `http`, whether the BMC has or may have the URL.
    inserted: bool,
    /// The time of the request (RFC 3339).
    #[schema(example = "2026-02-28T23:59:59.123Z", format = DateTime)]
    created: String,
    /// The id of the image.
    image: String,
    /// How the host gets the image: `virtual-media` or `http`.
    #[schema(value_type = String, example = "virtual-media")]
    method: BootMethod,
    /// How the host sees the image: `cd` or `usb`.
    #[schema(value_type = String, example = "cd")]
    medium: Medium,
    /// The boot mode in the documents: `UEFI`, `UEFISecureBoot` or `legacy`.
    #[schema(value_type = Option<String>)]
    boot_mode: Option<BootMode>,
    /// The host's BMC.
    bmc: BmcBody,
    /// The signs that the host has booted; any one of them is enough.
    #[schema(value_type = Vec<String>, example = json!(["call-home"]))]
    wait_for: Vec<Evidence>,
    /// How long the host may take to boot after dayone has switched it on, in seconds.
    booted_within: u64,
    /// How long the host may take to shut down before dayone switches it off, in seconds.
    shutdown_within: u64,
    /// When to eject the medium: `when-deleted` or `when-booted`.
    #[schema(value_type = String)]
    eject: EjectWhen,
    /// Whether to switch the host off before ejecting the medium.
    power_off: bool,
    /// The static addresses that the host will have.
    #[schema(value_type = Vec<String>)]
    addresses: Vec<IpAddr>,
    /// The settings of the host's firmware that dayone has changed, or may have changed, with their values from before. Absent if there
    /// are none, or if dayone has restored them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    firmware_settings: Vec<FirmwareSettingBody>,
    /// The progress of the running step, as text.
    progress: Option<String>,
    /// The steps, in order.
    steps: Vec<StepBody>,
    /// Remarks about the boot, as text: requests that the BMC refused, anything unusual, restarts.
    remarks: Vec<RemarkBody>,
    /// A number that increases with every change.
    revision: u64,
}

/// The BMC of a boot.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BootBmc)]
struct BmcBody {
    /// The address, as given.
    address: String,
    /// The source of the credentials: `named NAME`, `environment`, `documents` or `none`.
    #[schema(example = "named worker-0-bmc")]
    credentials: String,
    /// Whether dayone skips the verification of the BMC's certificate.
    disable_certificate_verification: bool,
}

/// A setting of a host's firmware.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BootFirmwareSetting)]
struct FirmwareSettingBody {
    /// The BMC's name of the setting.
    #[schema(example = "HttpDev1EnDis")]
    attribute: String,
    /// The value before the boot. Secrets in URLs are masked.
    #[schema(example = "Disabled")]
    before: String,
}

/// A step of a boot.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BootStep)]
struct StepBody {
    /// `image`, `insert`, `boot-override`, `power`, `reading`, `booted` or `ejected`.
    #[schema(value_type = String, example = "insert")]
    step: Step,
    /// `waiting`, `running`, `done`, `failed`, `skipped` or `unknown`.
    #[schema(value_type = String, example = "done")]
    state: StepState,
    /// When the step began (RFC 3339).
    #[schema(format = DateTime)]
    started: Option<String>,
    /// When the step ended (RFC 3339).
    #[schema(format = DateTime)]
    ended: Option<String>,
    /// The duration in seconds.
    seconds: Option<f64>,
    /// Why the step failed, and what to do.
    error: Option<String>,
    /// The result of the step.
    detail: Option<String>,
}

/// A remark about a boot.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BootRemark)]
struct RemarkBody {
    /// The time (RFC 3339).
    #[schema(format = DateTime)]
    at: String,
    /// The text.
    text: String,
}

/// Boots in a list. Each is described only when it is written, because there may be thousands.
#[derive(Debug)]
pub(super) struct BootBodies(pub(super) Vec<View>);

impl Serialize for BootBodies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(boot))
    }
}

/// Describes the current state of a boot.
pub(super) fn boot(view: &View) -> BootBody {
    let record = &view.record;
    BootBody {
        id: record.id.to_string(),
        host: record.host.clone(),
        state: record.state,
        ended: record.is_ended(),
        inserted: record.is_inserted(),
        created: rfc3339_millis(record.created),
        image: record.image.to_string(),
        method: record.method,
        medium: record.medium,
        boot_mode: record.boot_mode,
        bmc: BmcBody {
            address: record.bmc.address.to_string(),
            credentials: record.bmc.credentials.to_string(),
            disable_certificate_verification: record.bmc.disable_certificate_verification,
        },
        wait_for: record.options.wait_for.clone(),
        booted_within: record.options.booted_within,
        shutdown_within: record.options.shutdown_within,
        eject: record.options.eject,
        power_off: record.options.power_off,
        addresses: record.addresses.clone(),
        firmware_settings: firmware_settings(record),
        progress: view.progress.clone(),
        steps: record.steps().iter().map(step).collect(),
        remarks: record.remarks.iter().map(remark).collect(),
        revision: view.revision,
    }
}

fn firmware_settings(record: &BootRecord) -> Vec<FirmwareSettingBody> {
    let settings = record.at_bmc.as_ref().and_then(|at_bmc| at_bmc.plan.firmware.as_ref());
    let before = settings.into_iter().flat_map(FirmwareSettings::before);
    before.map(|(attribute, before)| FirmwareSettingBody { attribute: attribute.to_owned(), before }).collect()
}

fn step(record: &StepRecord) -> StepBody {
    let seconds = record.started.zip(record.ended).map(|(started, ended)| started.until(ended).as_secs_f64());
    StepBody {
        step: record.step,
        state: record.state,
        started: record.started.map(rfc3339_millis),
        ended: record.ended.map(rfc3339_millis),
        seconds,
        error: record.error.clone(),
        detail: record.detail.clone(),
    }
}

fn remark(remark: &Remark) -> RemarkBody {
    RemarkBody { at: rfc3339_millis(remark.at), text: remark.text.clone() }
}
