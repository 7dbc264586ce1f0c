//! From the documents that users have to [`HostSpec`]s. Nothing of a network is interpreted here.
//!
//! A document says what it is by its `kind` and `apiVersion`, or by the members that only NMState has; there is no
//! guessing ([`shape`]). Each shape has a file of its own; a new one is that file, an arm in [`sorted`] and a line in
//! [`sorted::UNDERSTOOD`]. Texts that are no documents (keyfiles, tables) are told by their names ([`text`]).

mod agent_config;
mod bare_metal_host;
mod beside;
mod bmc;
mod choose;
mod cluster;
mod division;
mod document;
mod flaw;
mod fleet;
mod gzip;
mod host_document;
mod install_config;
mod join;
mod keyfiles;
mod limits;
mod listing;
mod network_data;
mod network_secret;
mod nics;
mod nmstate;
mod nmstate_config;
mod node_network_policy;
mod object;
mod octals;
mod part;
mod places;
mod secret;
mod shape;
mod shares;
mod site;
mod sorted;
mod stream;
mod text;
mod yaml;

pub use choose::ChooseError;
pub(crate) use choose::choose;
pub use limits::Limits;
pub use network_secret::is_network_key;
pub(crate) use object::is_object_name;
pub use places::{locate, locate_within};
pub use text::Text;

use std::borrow::Cow;

use flaw::Reported;
use sorted::Sorted;
use vocabulary::host::{Cluster, HostBmc, HostSpec, NmstateDocument};
use vocabulary::report::{DocumentPath, Report};
use yaml::Budget;

/// What was found in a user's documents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// The hosts that could be unwrapped, in the order of their documents.
    pub hosts: Vec<HostSpec>,
    /// Hosts of whose documents something could not be read, which `report` has as an error. No image may be made for
    /// them; what can be read of their networks is checked with the others.
    pub flawed: Vec<HostSpec>,
    /// The cluster that they are of, where the documents say.
    pub cluster: Option<Cluster>,
    /// What the user should know; an error for each host that could not be unwrapped.
    pub report: Report,
}

/// Reads a text of documents: a YAML stream, a JSON object or list, or a Kubernetes `List` of either; 4 MiB at most.
///
/// A text that is no YAML gives no hosts at all: the Secret of an earlier host might have stood in what could not be
/// read.
pub fn read(text: &[u8]) -> Input {
    read_all([Text { name: None, text }])
}

/// Reads several texts as one set of documents: the Secret of a host may stand in another text than the host.
pub fn read_all<'a>(texts: impl IntoIterator<Item = Text<'a>>) -> Input {
    read_within(Limits::REQUEST, texts)
}

/// [`read_all`], within other limits.
pub fn read_within<'a>(limits: Limits, texts: impl IntoIterator<Item = Text<'a>>) -> Input {
    let mut input = Input::default();
    let mut budget = Budget::within(limits);
    if let Some(sorted) = Sorted::read(texts, &mut budget, &mut input.report) {
        let (found, cluster) = sorted.unwrap_hosts(&mut budget, &mut input.report);
        (input.hosts, input.flawed, input.cluster) = (found.hosts, found.flawed, cluster);
    }
    input
}

/// Reads NMState that an object holds at `path`, where its place says what it is: a host of which nothing is known but
/// its network.
pub fn read_nmstate(text: &[u8], path: &DocumentPath) -> (Option<HostSpec>, Report) {
    let (mut budget, mut report) = (Budget::within(Limits::REQUEST), Report::new());
    let document = nmstate::embedded(text, path, &mut budget, &mut report)
        .filter(|document| flaw::report(&document.value, &document.path, &mut report).is_ok());
    (document.map(HostSpec::with_network), report)
}

/// The NMState that a text is, with its bytes as they are when they are unpacked, if it is that and nothing else. Of any
/// other text, [`read_all`] says what it is. Where the document is, is noted in `report`.
pub fn bare_nmstate(text: &Text<'_>, report: &mut Report) -> Option<(NmstateDocument, Vec<u8>)> {
    let (mut budget, mut found) = (Budget::within(Limits::REQUEST), Report::new());
    let content = text.content(&mut budget).ok()?;
    let mut documents = stream::documents(text, &mut budget, &mut found).ok()?;
    let document = documents.pop().filter(|_| documents.is_empty() && found.is_empty())?;
    let is_nmstate = shape::of(&document.value) == Ok(shape::Shape::Nmstate);
    if !is_nmstate || flaw::report_members(&document.value, &document.position, &mut found).is_err() {
        return None;
    }
    report.append(found);
    document.check_octals(report);
    Some((NmstateDocument::new(document.value.into(), text.top()), content.into_owned()))
}

/// Reads the network that a Secret holds: its keys and what is under them, all of which stand at `path`. A host of which
/// nothing is known but its network.
pub fn read_network_secret(data: &[(&str, &[u8])], path: &DocumentPath) -> (Option<HostSpec>, Report) {
    let (mut budget, mut report) = (Budget::within(Limits::REQUEST), Report::new());
    let keys: Vec<&str> = data.iter().map(|(key, _)| *key).collect();
    let mut get = |wanted: &str, _: &mut Budget, report: &mut Report| {
        let path = path.key(wanted);
        let Some((_, bytes)) = data.iter().find(|(key, _)| *key == wanted) else {
            report.error("secret-key-missing", &path, format!("is missing; keys found: {}", keys.join(", ")));
            return Err(Reported);
        };
        Ok((Cow::Borrowed(*bytes), path))
    };
    let network = network_secret::network(&keys, &mut get, &mut budget, &mut report);
    (network.ok().map(HostSpec::with_network), report)
}

/// Reads only the BMCs of hosts from a user's files, for those who drive them and build nothing: networks may be missing.
pub fn read_bmcs<'a>(texts: impl IntoIterator<Item = Text<'a>>) -> (Vec<HostBmc>, Report) {
    let (mut budget, mut report) = (Budget::within(Limits::FILES), Report::new());
    let sorted = Sorted::read(texts, &mut budget, &mut report);
    let bmcs = sorted.map(|sorted| sorted.unwrap_bmcs(&mut budget, &mut report));
    (bmcs.unwrap_or_default(), report)
}
