//! Reads the users' documents to [`HostSpec`]s. It does not interpret networks.
//!
//! - [`text`], [`encoding`], [`yaml`] and [`stream`] turn texts into documents.
//! - [`shapes`] recognizes the shape of each document, and has one reader for each shape.
//! - [`documents`] sorts all documents of an input. [`join`] and [`clusters`] merge what several of them say about one host and
//!   about the cluster.
//! - [`positions`] finds the lines of findings.

mod amount;
mod choose;
mod clusters;
mod described;
mod document;
mod documents;
mod encoding;
mod fields;
mod host_part;
mod join;
mod listing;
mod positions;
mod secret;
mod shapes;
mod stream;
mod text;
mod yaml;

pub use amount::amount;
pub use choose::ChooseError;
pub(crate) use choose::choose;
pub use described::{Described, DescribedHost};
pub(crate) use document::is_object_name;
pub use host_part::HostWithoutNetwork;
pub use positions::{locate, locate_within};
pub use shapes::network_secret::is_network_key;
pub use text::{Text, has_name_of_notes};
pub use yaml::Limits;

use std::borrow::Cow;

use granit_parser::{Event, Parser, ScalarStyle, Span};
use serde_yaml::{Mapping, Value};

use documents::Documents;
use shapes::network_config;
use shapes::network_secret;
use shapes::nmstate;
use shapes::recognize::{self, Shape};
use vocabulary::host::{Cluster, HostBmc, HostSpec, NmstateDocument};
use vocabulary::report::{DocumentPath, Report};
use yaml::{Budget, invalid};

/// What the user's documents say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// The hosts, in the order of their documents.
    pub hosts: Vec<HostSpec>,
    /// Hosts whose documents have something that could not be read, with an error in `report`. They get no image. dayone checks
    /// the rest of their networks together with the others.
    pub flawed: Vec<HostSpec>,
    /// Hosts that no document gives a network. They use DHCP, and get no image.
    pub without_network: Vec<HostWithoutNetwork>,
    /// The cluster that the hosts belong to, if the documents describe it.
    pub cluster: Option<Cluster>,
    /// The findings, with an error for each host that could not be read.
    pub report: Report,
    /// All hosts that the documents describe, each with the errors about it.
    pub described: Described,
}

/// Reads a text of documents: a YAML stream, a JSON object or list, or a Kubernetes `List` of either, at most 4 MiB.
///
/// A text that is not YAML gives no hosts at all, because the unreadable part may contain the Secret of an earlier host.
pub fn read(text: &[u8]) -> Input {
    read_all([Text { name: None, text }])
}

/// Reads several texts as one set of documents. The Secret of a host may be in another text than the host.
pub fn read_all<'a>(texts: impl IntoIterator<Item = Text<'a>>) -> Input {
    read_within(Limits::REQUEST, texts)
}

/// [`read_all`] with other limits.
pub fn read_within<'a>(limits: Limits, texts: impl IntoIterator<Item = Text<'a>>) -> Input {
    let mut input = Input::default();
    let mut budget = Budget::within(limits);
    let mut accounts = Vec::new();
    if let Some(documents) = Documents::read(texts, &mut budget, &mut input.report) {
        let (found, cluster) = documents.hosts(&mut budget, &mut input.report);
        (input.hosts, input.flawed, input.cluster, accounts) = (found.hosts, found.flawed, cluster, found.accounts);
        input.without_network = found.without_network;
    }
    input.described = Described::new(accounts, &input.report);
    input
}

/// Reads NMState that an object contains at `path`, where the member determines the form. Returns a host of which only the
/// network is known.
pub fn read_nmstate(text: &[u8], path: &DocumentPath) -> (Option<HostSpec>, Report) {
    let (mut budget, mut report) = (Budget::within(Limits::REQUEST), Report::new());
    let document = nmstate::embedded(text, path, &mut budget, &mut report)
        .and_then(|document| invalid::check(&document.value, &document.path, &mut report).map(|()| document));
    (document.ok().map(HostSpec::with_network), report)
}

/// Reads a text that is bare NMState, and returns it with its decompressed bytes. Returns nothing for any other text, and
/// [`read_all`] then reports the problem.
pub fn bare_nmstate(text: &Text<'_>, report: &mut Report) -> Option<(NmstateDocument, Vec<u8>)> {
    let (mut budget, mut found) = (Budget::within(Limits::REQUEST), Report::new());
    let content = text.content(&mut budget).ok()?;
    let mut documents = stream::documents(text, &mut budget, &mut found).ok()?;
    let document = documents.pop().filter(|_| documents.is_empty() && found.is_empty())?;
    let is_nmstate = recognize::shape(&document.value) == Ok(Shape::Nmstate);
    if !is_nmstate || invalid::check_members(&document.value, &document.path, &mut found).is_err() {
        return None;
    }
    report.append(found);
    document.check_octals(report);
    document.check_merges(report);
    Some((NmstateDocument::new(document.value.into(), text.top()), content.into_owned()))
}

