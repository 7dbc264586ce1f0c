//! kubernetes-nmstate's `NodeNetworkConfigurationPolicy`: NMState for the nodes of a running cluster.
//!
//! Source: nmstate/kubernetes-nmstate, `api/shared/nodenetworkconfigurationpolicy_types.go`. Captures are those of
//! nmstate/nmpolicy. dayone reads only `desiredState`, and only for hosts without a network from another document. If a host
//! has one, its policies are for the time after the installation.

mod merge;

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::Value;

use crate::input::document::Object;
use crate::input::fields::Fields;
use crate::input::host_part::HostPart;
use crate::input::join::Hosts;
use crate::input::listing::keys;
use crate::input::yaml::{self, Budget};
use vocabulary::host::NmstateDocument;
use vocabulary::report::{DocumentPath, Report, Reported};

pub(super) const KIND: &str = "NodeNetworkConfigurationPolicy";
pub(super) const API_VERSIONS: &[&str] = &["nmstate.io/v1", "nmstate.io/v1beta1", OLD_VERSION];
/// The version that kubernetes-nmstate no longer serves. Its members are the same.
const OLD_VERSION: &str = "nmstate.io/v1alpha1";

/// The label that selects one host.
const HOST_LABEL: &str = "kubernetes.io/hostname";

/// All policies of an input.
#[derive(Default)]
pub(in crate::input) struct Policies {
    /// Each with the place of its document among all.
    all: Vec<(usize, Object)>,
    names: BTreeSet<String>,
}

/// The hosts that a policy is for.
enum Selected<'a> {
    All,
    Host(&'a str),
    /// Nodes with labels, which are unknown before the nodes exist: the path and the message of the finding about that.
    Unknown(DocumentPath, String),
}

/// Warns of a version that current clusters refuse.
fn check_version(object: &Object, report: &mut Report) {
    if object.fields().mapping.get("apiVersion").and_then(Value::as_str) == Some(OLD_VERSION) {
        let message = format!(
            "is {OLD_VERSION}, which kubernetes-nmstate no longer serves: dayone reads it as {}; write that",
            API_VERSIONS.first().copied().unwrap_or_default()
        );
        report.warning("api-version-old", &object.path().key("apiVersion"), message);
    }
}

impl Policies {
    /// Adds a policy. Policies have no namespaces.
    pub(in crate::input) fn add(&mut self, order: usize, object: Object, report: &mut Report) {
        check_version(&object, report);
        if !self.names.insert(object.name.clone()) {
            report.error("duplicate-object", object.path(), "appears twice; dayone cannot know which one counts");
            return;
        }
        self.all.push((order, object));
    }

    /// Gives hosts the networks that policies have for them.
    pub(in crate::input) fn join(mut self, hosts: &mut Hosts, budget: &mut Budget, report: &mut Report) {
        self.all.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        let mut applied = Applied::default();
        let others_have_networks = hosts.iter().any(|(_, part)| part.network.is_some());
        for (order, object) in &self.all {
            let Ok(selected) = selected(object, report) else { continue };
            match selected {
                Selected::All => applied.all.push((*order, object)),
                Selected::Host(name) => match hosts.find_node(name) {
                    Some(index) if hosts.get(index).is_some_and(|part| part.network.is_some()) => {
                        ignore(object, &format!("the host {name} has its first network elsewhere"), report);
                    }
                    Some(index) => applied.known.entry(index).or_default().push((*order, object)),
                    None if others_have_networks => {
                        let why = format!("no other document here describes the host {name}");
                        ignore(object, &why, report);
                    }
                    None => applied.new.entry(name).or_default().push((*order, object)),
                },
                Selected::Unknown(..) if others_have_networks => {
                    ignore(object, "the hosts here have their first networks elsewhere", report);
                }
                Selected::Unknown(path, message) => report.error("policy-selector", &path, message),
            }
        }
        applied.finish(hosts, others_have_networks, budget, report);
    }
}

