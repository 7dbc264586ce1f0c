//! The settings of the firmware (schema Bios, DSP0268): PATCH stages them, and the next start of the machine applies them. An iDRAC needs a
//! job for that, which waits, runs and ends.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Shared;
use super::answer::Answer;
use super::behaviour::{Bios, ms};
use super::state::State;

/// Answers a PATCH of the settings for the next start.
pub(super) fn patch(shared: &Arc<Shared>, body: &Value) -> Answer {
    let behaviour = &shared.behaviour.bios;
    let mut state = shared.state();
    let Some(attributes) = body["Attributes"].as_object() else {
        return Answer::error(400, "PropertyMissing", "The property Attributes is missing.", &["Attributes"]);
    };
    if open_job(&state, behaviour).is_some() {
        let text = "Pending configuration values are already committed, unable to perform another set operation.";
        return Answer::error(400, "IDRAC.2.8.SYS011", text, &[]);
    }
    if behaviour.parents_alone && attributes.len() > 1 && attributes.contains_key("HttpDev1EnDis") {
        return read_only("HttpDev1Uri");
    }
    for name in attributes.keys() {
        if behaviour.read_only.contains(name) {
            return read_only(name);
        }
        if current(&state, behaviour).get(name).is_none() {
            let text = format!("Unable to complete the operation because the attribute {name} does not exist.");
            return Answer::error(400, "IDRAC.2.8.SYS428", &text, &[name]);
        }
    }
    for (name, value) in attributes.iter().filter(|(name, _)| !behaviour.ignores.contains(name)) {
        state.tree.set(&behaviour.staged, &format!("/Attributes/{name}"), value.clone());
    }
    let Some(jobs) = &behaviour.jobs else { return Answer::status(200) };
    if body["@Redfish.SettingsApplyTime"]["ApplyTime"] != "OnReset" {
        return Answer::status(200);
    }
    let mut members = members(&state, jobs);
    let id = format!("JID_{}", 510_613_515_077_u64 + members.len() as u64);
    let path = format!("{jobs}/{id}");
    let job = json!({
        "@odata.id": path, "@odata.type": "#DellJob.v1_5_0.DellJob", "Id": id, "JobType": "BIOSConfiguration",
        "Name": "Configure: BIOS.Setup.1-1", "JobState": if behaviour.prepares_ms > 0 { "New" } else { "Scheduled" }, "Message": "Task successfully scheduled.",
    });
    state.tree.insert(&path, job);
    members.push(json!({"@odata.id": path}));
    state.tree.set(jobs, "/Members", json!(members));
    if behaviour.prepares_ms > 0 {
        let (preparing, job, takes) = (Arc::downgrade(shared), path, ms(behaviour.prepares_ms));
        tokio::spawn(async move {
            tokio::time::sleep(takes).await;
            if let Some(shared) = preparing.upgrade() {
                shared.state().tree.set(&job, "/JobState", json!("Scheduled"));
            }
        });
    }
    // The task ends when the job has.
    Answer::status(202).location(&format!("/redfish/v1/TaskService/Tasks/{id}"))
}

fn read_only(name: &str) -> Answer {
    let text = format!(
        "Unable to modify the attribute {name} because the attribute is read-only and depends on other attributes."
    );
    Answer::error(400, "IDRAC.2.8.SYS410", &text, &[name])
}

/// Answers a DELETE of a waiting job, and forgets its settings.
pub(super) fn delete_job(shared: &Shared, path: &str) -> Answer {
    let behaviour = &shared.behaviour.bios;
    let mut state = shared.state();
    let waits = state.tree.get(path).is_some_and(|job| job["JobState"] == "Scheduled");
    let Some(jobs) = behaviour.jobs.as_ref().filter(|jobs| path.starts_with(*jobs) && waits) else {
        return Answer::not_allowed("GET, HEAD");
    };
    let left = members(&state, jobs).into_iter().filter(|member| member["@odata.id"] != path).collect::<Vec<_>>();
    state.tree.set(jobs, "/Members", json!(left));
    state.tree.set(&behaviour.staged, "/Attributes", json!({}));
    Answer::status(200)
}

/// Begins to apply settings at a start of the machine. Returns whether there are any.
pub(super) fn begin(state: &mut State, behaviour: &Bios) -> bool {
    if behaviour.path.is_empty() {
        return false;
    }
    if behaviour.jobs.is_some() {
        let Some(job) = open_job(state, behaviour) else { return false };
        if state.tree.get(&job).is_some_and(|job| job["JobState"] == "New") {
            return false;
        }
        state.tree.set(&job, "/JobState", json!("Running"));
        return true;
    }
    let [order, next] = orders(state, behaviour);
    staged(state, behaviour) != current(state, behaviour) || next != order
}

