//! `dayone eject`: ejects the media in a BMC's virtual media slots.

use serde::Serialize;

use super::{connect, target};
use crate::arguments::{EjectArguments, OutputFormat};
use crate::commands::failure::Failure;
use crate::commands::table::Table;
use crate::commands::terminal;
use redfish::bmc::{Bmc, BmcError, Found, Slot};
use redfish::without_tokens;

/// A slot, and what happened to it. `docs/commands.md` describes its JSON.
#[derive(Serialize)]
struct EjectedSlot {
    slot: String,
    /// The image that was in it, if the BMC tells.
    image: Option<String>,
    outcome: Outcome,
    /// Why the slot is not empty.
    problem: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Ejected,
    Empty,
    Failed,
}

pub(super) async fn run(arguments: &EjectArguments) -> Result<(), Failure> {
    let chosen = target::of(&arguments.bmc)?;
    let bmc = connect(&chosen).await?;
    let slots = eject(&bmc, arguments.slot.as_deref()).await;
    bmc.close().await;
    let slots = slots?;
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&slots)?,
        OutputFormat::Text => terminal::print(&as_text(&chosen.target.address.to_string(), &slots))?,
    }
    match slots.into_iter().find_map(|slot| slot.problem) {
        Some(problem) => Err(Failure::Bmc(problem)),
        None => Ok(()),
    }
}

async fn eject(bmc: &Bmc, wanted: Option<&str>) -> Result<Vec<EjectedSlot>, Failure> {
    let slots = bmc.survey().await?.slots;
    let mut ejected = Vec::new();
    for slot in select(&slots, wanted)? {
        let image = slot.state.image.as_deref().map(without_tokens);
        let (outcome, problem) = match bmc.eject(&slot.path, None).await {
            Ok(ejected) if ejected.found == Found::Nothing => (Outcome::Empty, None),
            Ok(_) => (Outcome::Ejected, None),
            // The other slots would fail in the same way.
            Err(error @ BmcError::Redfish(_)) => return Err(error.into()),
            Err(error) => (Outcome::Failed, Some(error.to_string())),
        };
        ejected.push(EjectedSlot { slot: slot.path.clone(), image, outcome, problem });
    }
    Ok(ejected)
}

/// Returns the slot with this id or path; or all slots, except those that somebody uses from the BMC's console.
fn select<'a>(slots: &'a [Slot], wanted: Option<&str>) -> Result<Vec<&'a Slot>, Failure> {
    let Some(wanted) = wanted else {
        let shared = |slot: &Slot| slot.state.connected_via.as_deref() == Some("Applet");
        return Ok(slots.iter().filter(|slot| !shared(slot)).collect());
    };
    let found = slots.iter().find(|slot| slot.path == wanted).or_else(|| slots.iter().find(|slot| slot.id == wanted));
    found.map(|slot| vec![slot]).ok_or_else(|| {
        let known: Vec<&str> = slots.iter().map(|slot| slot.path.as_str()).collect();
        Failure::System(format!("the BMC has no slot {wanted}; it has: {}", known.join(", ")))
    })
}

fn as_text(address: &str, slots: &[EjectedSlot]) -> String {
    let mut table = Table::new(address);
    for slot in slots {
        let what = match (slot.outcome, &slot.image) {
            (Outcome::Ejected, Some(image)) => format!("ejected {image}"),
            (Outcome::Ejected, None) => "ejected".to_owned(),
            (Outcome::Empty, _) => "was empty".to_owned(),
            (Outcome::Failed, _) => "not ejected".to_owned(),
        };
        table.row(&slot.slot, what);
    }
    if slots.is_empty() {
        table.row("no slots", "nothing to eject");
    }
    table.into_text()
}
