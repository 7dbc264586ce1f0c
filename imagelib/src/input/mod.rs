//! From the documents that users have to [`HostSpec`]s. Nothing of a network is interpreted here.
//!
//! A document says what it is by its `kind` and `apiVersion`, or by the members that only NMState has; there is no
//! guessing. Each shape has a file of its own; a new one is that file, an arm in [`read`] and a line in
//! [`UNDERSTOOD`].

mod bare_metal_host;
mod bmc;
mod brackets;
mod choose;
mod nmstate;
mod object;
mod secret;
mod stream;
mod yaml;

pub use choose::{ChooseError, choose};

use std::collections::BTreeSet;

use serde_yaml::Value;

use crate::host::{HostBmc, HostSpec};
use crate::report::{DocumentPath, Report};
use object::{Object, Reported};
use secret::Secrets;
use stream::Document;
use yaml::Budget;

/// The shapes that describe hosts, for sentences.
const UNDERSTOOD: &str = "an NMState document (a mapping with interfaces, routes, dns-resolver, …, without kind) and \
     BareMetalHost (metal3.io/v1alpha1) with its Secret (v1)";

/// What was found in a user's documents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// The hosts that could be unwrapped, in the order of their documents.
    pub hosts: Vec<HostSpec>,
    /// What the user should know; an error for each host that could not be unwrapped.
    pub report: Report,
}

/// One of several texts that belong together.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// What the user calls it, for findings: the name of a file. A single text needs none.
    pub name: Option<&'a str>,
    /// Its content.
    pub text: &'a [u8],
}

impl Text<'_> {
    fn top(&self) -> DocumentPath {
        self.name.map_or_else(DocumentPath::root, DocumentPath::document)
    }

    /// Where its document `number` (from 1) stands.
    fn document(&self, number: usize) -> DocumentPath {
        match self.name {
            Some(name) => DocumentPath::document(&format!("{name}: document {number}")),
            None => DocumentPath::document(&format!("document {number}")),
        }
    }
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
    let mut input = Input::default();
    let mut budget = Budget::new();
    if let Some(sorted) = sorted(texts, &mut budget, &mut input.report) {
        input.hosts = sorted.unwrap_hosts(&mut budget, &mut input.report);
    }
    input
}

/// Reads NMState that an object holds at `path`, where its place says what it is: a host of which nothing is known but
/// its network.
pub fn read_nmstate(text: &[u8], path: &DocumentPath) -> (Option<HostSpec>, Report) {
    let (mut budget, mut report) = (Budget::new(), Report::new());
    let document = nmstate::embedded(text, path, &mut budget, &mut report);
    (document.map(HostSpec::with_network), report)
}

/// Reads only the BMCs of hosts, for those who drive them and build nothing: networks may be missing.
pub fn read_bmcs<'a>(texts: impl IntoIterator<Item = Text<'a>>) -> (Vec<HostBmc>, Report) {
    let (mut budget, mut report) = (Budget::new(), Report::new());
    let sorted = sorted(texts, &mut budget, &mut report);
    let bmcs = sorted.map(|sorted| sorted.unwrap_bmcs(&mut budget, &mut report));
    (bmcs.unwrap_or_default(), report)
}

/// The documents in texts; none, with the reason reported, where there are none or some cannot be read.
fn sorted<'a>(texts: impl IntoIterator<Item = Text<'a>>, budget: &mut Budget, report: &mut Report) -> Option<Sorted> {
    let mut documents = Vec::new();
    let mut unreadable = false;
    for text in texts {
        match stream::documents(&text, budget, report) {
            Ok(mut found) => {
                if let [Document { value, position }] = found.as_mut_slice()
                    && nmstate::is_nmstate(value)
                {
                    *position = text.top();
                }
                documents.append(&mut found);
            }
            Err(problem) => {
                unreadable = true;
                report.error(problem.code, &text.top(), format!("the input {problem}"));
            }
        }
    }
    if unreadable {
        return None;
    }
    if documents.is_empty() && report.is_empty() {
        let message = format!("the input holds no document; understood are {UNDERSTOOD}");
        report.error("no-document", &DocumentPath::root(), message);
        return None;
    }
    Some(Sorted::new(documents, report))
}

