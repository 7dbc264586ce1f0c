//! `dayone bmc probe`: shows what a BMC has, and what dayone would ask of it.

use serde::Serialize;
use serde_json::Value;

use super::connect;
use super::target::{self, ChosenBmc};
use crate::arguments::{MediumArgument, OutputFormat, ProbeArguments};
use crate::commands::failure::Failure;
use crate::commands::table::Table;
use crate::commands::terminal;
use redfish::bmc::{Bmc, Medium, Plan, PlannedRequest, Slot, Survey};
use redfish::{RequestRecord, without_tokens};

/// The placeholder for an image's URL.
const IMAGE: &str = "http://media.example/i/TOKEN/boot.iso";

/// What a BMC has. `docs/commands.md` describes its JSON.
#[derive(Serialize)]
struct Probe {
    /// The address as given.
    address: String,
    survey: Survey,
    /// What dayone would do; null if it can do nothing.
    plan: Option<Planned>,
    /// Why dayone can do nothing.
    problem: Option<String>,
    /// The requests by which the host's firmware would fetch the image itself; null if the BMC does not offer that.
    http_boot: Option<Vec<PlannedRequest>>,
    /// What is different if the URL goes into the settings of the firmware, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    http_boot_quirks: Vec<String>,
    /// Why the BMC does not.
    http_boot_problem: Option<String>,
    /// The requests that dayone sent for this.
    asked: Vec<Request>,
}

#[derive(Serialize)]
struct Planned {
    /// The slot that dayone would use.
    slot: Option<String>,
    medium: Medium,
    quirks: Vec<String>,
    /// The requests that dayone would send, if the BMC refuses none.
    requests: Vec<PlannedRequest>,
}

#[derive(Serialize)]
struct Request {
    method: String,
    path: String,
    status: Option<u16>,
    milliseconds: u128,
}

pub(super) async fn run(arguments: &ProbeArguments) -> Result<(), Failure> {
    let chosen = target::of(&arguments.bmc)?;
    let bmc = connect(&chosen).await?;
    let medium = match arguments.medium {
        MediumArgument::Cd => Medium::Cd,
        MediumArgument::Usb => Medium::Usb,
    };
    let surveyed = bmc.survey().await;
    let by_http = match &surveyed {
        Ok(survey) => {
            bmc.plan_http_boot(survey, medium, chosen.mode, IMAGE, None, None).await.map_err(|error| error.to_string())
        }
        Err(_) => Err(String::new()),
    };
    let requests = bmc.requests();
    bmc.close().await;
    let probe = Probe::new(&chosen, surveyed?, medium, by_http, requests);
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&probe)?,
        OutputFormat::Text => terminal::print(&as_text(&probe))?,
    }
    probe.problem.map_or(Ok(()), |problem| Err(Failure::Bmc(problem)))
}