/// Policies by their hosts, each with its place among all documents.
#[derive(Default)]
struct Applied<'a> {
    all: Vec<(usize, &'a Object)>,
    /// For hosts that other documents describe.
    known: BTreeMap<usize, Vec<(usize, &'a Object)>>,
    /// For hosts that only policies name.
    new: BTreeMap<&'a str, Vec<(usize, &'a Object)>>,
}

/// The states of policies by their names. Those that cannot be read, which was reported, have none.
type States<'a> = BTreeMap<&'a str, Option<Fields<'a>>>;

impl<'a> Applied<'a> {
    fn finish(mut self, hosts: &mut Hosts, others_have_networks: bool, budget: &mut Budget, report: &mut Report) {
        if self.known.is_empty() && self.new.is_empty() && !self.all.is_empty() {
            // No policy names a host, so they are for every host without a network.
            self.known =
                hosts.iter().filter(|(_, part)| part.network.is_none()).map(|(index, _)| (index, Vec::new())).collect();
            if self.known.is_empty() {
                return self.finish_nameless(hosts, others_have_networks, report);
            }
        }
        // A policy without a selector may be for thousands of hosts.
        if let (Err(problem), Some(first)) = (budget.take_copies(self.size()), self.policies().next()) {
            report.error(problem.code, first.path(), problem.message);
            return;
        }
        let (states, mut errors) = (self.states(report), merge::Known::new());
        for (index, own) in self.known {
            let policies = with_all(own, &self.all);
            let name = hosts.get(index).and_then(HostPart::name).unwrap_or("the host").to_owned();
            if let Some((order, network)) = network(&name, &policies, &states, &mut errors, report) {
                let path = network.path.clone();
                let part = HostPart { network: Some(network.into()), ..HostPart::new(KIND, path) };
                hosts.absorb(index, order, part, report);
            }
        }
        for (name, own) in self.new {
            let selector = own.first().map(|(_, object)| selector_path(object)).unwrap_or_default();
            let policies = with_all(own, &self.all);
            if let Some((order, network)) = network(name, &policies, &states, &mut errors, report) {
                let name = Some((name.to_owned(), selector));
                let path = network.path.clone();
                let part = HostPart { name, network: Some(network.into()), ..HostPart::new(KIND, path) };
                hosts.push(order, part, report);
            }
        }
    }

    /// Returns all policies.
    fn policies(&self) -> impl Iterator<Item = &'a Object> {
        let own = self.known.values().chain(self.new.values()).flatten();
        self.all.iter().chain(own).map(|(_, object)| *object)
    }

    /// Reads the states of all policies, each once: thousands of hosts may share a policy with thousands of errors.
    fn states(&self, report: &mut Report) -> States<'a> {
        self.policies().map(|object| (object.name.as_str(), desired_state(object, report).ok())).collect()
    }

    /// Returns how many values the networks of all hosts have together, and how many bytes of text.
    fn size(&self) -> (usize, usize) {
        let size_of = |policies: &[(usize, &Object)]| {
            yaml::total(policies.iter().map(|(_, object)| yaml::size_of_members(&object.document.value)))
        };
        let (values, text) = size_of(&self.all);
        let hosts = self.known.len() + self.new.len();
        let for_all = (values.saturating_mul(hosts), text.saturating_mul(hosts));
        let own = self.known.values().chain(self.new.values()).map(|policies| size_of(policies));
        yaml::total(own.chain([for_all]))
    }

    /// Handles policies that name no host, if no host lacks a network.
    fn finish_nameless(self, hosts: &mut Hosts, others_have_networks: bool, report: &mut Report) {
        if others_have_networks {
            for (_, object) in self.all {
                ignore(object, "the hosts here have their first networks elsewhere", report);
            }
            return;
        }
        let states = self.states(report);
        if let Some((order, network)) = network("the host", &self.all, &states, &mut merge::Known::new(), report) {
            let message = format!(
                "names no host ({HOST_LABEL}), nor does another policy: dayone combines them for one host without a \
                 name"
            );
            if let Some((_, first)) = self.all.first() {
                report.warning("policy-without-host", &first.path().key("spec").key("nodeSelector"), message);
            }
            hosts.push(order, HostPart::nameless(KIND, network), report);
        }
    }
}