/// A document that describes a host.
enum HostDocument {
    Nmstate(Document),
    BareMetalHost(Object),
}

/// Documents by what they are. Hosts wait here until all Secrets are known.
#[derive(Default)]
struct Sorted {
    hosts: Vec<HostDocument>,
    /// The names of the hosts that have one.
    names: BTreeSet<String>,
    secrets: Secrets,
    /// What was of no kind that is understood: where, and a sentence about it.
    others: Vec<(DocumentPath, String)>,
    /// Whether any document was of a host's kind, well-formed or not.
    any_host: bool,
}

impl Sorted {
    fn new(documents: Vec<Document>, report: &mut Report) -> Self {
        let mut sorted = Self::default();
        for document in documents {
            // What is wrong with one document keeps nobody from reading the others.
            let _: Result<(), Reported> = sorted.add(document, report);
        }
        sorted
    }

    fn add(&mut self, document: Document, report: &mut Report) -> Result<(), Reported> {
        if nmstate::is_nmstate(&document.value) {
            self.any_host = true;
            if self.hosts.iter().any(|host| matches!(host, HostDocument::Nmstate(_))) {
                let message = "is a second NMState document; having no names, the two hosts cannot be told apart";
                report.error("nmstate-second-document", &document.position, message);
                return Err(Reported);
            }
            self.hosts.push(HostDocument::Nmstate(document));
            return Ok(());
        }
        match document.value.get("kind").and_then(Value::as_str) {
            Some(bare_metal_host::KIND) => {
                self.any_host = true;
                let object = Object::read(document, bare_metal_host::KIND, bare_metal_host::API_VERSION, report)?;
                if !self.names.insert(object.name.clone()) {
                    let message = "is there twice; hosts are told apart by their names alone, not by namespaces";
                    report.error("duplicate-object", &object.path, message);
                    return Err(Reported);
                }
                self.hosts.push(HostDocument::BareMetalHost(object));
            }
            Some(secret::KIND) => {
                self.secrets.add(Object::read(document, secret::KIND, secret::API_VERSION, report)?, report);
            }
            Some(kind) => {
                let name = document.value.get("metadata").and_then(|metadata| metadata.get("name")?.as_str());
                let named = object::listed([kind].into_iter().chain(name)).replace(", ", "/");
                self.others.push((document.position, format!("is {named}, a kind that is not read")));
            }
            None => {
                let keys = object::keys([&document.value]);
                let message = format!("has neither a kind nor members of NMState; keys found: {keys}");
                self.others.push((document.position, message));
            }
        }
        Ok(())
    }

    fn unwrap_bmcs(mut self, budget: &mut Budget, report: &mut Report) -> Vec<HostBmc> {
        let mut bmcs = Vec::new();
        for document in self.hosts {
            if let HostDocument::BareMetalHost(object) = document {
                bmcs.extend(bare_metal_host::host_bmc(&object, &mut self.secrets, budget, report).ok().flatten());
            }
        }
        bmcs
    }

    fn unwrap_hosts(mut self, budget: &mut Budget, report: &mut Report) -> Vec<HostSpec> {
        for (position, message) in self.others {
            if self.any_host {
                report.warning("document-not-read", &position, message);
            } else {
                report.error("document-not-read", &position, format!("{message}; read are {UNDERSTOOD}"));
            }
        }
        if !self.any_host && !report.has_errors() {
            let message = format!("the input holds Secrets, but no host; hosts are {UNDERSTOOD}");
            report.error("no-host", &DocumentPath::root(), message);
        }
        let mut hosts = Vec::new();
        for document in self.hosts {
            match document {
                HostDocument::Nmstate(document) => hosts.push(nmstate::host(document.value, document.position)),
                HostDocument::BareMetalHost(object) => {
                    hosts.extend(bare_metal_host::host(&object, &mut self.secrets, budget, report));
                }
            }
        }
        // Where a host could not be read, its Secret is not used either, and to say so would only distract.
        if !report.has_errors() {
            self.secrets.report_unused(report);
        }
        hosts
    }
}
