//! All that a user handed over, sorted by what it is. Hosts wait here until everything that they may refer to is known.

use std::collections::BTreeSet;

use serde_yaml::Value;

use super::bmc;
use super::cluster::{self, Clusters};
use super::document::Document;
use super::flaw::{self, Reported};
use super::fleet::{self, NamedTables};
use super::host_document::HostDocument;
use super::join::{By, Finished, Hosts};
use super::keyfiles;
use super::listing::listed;
use super::node_network_policy::{self, Policies};
use super::object::Object;
use super::part::HostPart;
use super::secret::{self, Secrets};
use super::shape::{self, Shape};
use super::shares;
use super::site::{self, Site};
use super::stream;
use super::text::{INVENTORIES, NamedText, Text, TextKind};
use super::yaml::{Budget, Problem};
use super::{agent_config, bare_metal_host, beside, install_config, network_data, nmstate_config};
use vocabulary::host::{Cluster, HostBmc, NmstateDocument};
use vocabulary::report::{DocumentPath, LineColumn, Report, Severity};

/// The shapes that describe hosts, for sentences.
pub(super) const UNDERSTOOD: &str = "NMState (a mapping with interfaces, routes, dns-resolver, …, without kind), OpenStack's network \
     data (a mapping with links, networks, services), BareMetalHost with its Secret, NMStateConfig, install-config.yaml \
     (platform.baremetal), agent-config.yaml, ClusterInstance, SiteConfig, NodeNetworkConfigurationPolicy, HostFleet (with its table) and NetworkManager's \
     profiles (.nmconnection)";

/// How many documents of hosts a thread reads at a time.
const DOCUMENTS_AT_ONCE: usize = 32;

/// Documents by what they are, and texts that are none.
#[derive(Default)]
pub(super) struct Sorted<'a> {
    hosts: Vec<HostDocument>,
    /// The names of every BareMetalHost.
    names: BTreeSet<String>,
    /// Objects that say what the cluster is.
    clusters: Vec<Object>,
    secrets: Secrets,
    /// Connection profiles of NetworkManager.
    keyfiles: Vec<NamedText<'a>>,
    /// Files that fleets name.
    tables: Vec<NamedText<'a>>,
    /// Ansible inventories in YAML form, which fleet files name, too.
    inventories: Vec<Document>,
    /// What was of no kind that is understood: where, and a sentence about it.
    others: Vec<(DocumentPath, String)>,
    /// Whether any document was of a host's kind, well-formed or not.
    any_host: bool,
    /// Whether any was of a kind that is expected beside hosts.
    any_beside: bool,
}

impl<'a> Sorted<'a> {
    /// Sorts what is in texts; none, with the reason reported, where there is nothing or some cannot be read.
    pub(super) fn read(
        texts: impl IntoIterator<Item = Text<'a>>,
        budget: &mut Budget,
        report: &mut Report,
    ) -> Option<Self> {
        let mut sorted = Self::default();
        let mut documents = Vec::new();
        let mut unreadable = false;
        // Of a single text it is known which is empty.
        let mut only = None;
        for (number, text) in texts.into_iter().enumerate() {
            only = (number == 0).then(|| text.top());
            if let Err(problem) = sorted.take(text, &mut documents, budget, report) {
                unreadable = true;
                let message = if problem.code == "invalid-yaml" && text.begins_as_inventory(budget) {
                    let ends = INVENTORIES.join(" or ");
                    format!(
                        "the input is not YAML, and looks like an Ansible inventory in INI form; give the file a name that \
                         ends in {ends}"
                    )
                } else {
                    format!("the input {problem}")
                };
                // What is wrong with the whole text is at its beginning, so that it is said of which file.
                report.error_in_text(problem.code, &text.top(), message, problem.position.or(Some(LineColumn::FIRST)));
            }
        }
        if unreadable {
            return None;
        }
        sorted.any_host |= !sorted.keyfiles.is_empty();
        if documents.is_empty() && sorted.keyfiles.is_empty() && sorted.tables.is_empty() && report.is_empty() {
            let message = format!("the input contains no document; dayone reads {UNDERSTOOD}");
            match only {
                Some(top) => report.error_in_text("no-document", &top, message, Some(LineColumn::FIRST)),
                None => report.error("no-document", &DocumentPath::root(), message),
            }
            return None;
        }
        for document in documents {
            // What is wrong with one document keeps nobody from reading the others.
            let _: Result<(), Reported> = sorted.add(document, report);
        }
        Some(sorted)
    }

