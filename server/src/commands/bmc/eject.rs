//! `dayone eject`: ejects the media in a BMC's virtual media slots.

use serde::Serialize;

use super::{connect, target};
use crate::arguments::{EjectArguments, OutputFormat};
use crate::commands::failure::Failure;
use crate::commands::table::Table;
use crate::commands::terminal;
use redfish::bmc::{Bmc, BmcError, Found, Medium, Slot, Survey};
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
    let ejected = eject(&bmc, arguments.slot.as_deref()).await;
    bmc.close().await;
    let (slots, hidden) = ejected?;
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&slots)?,
        OutputFormat::Text => terminal::print(&as_text(&chosen.target.address.to_string(), &slots))?,
    }
    // The table has no reasons.
    let problems: Vec<String> = slots.into_iter().filter_map(|slot| slot.problem).chain(hidden).collect();
    if problems.is_empty() { Ok(()) } else { Err(Failure::Bmc(problems.join("; "))) }
}

/// Ejects the media of the slots that the BMC shows. Also returns why another slot may have a medium.
async fn eject(bmc: &Bmc, wanted: Option<&str>) -> Result<(Vec<EjectedSlot>, Option<String>), Failure> {
    let survey = bmc.survey().await?;
    let has_slots = !survey.slots.is_empty();
    for note in survey.notes.iter().filter(|note| !(has_slots && survey.hidden_slots.contains(note))) {
        terminal::remark(&format!("note: {}\n", terminal::plain(note)));
    }
    if !has_slots {
        // A BMC that shows no slot may have a medium all the same. The plan's error says why it shows none.
        Bmc::plan(&survey, Medium::Cd, None)?;
    }
    let mut ejected = Vec::new();
    for slot in select(&survey, wanted)? {
        let image = slot.state.image.as_deref().map(without_tokens);
        let result = bmc.eject(&slot.path, None).await;
        // If the BMC does not answer, the other slots would fail in the same way.
        let is_last = matches!(&result, Err(BmcError::Redfish(error)) if error.status().is_none());
        let (outcome, problem) = match result {
            Ok(ejected) if ejected.found == Found::Nothing => (Outcome::Empty, None),
            Ok(_) => (Outcome::Ejected, None),
            Err(error) => (Outcome::Failed, Some(error.to_string())),
        };
        ejected.push(EjectedSlot { slot: slot.path.clone(), image, outcome, problem });
        if is_last {
            break;
        }
    }
    Ok((ejected, hidden(&survey).filter(|_| wanted.is_none())))
}

/// Returns the slot with this id or path; or all slots, except those that somebody uses from the BMC's console.
fn select<'a>(survey: &'a Survey, wanted: Option<&str>) -> Result<Vec<&'a Slot>, Failure> {
    let slots = &survey.slots;
    let Some(wanted) = wanted else {
        let shared = |slot: &Slot| slot.state.connected_via.as_deref() == Some("Applet");
        return Ok(slots.iter().filter(|slot| !shared(slot)).collect());
    };
    let found = slots.iter().find(|slot| slot.path == wanted).or_else(|| slots.iter().find(|slot| slot.id == wanted));
    found.map(|slot| vec![slot]).ok_or_else(|| {
        if let Some(hidden) = hidden(survey) {
            return Failure::Bmc(format!("the BMC shows no slot {wanted}; {hidden}"));
        }
        let known: Vec<&str> = slots.iter().map(|slot| slot.path.as_str()).collect();
        Failure::System(format!("the BMC has no slot {wanted}; it has: {}", known.join(", ")))
    })
}

/// Says which slots the BMC does not show, if there may be any.
fn hidden(survey: &Survey) -> Option<String> {
    let hidden = &survey.hidden_slots;
    let sentence = || format!("a slot that the BMC does not show may have a medium: {}", hidden.join("; "));
    (!hidden.is_empty()).then(sentence)
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
        table.row("nothing ejected", "somebody uses every slot from the BMC's console");
    }
    table.into_text()
}
