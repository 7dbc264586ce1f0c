//! The scripts in a profile that give the installed system its network.
//!
//! Agama copies the profiles of NetworkManager from its own system to the installed one: those of the documents, and what it or somebody
//! at its console has made besides. The first script therefore removes the copies, and the second one writes the documents' profiles.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::NOT_AN_OBJECT;
use super::object::Object;
use crate::answers::{InstalledSystem, installed_profiles};
use vocabulary::report::{DocumentPath, Report, Reported};

const REMOVE: &str = include_str!("remove-copies.sh");
const SCRIPTS: &str = "scripts";
const POST: &str = "post";
/// The names of the scripts. Agama keeps each in a file of its name.
const NAMES: [&str; 2] = ["dayone-remove-copies", "dayone-network"];

/// Returns the profile with both scripts behind its own.
pub(super) fn added(
    mut profile: Object,
    system: InstalledSystem<'_>,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<String, Reported> {
    let mut refuse = |path: &DocumentPath, message| report.refuse("answers-invalid", path, message);
    let place = path.key(SCRIPTS);
    let mut scripts = match profile.text(SCRIPTS) {
        None => Object::default(),
        Some(text) => Object::read(text).ok_or_else(|| refuse(&place, NOT_AN_OBJECT))?,
    };
    let place = place.key(POST);
    let mut post: Vec<Box<RawValue>> = match scripts.text(POST) {
        None => Vec::new(),
        Some(text) => serde_json::from_str(text).map_err(|_| refuse(&place, "is not an array"))?,
    };
    let has_ours = post.iter().any(|script| {
        let script: Option<Value> = serde_json::from_str(script.get()).ok();
        script.as_ref().and_then(|script| script.get("name")?.as_str()).is_some_and(|name| NAMES.contains(&name))
    });
    if has_ours {
        let message = "has a script with a name that dayone gives its own; remove the script, or give it another name";
        return Err(refuse(&place, message));
    }
    let [remove, network] = NAMES;
    let install = format!("#!/bin/sh\n# Written by dayone.\nset -e\n{}", installed_profiles::commands(system));
    let mut complete = || -> serde_json::Result<String> {
        post.push(to_raw_value(&json!({"name": remove, "chroot": false, "content": REMOVE}))?);
        post.push(to_raw_value(&json!({"name": network, "chroot": true, "content": install}))?);
        scripts.set(POST, to_raw_value(&post)?);
        profile.set(SCRIPTS, to_raw_value(&scripts)?);
        serde_json::to_string(&profile)
    };
    Ok(complete().map_err(|_| refuse(path, "cannot be written"))? + "\n")
}