    fn take(
        &mut self,
        text: Text<'a>,
        documents: &mut Vec<Document>,
        budget: &mut Budget,
        report: &mut Report,
    ) -> Result<(), Problem> {
        match text.kind() {
            TextKind::Documents => documents.append(&mut stream::documents(&text, budget, report)?),
            TextKind::Keyfile => self.keyfiles.push(text.named(budget)?),
            TextKind::Table => self.tables.push(text.named(budget)?),
        }
        Ok(())
    }

    fn add(&mut self, document: Document, report: &mut Report) -> Result<(), Reported> {
        match shape::of(&document.value) {
            Ok(shape @ (Shape::Nmstate | Shape::NetworkData)) => {
                self.any_host = true;
                if let Some(first) = self.hosts.iter().find_map(HostDocument::nameless) {
                    let what = match shape {
                        Shape::Nmstate if first == shape => "a second NMState document".to_owned(),
                        _ if first == shape => format!("a second document of {shape}"),
                        _ => format!("{shape}, besides {first}"),
                    };
                    let message = format!("is {what}; without names, dayone cannot tell the two hosts apart");
                    report.error("nmstate-second-document", &document.position, message);
                    return Err(Reported);
                }
                if shape == Shape::Nmstate {
                    flaw::report_members(&document.value, &document.position, report)?;
                }
                let of = if shape == Shape::Nmstate { HostDocument::Nmstate } else { HostDocument::NetworkData };
                self.hosts.push(of(document));
            }
            Ok(Shape::InstallConfig) => {
                self.any_host = true;
                self.hosts.push(HostDocument::InstallConfig(document));
            }
            Ok(Shape::Inventory) => self.inventories.push(document),
            Ok(Shape::Kind(kind)) => {
                let kind = kind.to_owned();
                self.add_object(document, &kind, report)?;
            }
            Err(("document-not-read", message)) => self.others.push((document.position, message)),
            Err((code, message)) => {
                report.error(code, &document.position, message);
                return Err(Reported);
            }
        }
        Ok(())
    }

    fn add_object(&mut self, document: Document, kind: &str, report: &mut Report) -> Result<(), Reported> {
        let read = |document, versions: &[&str], report: &mut Report| Object::read(document, kind, versions, report);
        match kind {
            secret::KIND => {
                let object = read(document, &secret::API_VERSIONS, report)?;
                self.secrets.add(object, report);
            }
            cluster::KIND => self.clusters.push(read(document, &cluster::API_VERSIONS, report)?),
            bare_metal_host::KIND => {
                self.any_host = true;
                let object = read(document, &bare_metal_host::API_VERSIONS, report)?;
                if !self.names.insert(object.name.clone()) {
                    let message = "appears twice; dayone distinguishes hosts by their names alone, not by namespaces";
                    report.error("duplicate-object", &object.path, message);
                    return Err(Reported);
                }
                self.hosts.push(HostDocument::BareMetalHost(object));
            }
            agent_config::KIND => {
                self.any_host = true;
                self.hosts.push(HostDocument::AgentConfig(document));
            }
            nmstate_config::KIND => {
                self.any_host = true;
                self.hosts.push(HostDocument::NmstateConfig(read(document, &nmstate_config::API_VERSIONS, report)?));
            }
            node_network_policy::KIND => {
                self.any_host = true;
                let object = read(document, &node_network_policy::API_VERSIONS, report)?;
                node_network_policy::check_version(&object, report);
                self.hosts.push(HostDocument::Policy(object));
            }
            fleet::KIND => {
                self.any_host = true;
                self.hosts.push(HostDocument::Fleet(read(document, &fleet::API_VERSIONS, report)?));
            }
            _ if let Some((kind, versions)) = site::versions(kind) => {
                self.any_host = true;
                self.hosts.push(HostDocument::Site(Site { kind, object: read(document, versions, report)? }));
            }
            _ if beside::is_expected(&document.value, kind) => self.any_beside = true,
            _ => {
                let name = document.value.get("metadata").and_then(|metadata| metadata.get("name")?.as_str());
                let named = listed([kind].into_iter().chain(name)).replace(", ", "/");
                self.others.push((document.position, format!("is {named}, a kind that dayone does not read")));
            }
        }
        Ok(())
    }