/// Returns the policies of one host and the policies for all hosts, sorted by name.
fn with_all<'a>(mut own: Vec<(usize, &'a Object)>, all: &[(usize, &'a Object)]) -> Vec<(usize, &'a Object)> {
    own.extend(all);
    own.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    own
}

fn ignore(object: &Object, why: &str, report: &mut Report) {
    let message = format!("is ignored: {why}, and policies apply to running hosts");
    report.warning("policy-left-aside", object.path(), message);
}

fn selector_path(object: &Object) -> DocumentPath {
    object.path().key("spec").key("nodeSelector").key(HOST_LABEL)
}

fn selected<'a>(object: &'a Object, report: &mut Report) -> Result<Selected<'a>, Reported> {
    let spec = object.spec(report)?;
    let Some(selector) = spec.mapping("nodeSelector", report)?.filter(|selector| !selector.mapping.is_empty()) else {
        return Ok(Selected::All);
    };
    if let Some(name) = selector.text(HOST_LABEL, report)? {
        return Ok(Selected::Host(name));
    }
    let message = format!(
        "selects nodes by labels ({}), which do not exist before the nodes; name the host with {HOST_LABEL}",
        keys([selector.mapping])
    );
    Ok(Selected::Unknown(selector.path, message))
}

/// Returns the network that the policies of one host describe together, and the place of the first of them.
fn network(
    host: &str,
    policies: &[(usize, &Object)],
    states: &States<'_>,
    errors: &mut merge::Known,
    report: &mut Report,
) -> Option<(usize, NmstateDocument)> {
    let states: Option<Vec<_>> =
        policies.iter().map(|(_, object)| states.get(object.name.as_str())?.as_ref()).collect();
    let states = states?;
    let order = policies.iter().map(|(order, _)| *order).min()?;
    let document = match states.as_slice() {
        [only] => NmstateDocument::new(Value::Mapping(only.mapping.clone()), only.path.clone()),
        several => merge::merged(host, several, errors, report).ok()?,
    };
    Some((order, document))
}

fn desired_state<'a>(object: &'a Object, report: &mut Report) -> Result<Fields<'a>, Reported> {
    const LIVE: &str = "a policy captures the state of a running node, and before the first boot no node is running";
    let spec = object.spec(report)?;
    let capture = spec.mapping.get("capture").filter(|capture| !capture.is_null());
    if capture.is_some_and(|capture| capture.as_mapping().is_none_or(|members| !members.is_empty())) {
        let message = format!("cannot be read: {LIVE}; write the value that it would find");
        return Err(spec.wrong("capture", "policy-capture", message, report));
    }
    let Some(state) = spec.whole_mapping("desiredState", report)? else {
        let message = "is missing: write the network there, as NMState";
        return Err(spec.wrong("desiredState", "network-missing", message, report));
    };
    let mut found = BTreeSet::new();
    for (key, value) in state.mapping {
        expressions(value, &state.path.key(key.as_str().unwrap_or("?")), &mut found);
    }
    let mut found: Vec<DocumentPath> = found.into_iter().collect();
    found.sort_by_cached_key(DocumentPath::subject);
    for path in &found {
        report.error(
            "policy-capture",
            path,
            format!("is an nmpolicy expression: {LIVE}; write the value that it stands for"),
        );
    }
    if found.is_empty() { Ok(state) } else { Err(Reported) }
}

/// Collects the paths of nmpolicy's expressions: `{{ capture.primary-nic.interfaces.0.name }}`. The recursion ends, because the
/// reader limits the depth.
fn expressions(value: &Value, path: &DocumentPath, found: &mut BTreeSet<DocumentPath>) {
    match value {
        Value::String(text) if text.trim_start().starts_with("{{") => {
            found.insert(path.clone());
        }
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                expressions(item, &path.index(index), found);
            }
        }
        Value::Mapping(members) => {
            for (key, member) in members {
                expressions(member, &path.key(key.as_str().unwrap_or("?")), found);
            }
        }
        _ => {}
    }
}
