//! Inserts and ejects media (schema VirtualMedia, DSP0268), and refuses what the firmware refuses, in its words.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use super::answer::Answer;
use super::behaviour::{EjectBody, Insert, Missing, OtherScheme, Way, ms};
use super::boot::NEXT_RESET;
use super::state::State;
use super::{Behaviour, Shared, machine, task};

/// Answers `InsertMedia`, or a PATCH that inserts a medium.
pub(super) async fn insert(shared: &Arc<Shared>, slot: &str, body: Value) -> Answer {
    let behaviour = &shared.behaviour.insert;
    let refused = refusal(&mut shared.state(), behaviour, slot, &body);
    if let Some(refused) = refused {
        return refused;
    }
    let (inserting, slot) = (Arc::clone(shared), slot.to_owned());
    let work = async move {
        let image = body["Image"].as_str().unwrap_or_default();
        if inserting.behaviour.insert.looks
            && let Err(error) = machine::look(&inserting.reader, image).await
        {
            let text = format!("The remote file location is not accessible or reachable: {error}.");
            return Answer::error(400, "IDRAC.2.8.RAC0904", &text, &[]);
        }
        inserting.state().fill(&slot, image, inserting.behaviour.insert.shows);
        Answer::status(if inserting.behaviour.insert.answer == 202 { 204 } else { inserting.behaviour.insert.answer })
    };
    task::run(shared, behaviour.answer == 202, work).await
}

/// Answers `EjectMedia`, or a PATCH that ejects a medium. `body` is `None` if the request has no body.
pub(super) async fn eject(shared: &Arc<Shared>, slot: &str, body: Option<Value>) -> Answer {
    let eject = &shared.behaviour.eject;
    match (eject.body, &body) {
        (EjectBody::Object, None) => return Answer::error(400, "MalformedJSON", "There is no JSON body.", &[]),
        (EjectBody::Json, None) => return Answer::status(415),
        (EjectBody::None, Some(_)) => {
            return Answer::error(400, "UnrecognizedRequestBody", "This action takes no body.", &[]);
        }
        _ => {}
    }
    {
        let mut state = shared.state();
        state.advance();
        if let Some(unready) = unready(&state, slot) {
            return unready;
        }
        if state.slots[slot].image.is_none() {
            return match eject.empty {
                status @ 200..300 => Answer::status(status),
                status => Answer::error(status, "IDRAC.2.8.VRM0009", "No virtual media devices are connected.", &[]),
            };
        }
        if eject.needs_power_off && state.is_on() {
            return Answer::error(409, "OperationFailed", "The medium is in use by the host.", &[]);
        }
    }
    let (ejecting, slot) = (Arc::clone(shared), slot.to_owned());
    let work = async move {
        let eject = &ejecting.behaviour.eject;
        let after = |milliseconds| (milliseconds > 0).then(|| Instant::now() + ms(milliseconds));
        ejecting.state().empty(&slot, eject.keeps_image, after(eject.still_inserted_ms), after(eject.busy_ms));
        Answer::status(if eject.answer == 202 { 204 } else { eject.answer })
    };
    task::run(shared, eject.answer == 202, work).await
}

/// Answers a PATCH of a slot.
pub(super) async fn patch(shared: &Arc<Shared>, slot: &str, body: Value) -> Answer {
    if let Some(next) = body.pointer(NEXT_RESET) {
        let mut state = shared.state();
        if state.tree.get(slot).is_some_and(|slot| slot.pointer(NEXT_RESET).is_some()) {
            state.tree.set(slot, NEXT_RESET, next.clone());
            return Answer::status(200);
        }
        return Answer::error(400, "PropertyUnknown", "The property is not in the list of valid properties.", &["Oem"]);
    }
    let ejects = body["Inserted"] == false || body.get("Image").is_some_and(Value::is_null);
    let Behaviour { insert: Insert { way, .. }, eject: ejecting, .. } = &shared.behaviour;
    match ejects {
        true if ejecting.way == Way::Patch => eject(shared, slot, Some(body)).await,
        false if *way == Way::Patch => insert(shared, slot, body).await,
        _ => Answer::not_allowed("GET, HEAD"),
    }
}

/// Returns the firmware's refusal, if it refuses the request.
fn refusal(state: &mut State, insert: &Insert, slot: &str, body: &Value) -> Option<Answer> {
    if let Some(status) = insert.unusable.get(slot) {
        return Some(match status {
            405 => Answer::not_allowed("GET, HEAD"),
            status => Answer::error(*status, "ActionNotSupported", "The action is not supported by the resource.", &[]),
        });
    }
    if let Some(name) = insert.forbidden.iter().find(|name| body.get(*name).is_some()) {
        let text = format!("The property {name} is not in the list of valid properties for the resource.");
        return Some(Answer::error(400, "PropertyUnknown", &text, &[name]));
    }
    if let Some(name) = insert.required.iter().find(|name| body.get(*name).is_none()) {
        return Some(missing(insert.missing, name));
    }
    for (name, allowed) in &insert.values {
        if let Some(value) = body.get(name).filter(|value| !allowed.contains(value)) {
            let text = format!("The value {value} for the parameter {name} is not in the list of acceptable values.");
            return Some(Answer::error(400, "ActionParameterValueNotInList", &text, &[&value.to_string(), name]));
        }
    }
    let image = body["Image"].as_str().unwrap_or_default();
    let scheme = image.split("://").next().unwrap_or_default();
    let is_other_scheme = !insert.schemes.iter().any(|known| known == scheme);
    if is_other_scheme && insert.other_scheme == OtherScheme::Resource {
        let text = format!("The resource at '{image}' is in a format not recognized by the service.");
        return Some(Answer::error(400, "ResourceAtUriInUnknownFormat", &text, &[image]));
    }
    let characters = image.chars().any(|character| insert.refused_characters.contains(character));
    if characters || is_other_scheme || image.len() > insert.longest {
        let text = format!("The value '{image}' for the parameter Image is of a different format than it can accept.");
        return Some(Answer::error(400, "ActionParameterValueFormatError", &text, &[image, "Image", "InsertMedia"]));
    }
    state.advance();
    if let Some(unready) = unready(state, slot) {
        return Some(unready);
    }
    let filled =
        |(path, other): (&String, &super::state::Slot)| other.image.is_some() && (path == slot || insert.one_of_all);
    if state.slots.iter().any(filled) && !(200..300).contains(&insert.occupied) {
        let text = "The virtual media is detached or already in use.";
        return Some(Answer::error(insert.occupied, "IDRAC.2.8.VRM0021", text, &[]));
    }
    None
}

fn missing(way: Missing, name: &str) -> Answer {
    match way {
        Missing::Parameter => {
            let text =
                format!("The action InsertMedia requires the parameter {name} to be present in the request body.");
            Answer::error(400, "ActionParameterMissing", &text, &["InsertMedia", name])
        }
        Missing::Sentence => {
            let text =
                format!("'{name}' property which is mandatory to complete the action is missing in the request body.");
            Answer::error(400, "GeneralError", &text, &[])
        }
    }
}

/// Returns status 503 while the slot is busy.
fn unready(state: &State, slot: &str) -> Option<Answer> {
    state.slots[slot].busy.map(|_| {
        let text = "The service is temporarily unavailable. Retry in 1 seconds.";
        Answer::error(503, "ServiceTemporarilyUnavailable", text, &["1"])
    })
}
