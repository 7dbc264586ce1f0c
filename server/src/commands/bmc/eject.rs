//! `dayone eject`: what is inserted in a BMC's virtual media is taken out.

use serde::Serialize;

use super::target;
use super::{connect, said};
use crate::arguments::{EjectArguments, OutputFormat};
use crate::commands::failure::Failure;
use crate::commands::table::Table;
use crate::commands::terminal;
use redfish::bmc::{Bmc, BmcError, Found, Slot};
use redfish::without_tokens;

/// A slot, and what became of it. Its serialisation is what programs read; see `docs/commands.md`.
#[derive(Serialize)]
struct Emptied {
    slot: String,
    /// What was in it, as far as the BMC said.
    image: Option<String>,
    outcome: Outcome,
    /// Why it is not empty.
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
    let meant = target::of(&arguments.bmc)?;
    let bmc = connect(&meant).await?;
    let emptied = empty(&bmc, arguments.slot.as_deref()).await;
    bmc.close().await;
    let emptied = emptied?;
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&emptied)?,
        OutputFormat::Text => terminal::print(&as_text(&meant.target.address.to_string(), &emptied))?,
    }
    match emptied.into_iter().find_map(|slot| slot.problem) {
        Some(problem) => Err(Failure::Bmc(problem)),
        None => Ok(()),
    }
}

async fn empty(bmc: &Bmc, wanted: Option<&str>) -> Result<Vec<Emptied>, Failure> {
    let slots = bmc.survey().await.map_err(|error| said(&error))?.slots;
    let mut emptied = Vec::new();
    for slot in chosen(&slots, wanted)? {
        let image = slot.state.image.as_deref().map(without_tokens);
        let (outcome, problem) = match bmc.eject(&slot.path, None).await {
            Ok(ejected) if ejected.found == Found::Nothing => (Outcome::Empty, None),
            Ok(_) => (Outcome::Ejected, None),
            // The others would fail in the same way.
            Err(error @ BmcError::Redfish(_)) => return Err(said(&error)),
            Err(error) => (Outcome::Failed, Some(error.to_string())),
        };
        emptied.push(Emptied { slot: slot.path.clone(), image, outcome, problem });
    }
    Ok(emptied)
}

/// The slot that is meant; or all, apart from what somebody shares from a console.
fn chosen<'a>(slots: &'a [Slot], wanted: Option<&str>) -> Result<Vec<&'a Slot>, Failure> {
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

fn as_text(address: &str, emptied: &[Emptied]) -> String {
    let mut table = Table::new(address);
    for slot in emptied {
        let what = match (slot.outcome, &slot.image) {
            (Outcome::Ejected, Some(image)) => format!("ejected {image}"),
            (Outcome::Ejected, None) => "ejected".to_owned(),
            (Outcome::Empty, _) => "was empty".to_owned(),
            (Outcome::Failed, _) => "not ejected".to_owned(),
        };
        table.row(&slot.slot, what);
    }
    if emptied.is_empty() {
        table.row("no slots", "nothing to eject");
    }
    table.into_text()
}