    /// The BMCs of all hosts that have one, each host once.
    pub(super) fn unwrap_bmcs(self, budget: &mut Budget, report: &mut Report) -> Vec<HostBmc> {
        let mut found: Vec<(HostBmc, DocumentPath)> = Vec::new();
        let tables = NamedTables::new(self.tables, self.inventories);
        for document in self.hosts {
            let bmcs = match document {
                HostDocument::BareMetalHost(object) => {
                    let bmc = bare_metal_host::host_bmc(&object, &self.secrets, budget, report);
                    bmc.map(|bmc| bmc.map(|bmc| (bmc, object.path.key("spec").key("bmc"))).into_iter().collect())
                }
                HostDocument::InstallConfig(document) => install_config::bmcs(&document, report),
                HostDocument::AgentConfig(document) => agent_config::bmcs(&document, report),
                HostDocument::Site(site) => site.bmcs(&self.secrets, budget, report),
                HostDocument::Fleet(object) => fleet::bmcs(&object, &tables, &self.secrets, budget, report),
                HostDocument::Nmstate(_)
                | HostDocument::NetworkData(_)
                | HostDocument::NmstateConfig(_)
                | HostDocument::Policy(_) => Ok(Vec::new()),
            };
            found.extend(bmcs.into_iter().flatten());
        }
        bmc::one_a_host(found, report)
    }

    /// All hosts, with their networks, and the cluster that they are of.
    pub(super) fn unwrap_hosts(mut self, budget: &mut Budget, report: &mut Report) -> (Finished, Option<Cluster>) {
        let tables = NamedTables::new(std::mem::take(&mut self.tables), std::mem::take(&mut self.inventories));
        let any_fleet = self.hosts.iter().any(|host| matches!(host, HostDocument::Fleet(_)));
        if !any_fleet {
            let unread =
                tables.unread().map(|(path, what)| (path.clone(), format!("{what}, which no HostFleet names")));
            self.others.extend(unread);
        }
        self.report_others(report);
        let mut hosts = Hosts::default();
        let mut clusters = Clusters::default();
        let mut policies = Policies::default();
        let (mut objects, mut installs, mut agents, mut networks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut sites, mut fleets) = (Vec::new(), Vec::new());
        let (mut without_hosts, mut any_agent_config) = (None, false);
        let (first_profile, has_nameless) = (self.hosts.len(), self.hosts.iter().any(|host| host.nameless().is_some()));
        let read = self.read_objects(&tables, DOCUMENTS_AT_ONCE, budget);
        for (order, (document, (parts, findings))) in std::mem::take(&mut self.hosts).into_iter().zip(read).enumerate()
        {
            document.check_octals(report);
            report.append(findings);
            let parts = parts.into_iter().map(|part| (order, part));
            match document {
                HostDocument::Nmstate(Document { value, position, .. }) => {
                    let network = NmstateDocument::new(Value::Mapping(value), position);
                    hosts.push(order, HostPart::nameless("NMState", network), report);
                }
                HostDocument::NetworkData(document) => {
                    if let Ok(network) = network_data::translate(&document.value, &document.position, report) {
                        hosts.push(order, HostPart::nameless("network data", network), report);
                    }
                }
                HostDocument::BareMetalHost(_) => objects.extend(parts),
                HostDocument::InstallConfig(document) => {
                    let Ok(read) = install_config::read(&document, report) else { continue };
                    clusters.add(install_config::SHAPE, read.cluster, report);
                    installs.extend(read.hosts.into_iter().map(|part| (order, part)));
                    without_hosts = read.without_hosts;
                }
                HostDocument::AgentConfig(document) => {
                    let Ok((parts, cluster)) = agent_config::read(&document, report) else { continue };
                    any_agent_config = true;
                    clusters.add(agent_config::KIND, cluster, report);
                    agents.extend(parts.into_iter().map(|part| (order, part)));
                }
                HostDocument::NmstateConfig(object) => {
                    networks.extend(nmstate_config::part(&object, report).ok().map(|part| (order, part)));
                }
                HostDocument::Policy(object) => policies.add(order, object, report),
                HostDocument::Site(site) => {
                    for cluster in site.cluster_facts(report).into_iter().flatten() {
                        clusters.add(site.kind, cluster, report);
                    }
                    sites.extend(parts);
                }
                HostDocument::Fleet(_) => fleets.extend(parts),
            }
        }
        for object in &self.clusters {
            if let Ok(cluster) = cluster::of_object(object, report) {
                clusters.add(cluster::KIND, cluster, report);
            }
        }
        for machines in [objects, installs, agents, sites, fleets] {
            hosts.join(machines, [By::Name, By::Mac], report);
        }
        hosts.join(networks, [By::Mac, By::Name], report);
        let profiles = self.profiles(first_profile, has_nameless, report);
        hosts.join(profiles, [By::Name, By::Mac], report);
        policies.join(&mut hosts, report);
        let found = hosts.finish(report);
        let cluster = clusters.finish(report);
        if found.hosts.is_empty() && !report.has_errors() {
            // An agent-config may leave its hosts out altogether: they use DHCP.
            let severity = if found.left_out || any_agent_config { Severity::Warning } else { Severity::Error };
            self.report_no_host(severity, without_hosts, report);
        }
        // Where a host could not be read, its Secret is not used either, and to say so would only distract.
        if !report.has_errors() {
            self.secrets.report_unused(report);
            if any_fleet {
                tables.report_unused(report);
            }
        }
        (found, cluster)
    }

