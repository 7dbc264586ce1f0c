//! Boots as the API shows them.

use std::net::IpAddr;

use serde::Serialize;
use utoipa::ToSchema;
use vocabulary::host::BootMode;

use crate::api::timestamp::rfc3339_millis;
use crate::boots::{BootState, EjectWhen, Evidence, Remark, Step, StepRecord, StepState, View};
use redfish::bmc::Medium;

/// A host that is booted from an image by way of its BMC.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Boot)]
pub(super) struct BootBody {
    /// The boot's id.
    #[schema(example = "06gq1k2m5v8t3n4p")]
    id: String,
    /// What the documents call the host.
    host: Option<String>,
    /// `queued`, `running`, `booted`, `unknown` (nothing can show whether it has booted), `failed`, `ejecting` or
    /// `ejected`.
    #[schema(value_type = String, example = "running")]
    state: BootState,
    /// Whether it is over: nothing will be done any more, and the BMC is free for another boot.
    ended: bool,
    /// Whether the BMC has the medium, or may have it.
    inserted: bool,
    /// When it was asked for (RFC 3339).
    #[schema(example = "2026-02-28T23:59:59.123Z", format = DateTime)]
    created: String,
    /// The id of the image.
    image: String,
    /// As what the BMC shows it to the host: `cd` or `usb`.
    #[schema(value_type = String, example = "cd")]
    medium: Medium,
    /// How the host's firmware shall boot, if that was said: `UEFI`, `UEFISecureBoot` or `legacy`.
    #[schema(value_type = Option<String>)]
    boot_mode: Option<BootMode>,
    /// The BMC.
    bmc: BmcBody,
    /// What shows that the host has booted, any of it.
    #[schema(value_type = Vec<String>, example = json!(["call-home"]))]
    wait_for: Vec<Evidence>,
    /// How long after it is switched on the host may take to boot, in seconds.
    booted_within: u64,
    /// How long the host gets to shut down before it is switched off, in seconds.
    shutdown_within: u64,
    /// When the medium is ejected: `when-deleted` or `when-booted`.
    #[schema(value_type = String)]
    eject: EjectWhen,
    /// Whether the host is switched off before the medium is ejected.
    power_off: bool,
    /// The static addresses that the host will have.
    #[schema(value_type = Vec<String>)]
    addresses: Vec<IpAddr>,
    /// What the running step is at, for people.
    progress: Option<String>,
    /// The steps, in their order.
    steps: Vec<StepBody>,
    /// What happened on the way, for people: what the BMC refused, what was found odd, restarts.
    remarks: Vec<RemarkBody>,
    /// Grows with every change.
    revision: u64,
}

/// The BMC of a boot.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BootBmc)]
struct BmcBody {
    /// Its address, as it was given.
    address: String,
    /// Where what logs in there comes from: `named NAME`, `environment`, `documents`, `none`.
    #[schema(example = "named worker-0-bmc")]
    credentials: String,
    /// Whether whoever answers there is taken for the BMC.
    disable_certificate_verification: bool,
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
    /// When it began (RFC 3339).
    #[schema(format = DateTime)]
    started: Option<String>,
    /// When it ended (RFC 3339).
    #[schema(format = DateTime)]
    ended: Option<String>,
    /// How long it took, in seconds.
    seconds: Option<f64>,
    /// Why it failed, and what to do.
    error: Option<String>,
    /// What came of it.
    detail: Option<String>,
}

/// Something that happened.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BootRemark)]
struct RemarkBody {
    /// When (RFC 3339).
    #[schema(format = DateTime)]
    at: String,
    /// What.
    text: String,
}

/// A boot as it is seen at one moment.
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
        progress: view.progress.clone(),
        steps: record.steps().iter().map(step).collect(),
        remarks: record.remarks.iter().map(remark).collect(),
        revision: view.revision,
    }
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
