//! The profile of Agama, the installer of SUSE Linux Enterprise and openSUSE since version 16.
//!
//! Sources, all in Agama's repository: `rust/agama-autoinstall` loads the profile that the kernel argument `inst.auto` names;
//! `rust/agama-manager/src/actions.rs` installs the system, copies the installer's profiles of NetworkManager to it, and runs the
//! scripts `post` after everything else; `rust/share/profile.schema.json` describes a profile.
//!
//! Agama's live system runs NetworkManager, so it takes the host's keyfiles, and has the whole network. Connections in the profile are
//! not needed, and could not have everything that a keyfile has: there are no routes, for example.

mod object;
mod scripts;

use serde_json::Value;

use super::{InstalledSystem, InstallerFile};
use object::{Object, Unique};
use vocabulary::answers::AGAMA_FILE;
use vocabulary::host::HostName;
use vocabulary::report::{DocumentPath, Report, Reported};

/// The size limit of a profile, in bytes.
const LIMIT: usize = 1 << 20;
const NETWORK: &str = "network";
const CONNECTIONS: &str = "connections";
const NOT_AN_OBJECT: &str = "is not an object";

/// The document that findings are about.
fn document() -> DocumentPath {
    DocumentPath::document("Agama profile")
}

/// Returns the completed profile.
pub(super) fn complete(
    text: &str,
    system: InstalledSystem<'_>,
    report: &mut Report,
) -> Result<Vec<InstallerFile>, Reported> {
    let path = document();
    let refuse = |report: &mut Report, message| report.refuse("answers-invalid", &path, message);
    if text.len() > LIMIT {
        return Err(refuse(report, format!("has {} bytes, and may have {LIMIT}", text.len())));
    }
    let profile = read(text).map_err(|problem| refuse(report, problem))?;
    let network = check_network(profile.value(NETWORK).as_ref(), &path.key(NETWORK), report);
    let hostname = check_hostname(profile.value("hostname").as_ref(), system.hostname, &path.key("hostname"), report);
    network.and(hostname)?;
    let content = scripts::added(profile, system, &path, report)?;
    Ok(vec![InstallerFile { path: AGAMA_FILE.to_owned(), is_program: false, is_secret: true, content }])
}

/// Reads a profile. Messages about its syntax have its line and column, and no part of it.
fn read(text: &str) -> Result<Object, String> {
    // The file of somebody who has no profile.
    if text.trim().is_empty() {
        return Ok(Object::default());
    }
    if text.starts_with('\u{feff}') {
        return Err("begins with a byte order mark, which the installer does not read; save it without".to_owned());
    }
    if text.trim_start().starts_with('<') {
        return Err("is XML, as profiles of AutoYaST are; dayone completes JSON alone".to_owned());
    }
    serde_json::from_str::<Unique>(text).map_err(|error| {
        // [`Unique`] accepts every type of value, so all other errors are errors of the syntax.
        if error.is_data() {
            return format!("has {error}; remove one of the two");
        }
        format!(
            "is not JSON: {error}. If it is Jsonnet, hand over what it evaluates to: jsonnet FILE, or agama config generate FILE in \
             the installer"
        )
    })?;
    Object::read(text).ok_or_else(|| NOT_AN_OBJECT.to_owned())
}

/// Checks that the profile has no connections of its own. The installer would add them to those of the documents, and the host would
/// have two for the same interface.
fn check_network(network: Option<&Value>, path: &DocumentPath, report: &mut Report) -> Result<(), Reported> {
    let Some(network) = network else { return Ok(()) };
    let Some(members) = network.as_object() else {
        return Err(report.refuse("answers-invalid", path, "is not an object"));
    };
    for name in members.keys().filter(|name| *name != CONNECTIONS) {
        report.warning("answers-unchecked", &path.key(name), "is not compared with the host's documents");
    }
    match members.get(CONNECTIONS) {
        None => Ok(()),
        Some(Value::Array(connections)) if connections.is_empty() => Ok(()),
        Some(_) => {
            let message = "has connections besides those of the host's documents, so an interface could have two; remove them: the \
                           installer has the network of the documents without them, and so has the installed system";
            Err(report.refuse("answers-contradict-network", &path.key(CONNECTIONS), message))
        }
    }
}

/// Checks the host name of the installed system, if both have one.
fn check_hostname(
    hostname: Option<&Value>,
    wanted: Option<&HostName>,
    path: &DocumentPath,
    report: &mut Report,
) -> Result<(), Reported> {
    let given = hostname.and_then(|hostname| hostname.get("static")).and_then(Value::as_str);
    let (Some(given), Some(wanted)) = (given, wanted) else { return Ok(()) };
    if given == wanted.as_str() {
        return Ok(());
    }
    let message =
        format!("is {given:?}, and the host's documents have {:?}; correct the one that is wrong", wanted.as_str());
    Err(report.refuse("answers-contradict-network", &path.key("static"), message))
}

#[cfg(test)]
mod tests;