/// Reads a text that is one mapping and no document about hosts. The error is a sentence whose subject is the text, without values
/// of it.
pub(crate) fn yaml_mapping(text: &str) -> Result<Mapping, String> {
    let mut budget = Budget::within(Limits::REQUEST);
    let documents = yaml::documents(text.as_bytes(), &mut budget).map_err(|problem| problem.to_string())?;
    match <[yaml::Document; 1]>::try_from(documents) {
        Ok([yaml::Document { value: Value::Mapping(mapping), .. }]) => Ok(mapping),
        Err(several) if several.len() > 1 => Err("has several documents".to_owned()),
        _ => Err("is not a mapping".to_owned()),
    }
}

/// Whether the value of a member of [`yaml_mapping`] stands for several: the member appears twice.
pub(crate) fn appears_twice(value: &Value) -> bool {
    invalid::InvalidValue::of(value) == Some(invalid::InvalidValue::DuplicateKey)
}

/// What YAML's reader finds in a text, with its places, up to the first error.
pub(crate) fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Span)> {
    Parser::new_from_str_with_options(text, yaml::options()).map_while(Result::ok)
}

/// The names of the anchors in a text, up to the first error. Each has its line, counted from 1.
pub(crate) fn anchors(text: &str) -> impl Iterator<Item = (Cow<'_, str>, usize)> {
    let mut options = yaml::options();
    options.emit_anchor_events = true;
    let events = Parser::new_from_str_with_options(text, options).map_while(Result::ok);
    events.filter_map(|(event, span)| match event {
        Event::Anchor(_, name) => Some((name, span.start.line())),
        _ => None,
    })
}

/// Where the line of the first member of the document's mapping begins, in bytes, and its indentation; none if something else is before
/// the member in its line.
pub(crate) fn first_member(text: &str) -> Option<(usize, usize)> {
    let mut inside = events(text).skip_while(|(event, _)| !matches!(event, Event::MappingStart(..))).skip(1);
    let start = inside.next()?.1.byte_range()?.start;
    let before = text.get(..start)?;
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let indentation = start - line;
    before.get(line..)?.bytes().all(|byte| byte == b' ').then_some((line, indentation))
}

/// The lines, from 1, on which a scalar is written without quotes for which this holds, in a member of the document's mapping. If an
/// alias in the member stands for something outside it, those outside count, too.
pub(crate) fn lines_with_plain(text: &str, member: &str, holds: impl Fn(&str) -> bool) -> Vec<usize> {
    let (mut inside, mut outside, mut has_alias) = (Vec::new(), Vec::new(), false);
    // Of the mapping's children, every second one is a key.
    let (mut depth, mut is_key, mut is_inside) = (0_usize, true, false);
    for (event, span) in events(text) {
        match &event {
            Event::SequenceEnd | Event::MappingEnd => depth = depth.saturating_sub(1),
            Event::Scalar(scalar, ScalarStyle::Plain, _, None) if holds(scalar) => {
                let lines = if is_inside { &mut inside } else { &mut outside };
                lines.push(span.start.line());
            }
            Event::Alias(_) => has_alias |= is_inside,
            _ => {}
        }
        if depth == 1 && matches!(event, Event::Scalar(..) | Event::Alias(_) | Event::SequenceEnd | Event::MappingEnd) {
            is_inside = is_key && matches!(&event, Event::Scalar(key, ..) if key == member);
            is_key = !is_key;
        }
        if matches!(event, Event::SequenceStart(..) | Event::MappingStart(..)) {
            depth += 1;
        }
    }
    if has_alias {
        inside.append(&mut outside);
    }
    inside
}

/// Reads cloud-init's `network-config`, or netplan's, at `path` of another document. Returns a host of which only the network is known.
pub(crate) fn read_network_config(document: &Mapping, path: &DocumentPath) -> (Option<HostSpec>, Report) {
    let mut report = Report::new();
    let network = invalid::check_members(document, path, &mut report)
        .and_then(|()| network_config::translate(document, path, &mut report));
    (network.ok().map(HostSpec::with_network), report)
}

/// Reads the network in a Secret at `path` with these keys and contents. Returns a host of which only the network is known.
pub fn read_network_secret(data: &[(&str, &[u8])], path: &DocumentPath) -> (Option<HostSpec>, Report) {
    let (mut budget, mut report) = (Budget::within(Limits::REQUEST), Report::new());
    let keys: Vec<&str> = data.iter().map(|(key, _)| *key).collect();
    let mut get = |wanted: &str, _: &mut Budget, report: &mut Report| {
        let path = path.key(wanted);
        if let Some((_, bytes)) = data.iter().find(|(key, _)| *key == wanted) {
            return Ok((Cow::Borrowed(*bytes), path));
        }
        let message = format!("is missing; keys found: {}", keys.join(", "));
        Err(report.refuse("secret-key-missing", &path, message))
    };
    let network = network_secret::network(&keys, &mut get, &mut budget, &mut report);
    (network.ok().map(HostSpec::with_network), report)
}

/// Reads only the BMCs of hosts from a user's files. The networks may be missing or wrong.
pub fn read_bmcs<'a>(texts: impl IntoIterator<Item = Text<'a>>) -> (Vec<HostBmc>, Report) {
    let (mut budget, mut report) = (Budget::within(Limits::FILES), Report::new());
    let documents = Documents::read(texts, &mut budget, &mut report);
    let bmcs = documents.map(|documents| documents.bmcs(&mut budget, &mut report));
    (bmcs.unwrap_or_default(), report)
}

#[cfg(test)]
mod tests;