/// Applies the settings.
pub(super) fn apply(state: &mut State, behaviour: &Bios) {
    if let Some(job) = open_job(state, behaviour) {
        let (ended, message) = match &behaviour.fails {
            Some(message) => ("Failed", message.as_str()),
            None => ("Completed", "Job completed successfully."),
        };
        state.tree.set(&job, "/JobState", json!(ended));
        state.tree.set(&job, "/Message", json!(message));
    }
    let [order, next] = orders(state, behaviour);
    if let Some(path) = behaviour.order.as_ref().filter(|_| next != order) {
        state.tree.set(path, ORDER, next);
    }
    if behaviour.fails.is_none() {
        let mut now = current(state, behaviour);
        now.extend(staged(state, behaviour));
        state.tree.set(&behaviour.path, "/Attributes", Value::Object(now));
    }
    if behaviour.jobs.is_some() {
        state.tree.set(&behaviour.staged, "/Attributes", json!({}));
    }
}

const ORDER: &str = "/PersistentBootConfigOrder";

fn staged_order(behaviour: &Bios) -> Option<String> {
    behaviour.order.as_ref().map(|path| format!("{path}/settings"))
}

/// Whether a path is that of the order of boot sources for the next start.
pub(super) fn is_staged_order(behaviour: &Bios, path: &str) -> bool {
    staged_order(behaviour).is_some_and(|staged| path.eq_ignore_ascii_case(&staged))
}

/// Answers a PATCH of that resource, which must have the same sources in another order.
pub(super) fn patch_order(shared: &Shared, body: &Value) -> Answer {
    let behaviour = &shared.behaviour.bios;
    let mut state = shared.state();
    let names = |order: &Value| {
        let mut names: Vec<_> = order.as_array().into_iter().flatten().map(Value::to_string).collect();
        names.sort();
        names
    };
    let wanted = &body["PersistentBootConfigOrder"];
    let [_, next] = orders(&state, behaviour);
    match staged_order(behaviour) {
        Some(path) if names(wanted) == names(&next) => {
            state.tree.set(&path, ORDER, wanted.clone());
            Answer::status(200)
        }
        _ => Answer::error(400, "iLO.2.15.ArrayPropertyOutOfBound", "The items of the array are out of bounds.", &[]),
    }
}

/// Returns the order of boot sources now, and at the next start.
fn orders(state: &State, behaviour: &Bios) -> [Value; 2] {
    let read = |path: Option<String>| {
        let resource = path.and_then(|path| state.tree.get(&path).cloned()).unwrap_or_default();
        resource.pointer(ORDER).cloned().unwrap_or_default()
    };
    [read(behaviour.order.clone()), read(staged_order(behaviour))]
}

/// Whether the first boot source is the URL in the settings of the firmware.
pub(super) fn boots_url_first(state: &State, behaviour: &Bios) -> bool {
    let [order, _] = orders(state, behaviour);
    let sources =
        behaviour.order.as_ref().and_then(|path| state.tree.get(path)).map(|boot| boot["BootSources"].clone());
    let sources = sources.unwrap_or_default();
    let url = sources.as_array().into_iter().flatten().find(|source| source["BootString"] == "URL File");
    url.is_some_and(|url| order[0] == url["StructuredBootString"])
}

/// Returns the URL in the settings of the firmware.
pub(super) fn url(state: &State, behaviour: &Bios) -> Option<String> {
    let url = current(state, behaviour).get(&behaviour.url)?.as_str()?.to_owned();
    Some(url).filter(|url| !url.is_empty())
}

fn open_job(state: &State, behaviour: &Bios) -> Option<String> {
    let paths = members(state, behaviour.jobs.as_ref()?);
    let mut paths = paths.iter().filter_map(|member| member["@odata.id"].as_str());
    let is_open = |path: &&str| {
        state
            .tree
            .get(path)
            .is_some_and(|job| ["New", "Scheduled", "Running"].iter().any(|word| job["JobState"] == *word))
    };
    paths.find(is_open).map(str::to_owned)
}

fn members(state: &State, jobs: &str) -> Vec<Value> {
    state.tree.get(jobs).and_then(|jobs| jobs["Members"].as_array().cloned()).unwrap_or_default()
}

fn current(state: &State, behaviour: &Bios) -> Map<String, Value> {
    attributes(state, &behaviour.path)
}

fn staged(state: &State, behaviour: &Bios) -> Map<String, Value> {
    attributes(state, &behaviour.staged)
}

fn attributes(state: &State, path: &str) -> Map<String, Value> {
    state.tree.get(path).and_then(|resource| resource["Attributes"].as_object().cloned()).unwrap_or_default()
}