    /// What profiles say of their hosts, whose places among all documents begin at `first`.
    fn profiles(&self, first: usize, mut has_nameless: bool, report: &mut Report) -> Vec<(usize, HostPart)> {
        let mut parts = Vec::new();
        for (order, host) in keyfiles::by_host(&self.keyfiles).iter().enumerate() {
            let is_nameless = host.name.is_none();
            if is_nameless && has_nameless {
                let message = "belongs to a second host without a name; without names, dayone cannot tell the two \
                               apart";
                report.error("nmstate-second-document", &host.path, message);
            } else {
                parts.extend(host.part(report).ok().map(|part| (first + order, part)));
            }
            has_nameless |= is_nameless;
        }
        parts
    }

    /// What each document that refers to others says of its hosts, in their order; nothing of those that do not. A thread
    /// reads `at_once` of them at a time.
    pub(super) fn read_objects(
        &self,
        tables: &NamedTables<'_>,
        at_once: usize,
        budget: &mut Budget,
    ) -> Vec<(Vec<HostPart>, Report)> {
        let read = |document: &HostDocument, budget: &mut Budget| {
            let mut report = Report::new();
            let parts = match document {
                HostDocument::BareMetalHost(object) => {
                    bare_metal_host::part(object, &self.secrets, budget, &mut report).map(|part| vec![part])
                }
                HostDocument::Site(site) => site.parts(&self.secrets, budget, &mut report),
                HostDocument::Fleet(object) => fleet::parts(object, tables, &self.secrets, budget, &mut report),
                _ => Ok(Vec::new()),
            };
            (parts.unwrap_or_default(), report)
        };
        match shares::each(&self.hosts, at_once, budget, read) {
            Some((read, left)) => {
                *budget = left;
                read
            }
            None => self.hosts.iter().map(|document| read(document, budget)).collect(),
        }
    }

    fn report_others(&mut self, report: &mut Report) {
        for (position, message) in std::mem::take(&mut self.others) {
            if self.any_host {
                report.warning("document-not-read", &position, message);
            } else {
                report.error("document-not-read", &position, format!("{message}; dayone reads {UNDERSTOOD}"));
            }
        }
    }

    fn report_no_host(&self, severity: Severity, without_hosts: Option<(DocumentPath, String)>, report: &mut Report) {
        let (path, message) = match without_hosts {
            Some(found) => found,
            None if self.any_host => {
                (DocumentPath::root(), "the input has no host with a network, so there is nothing to build".to_owned())
            }
            None => {
                let what = if self.any_beside { "objects that go with hosts" } else { "Secrets" };
                (
                    DocumentPath::root(),
                    format!("the input contains {what}, but no host; dayone reads hosts from {UNDERSTOOD}"),
                )
            }
        };
        report.add(severity, "no-host", &path, message);
    }
}