impl Probe {
    fn new(
        chosen: &ChosenBmc,
        mut survey: Survey,
        medium: Medium,
        by_http: Result<Plan, String>,
        requests: Vec<RequestRecord>,
    ) -> Self {
        let (plan, problem) = match Bmc::plan(&survey, medium, chosen.mode) {
            Ok(plan) => (Some(Planned::new(plan)), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let (http_boot, http_boot_quirks, http_boot_problem) = match by_http {
            Ok(plan) => {
                let requests = plan.requests(IMAGE);
                (Some(requests), plan.firmware.map(|_| plan.quirks).unwrap_or_default(), None)
            }
            Err(error) => (None, Vec::new(), Some(error)),
        };
        for slot in &mut survey.slots {
            slot.state.image = slot.state.image.as_deref().map(without_tokens);
        }
        let uri = &mut survey.system.boot.http_uri;
        *uri = uri.take().map(|uri| uri.without_tokens());
        let asked = requests.into_iter().map(|request| Request {
            method: request.method,
            path: request.path,
            status: request.status,
            milliseconds: request.took.as_millis(),
        });
        let (address, asked) = (chosen.target.address.to_string(), asked.collect());
        Self { address, survey, plan, problem, http_boot, http_boot_quirks, http_boot_problem, asked }
    }
}

impl Planned {
    fn new(plan: Plan) -> Self {
        let full = plan.slots.first().is_some_and(|slot| !slot.state.is_empty());
        let mut requests: Vec<PlannedRequest> = plan.eject_request().filter(|_| full).into_iter().collect();
        requests.extend(plan.requests(IMAGE));
        requests.extend(plan.power_requests());
        requests.extend(plan.eject_request());
        for request in &mut requests {
            if let Some(password) = request.body.get_mut("Password") {
                *password = Value::from("…");
            }
        }
        let slot = plan.slots.first().map(|slot| slot.path.clone());
        Self { slot, medium: plan.medium, quirks: plan.quirks, requests }
    }
}

fn as_text(probe: &Probe) -> String {
    let survey = &probe.survey;
    let mut table = Table::new(&probe.address);
    let redfish = survey.redfish_version.as_ref().map(|version| format!("Redfish {version}"));
    table.row("BMC", known([Some(survey.vendor.to_string()), survey.product.clone(), redfish]));
    table.rows(
        "firmware",
        survey.managers.iter().map(|manager| {
            let firmware = known([manager.model.clone(), manager.firmware_version.clone()]);
            format!("{firmware} ({})", manager.path)
        }),
    );
    let system = &survey.system;
    let named = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name} {value}"));
    let machine = known([
        system.manufacturer.clone(),
        system.model.clone(),
        named("serial number", &system.serial_number),
        named("firmware", &system.bios_version),
    ]);
    table.row("machine", format!("{machine} ({})", system.path));
    table.row("power", system.power_state);
    if let Some(progress) = &system.boot_progress {
        table.row("boot progress", &progress.last_state);
    }
    let next = &system.boot.source;
    table.row("next boot", known([next.target.clone(), next.enabled.clone(), next.mode.clone()]));
    if let Some(targets) = &system.boot.targets {
        table.row("can boot from", targets.join(", "));
    }
    table.rows("slots", survey.slots.iter().map(slot));
    table.rows("notes", &survey.notes);
    if let Some(plan) = &probe.plan {
        table.rows("would insert into", &plan.slot);
        table.rows("quirks", &plan.quirks);
        let requests = plan.requests.iter();
        table.rows("would ask", requests.map(|each| format!("{} {} {}", each.method, each.path, each.body)));
    }
    let by_http = probe.http_boot.iter().flatten();
    table.rows("would ask for HTTP boot", by_http.map(|each| format!("{} {} {}", each.method, each.path, each.body)));
    table.rows("quirks of HTTP boot", &probe.http_boot_quirks);
    table.rows("no HTTP boot", &probe.http_boot_problem);
    if let Some(slowest) = probe.asked.iter().max_by_key(|asked| asked.milliseconds) {
        let Request { method, path, milliseconds, .. } = slowest;
        table.row("asked", format!("{} requests; slowest: {method} {path}, {milliseconds} ms", probe.asked.len()));
    }
    table.into_text()
}

fn slot(slot: &Slot) -> String {
    let types = if slot.media_types.is_empty() { "no media types".to_owned() } else { slot.media_types.join(", ") };
    let content = match (&slot.state.image, slot.state.is_connected()) {
        (Some(image), true) => image.clone(),
        (Some(image), false) => format!("not connected, still names {image}"),
        (None, true) => "something is inserted".to_owned(),
        (None, false) => "empty".to_owned(),
    };
    let insert = if slot.insert.is_some() { "" } else { "; no InsertMedia" };
    format!("{}: {types}; {content}{insert}", slot.path)
}

/// Joins the known values with commas.
fn known<const N: usize>(values: [Option<String>; N]) -> String {
    let known: Vec<String> = values.into_iter().flatten().collect();
    if known.is_empty() { "unknown".to_owned() } else { known.join(", ") }
}
