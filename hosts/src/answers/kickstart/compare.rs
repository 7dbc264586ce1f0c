//! Compares the commands `network` of a file with the host's network.

mod addresses;
mod devices;

use std::fmt;

use super::command::Command;
use crate::model::{Interface, Topology};
use vocabulary::host::HostName;

/// What a command says, and what the host's documents say.
pub(super) struct Contradiction {
    option: &'static str,
    given: String,
    wanted: String,
    /// The interface that the command is compared with.
    interface: Option<String>,
}

impl Contradiction {
    fn new(option: &'static str, given: &str, wanted: impl Into<String>) -> Self {
        Self { option, given: given.to_owned(), wanted: wanted.into(), interface: None }
    }

    /// Of an option without a value, or whose value may be secret.
    fn of_option(option: &'static str, wanted: impl Into<String>) -> Self {
        Self::new(option, "", wanted)
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { option, given, wanted, interface } = self;
        match given.as_str() {
            "" => write!(f, "says network {option}")?,
            given => write!(f, "says network {option} is {given:?}")?,
        }
        match interface {
            Some(interface) => write!(f, ", and by the host's documents {interface} has {wanted}"),
            None => write!(f, ", and the host's documents have {wanted}"),
        }
    }
}

/// Returns what a command and the documents do not agree on. A command that does not name its device must agree with one of the
/// host's interfaces.
pub(super) fn contradictions(
    command: &Command,
    topology: &Topology,
    hostname: Option<&HostName>,
) -> Vec<Contradiction> {
    let mut found = Vec::new();
    if let (Some(given), Some(hostname)) = (command.value("--hostname"), hostname)
        && given != hostname.as_str()
    {
        found.push(Contradiction::new("--hostname", given, format!("{:?}", hostname.as_str())));
    }
    if command.is_hostname_only() {
        return found;
    }
    if let Some(option) = command.first_of(&["--essid", "--wepkey", "--wpakey"]) {
        found.push(Contradiction::of_option(option, "no wireless network"));
        return found;
    }
    match devices::candidates(command, topology) {
        Ok(candidates) => {
            let each = candidates.into_iter().map(|interface| of_interface(command, interface, topology));
            // If several interfaces agree equally well, the first one.
            found.extend(each.min_by_key(Vec::len).unwrap_or_default());
        }
        Err(contradiction) => found.push(contradiction),
    }
    found
}

fn of_interface(command: &Command, interface: &Interface, topology: &Topology) -> Vec<Contradiction> {
    let mut found = devices::contradictions(command, interface, topology);
    found.extend(addresses::contradictions(command, interface, topology));
    for contradiction in &mut found {
        contradiction.interface.get_or_insert_with(|| interface.name.clone());
    }
    found
}

/// Values, as findings list them.
fn list(values: impl IntoIterator<Item = impl ToString>, none: &str) -> String {
    let values: Vec<String> = values.into_iter().map(|value| format!("{:?}", value.to_string())).collect();
    if values.is_empty() { none.to_owned() } else { values.join(", ") }
}

/// The values of an option that takes several.
fn values(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|value| !value.is_empty())
}
