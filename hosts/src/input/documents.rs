//! All documents of an input, by their shapes. Hosts wait here until everything that they may refer to is known.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::clusters::Clusters;
use super::document::{Document, Object, ObjectPaths};
use super::host_part::HostPart;
use super::join::{By, Finished, Hosts};
use super::listing::listed;
use super::secret::{self, Secrets};
use super::shapes::fleet::{NamedTables, OwnDocument};
use super::shapes::node_network_policy::Policies;
use super::shapes::recognize::{self, Shape};
use super::shapes::{self, Found, HostDocument, Reading, Scope, UNDERSTOOD, booleans, cluster, ignored, keyfiles};
use super::stream;
use super::text::{NamedText, Text, TextKind, VariablesOf};
use super::yaml::{Budget, Problem, invalid, octals, parallel};
use vocabulary::host::{Cluster, HostBmc};
use vocabulary::report::{DocumentPath, LineColumn, Repeated, Report, Reported, Severity};

/// How many documents with hosts a thread reads at a time.
const DOCUMENTS_AT_ONCE: usize = 32;

/// Documents by their shapes, and the texts that are not documents.
#[derive(Default)]
pub(super) struct Documents<'a> {
    hosts: Vec<HostDocument>,
    paths: ObjectPaths,
    /// The names of all `BareMetalHost`s.
    names: BTreeSet<String>,
    /// Objects that describe the cluster.
    clusters: Vec<Object>,
    secrets: Secrets,
    /// Connection profiles of NetworkManager.
    keyfiles: Vec<NamedText<'a>>,
    /// The files that fleets may name.
    tables: NamedTables<'a>,
    /// Documents of unknown kinds: the path, and a sentence about it.
    unknown: Vec<(DocumentPath, String)>,
    /// Whether any document describes a host, well-formed or not.
    any_host: bool,
    /// Whether any document has a kind that dayone ignores.
    any_ignored: bool,
}

impl<'a> Documents<'a> {
    /// Reads all documents in the texts. If there is none, or one text cannot be read, it reports that and returns nothing.
    pub(super) fn read(
        texts: impl IntoIterator<Item = Text<'a>>,
        budget: &mut Budget,
        report: &mut Report,
    ) -> Option<Self> {
        let mut sorted = Self::default();
        let mut documents = Vec::new();
        let mut unreadable = false;
        // If there is only one text, the finding can name it.
        let mut only = None;
        for (number, text) in texts.into_iter().enumerate() {
            only = (number == 0).then(|| text.top());
            if let Err(problem) = sorted.read_text(text, &mut documents, budget, report) {
                unreadable = true;
                let likeness = (problem.code == "invalid-yaml").then(|| text.likeness(budget)).flatten();
                let message = match likeness {
                    Some(likeness) => format!("the input is not YAML, and {likeness}"),
                    None => format!("the input {problem}"),
                };
                // A problem without a position concerns the whole text. Its beginning tells the user which file it is.
                report.error_in_text(problem.code, &text.top(), message, problem.position.or(Some(LineColumn::FIRST)));
            }
        }
        if unreadable {
            return None;
        }
        sorted.any_host |= !sorted.keyfiles.is_empty();
        let is_empty = documents.is_empty() && sorted.keyfiles.is_empty() && sorted.tables.is_empty();
        if is_empty && !sorted.any_ignored && report.is_empty() {
            let message = format!("the input contains no document; dayone reads {UNDERSTOOD}");
            match only {
                Some(top) => report.error_in_text("no-document", &top, message, Some(LineColumn::FIRST)),
                None => report.error("no-document", &DocumentPath::root(), message),
            }
            return None;
        }
        for document in documents {
            // A mistake in one document must not keep dayone from reading the others.
            let _: Result<(), Reported> = sorted.add(document, report);
        }
        Some(sorted)
    }

    fn read_text(
        &mut self,
        text: Text<'a>,
        documents: &mut Vec<Document>,
        budget: &mut Budget,
        report: &mut Report,
    ) -> Result<(), Problem> {
        match text.kind() {
            TextKind::Documents => {
                let mut found = stream::documents(&text, budget, report)?;
                if text.name.is_some_and(ignored::is_kustomization) {
                    let all = found.len();
                    found
                        .retain(|document| !matches!(recognize::shape(&document.value), Err(("document-not-read", _))));
                    self.any_ignored |= found.len() < all;
                }
                documents.append(&mut found);
            }
            TextKind::Keyfile => self.keyfiles.push(text.named(budget)?),
            TextKind::Table => self.tables.add_text(text.named(budget)?),
            TextKind::Variables => {
                if let Some(of) = VariablesOf::parse(text.name_of_file()) {
                    self.tables.add_variables(text.named(budget)?, of);
                }
            }
            TextKind::Workbook => {
                if let Some(own) = OwnDocument::of(&text, budget)? {
                    let mut found = stream::documents(&own.text(), budget, report)?;
                    for document in &mut found {
                        own.name_table(&mut document.value);
                    }
                    documents.append(&mut found);
                }
                self.tables.add_text(text.named(budget)?);
            }
        }
        Ok(())
    }

    fn add(&mut self, mut document: Document, report: &mut Report) -> Result<(), Reported> {
        match recognize::shape(&document.value) {
            Ok(shape @ (Shape::Nmstate | Shape::NetworkData | Shape::NetworkConfig)) => {
                self.any_host = true;
                if let Some(first) = self.hosts.iter().find_map(HostDocument::nameless) {
                    let what = match shape {
                        Shape::Nmstate if first == shape => "a second NMState document".to_owned(),
                        _ if first == shape => format!("a second document of {shape}"),
                        _ => format!("{shape}, besides {first}"),
                    };
                    let message = format!("is {what}; without names, dayone cannot tell the two hosts apart");
                    return Err(report.refuse("nmstate-second-document", &document.path, message));
                }
                self.hosts.push(match shape {
                    Shape::NetworkData => HostDocument::NetworkData(document),
                    Shape::NetworkConfig => HostDocument::NetworkConfig(document),
                    _ => {
                        invalid::check_members(&document.value, &document.path, report)?;
                        HostDocument::Nmstate(document)
                    }
                });
            }
            Ok(Shape::InstallConfig) => {
                self.any_host = true;
                booleans::read_embedded(&mut document);
                self.hosts.push(HostDocument::InstallConfig(document));
            }
            Ok(Shape::Inventory) => {
                octals::mark_variables(&mut document.value, &document.ambiguous, &[]);
                self.tables.add_inventory(document);
            }
            Ok(Shape::Kind(kind)) => {
                let kind = kind.to_owned();
                booleans::read_embedded(&mut document);
                octals::mark_variables(&mut document.value, &document.ambiguous, &["spec", "hosts", "inventory"]);
                self.add_object(document, &kind, report)?;
            }
            Err(("document-not-read", message)) => {
                self.tables.add_unknown(document.path.clone());
                self.unknown.push((document.path, message));
            }
            Err((code, message)) => return Err(report.refuse(code, &document.path, message)),
        }
        Ok(())
    }

    fn add_object(&mut self, document: Document, kind: &str, report: &mut Report) -> Result<(), Reported> {
        if let Some((versions, variant)) = shapes::object_kind(kind) {
            self.any_host = true;
            let host = variant(Object::read(document, kind, versions, &mut self.paths, report)?);
            if let HostDocument::BareMetalHost(object) = &host
                && !self.names.insert(object.name.clone())
            {
                let message = "appears twice; dayone distinguishes hosts by their names alone, not by namespaces";
                return Err(report.refuse("duplicate-object", object.path(), message));
            }
            self.hosts.push(host);
            return Ok(());
        }
        match kind {
            secret::KIND => {
                let object = Object::read(document, kind, secret::API_VERSIONS, &mut self.paths, report)?;
                object.document.check_merges(report);
                self.secrets.add(object, report);
            }
            cluster::KIND => {
                let object = Object::read(document, kind, cluster::API_VERSIONS, &mut self.paths, report)?;
                object.document.check_merges(report);
                self.clusters.push(object);
            }
            shapes::AGENT_CONFIG => {
                self.any_host = true;
                self.hosts.push(HostDocument::AgentConfig(document));
            }
            _ if ignored::is_known(&document.value, kind) => self.any_ignored = true,
            _ => {
                let name = document.value.get("metadata").and_then(|metadata| metadata.get("name")?.as_str());
                let named = listed([kind].into_iter().chain(name)).replace(", ", "/");
                self.unknown.push((document.path, format!("is {named}, a kind that dayone does not read")));
            }
        }
        Ok(())
    }

    /// Reads only the BMCs of the hosts. Several documents may describe the BMC of one host, and must agree.
    pub(super) fn bmcs(self, budget: &mut Budget, report: &mut Report) -> Vec<HostBmc> {
        let mut hosts: Vec<HostPart> = Vec::new();
        let mut by_name = BTreeMap::new();
        for (found, findings) in self.read_hosts(Scope::Bmcs, DOCUMENTS_AT_ONCE, budget) {
            report.append(findings);
            for part in found.parts.into_iter().filter(|part| !part.is_flawed && part.bmc.is_some()) {
                let name = part.name().map_or_else(|| part.path.to_string(), str::to_owned);
                match by_name.entry(name) {
                    Entry::Vacant(entry) => {
                        entry.insert(hosts.len());
                        hosts.push(part);
                    }
                    Entry::Occupied(entry) => {
                        if let Some(known) = hosts.get_mut(*entry.get()) {
                            known.absorb(part, report);
                        }
                    }
                }
            }
        }
        let bmc = |part: HostPart| {
            let name = part.name().map_or_else(|| part.path.to_string(), str::to_owned);
            Some(HostBmc { name, boot_mode: part.boot_mode.map(|(mode, _)| mode), bmc: part.bmc?.0 })
        };
        hosts.into_iter().filter_map(bmc).collect()
    }

    /// Reads all hosts with their networks, and the cluster that they belong to.
    pub(super) fn hosts(mut self, budget: &mut Budget, report: &mut Report) -> (Finished, Option<Cluster>) {
        let any_fleet = self.hosts.iter().any(|host| matches!(host, HostDocument::Fleet(_)));
        if !any_fleet {
            let unread = self.tables.unread();
            self.unknown.extend(unread.map(|(path, what)| (path.clone(), format!("{what}, which no HostFleet names"))));
        }
        self.report_unknown(report);
        let (first_profile, has_nameless) = (self.hosts.len(), self.hosts.iter().any(|host| host.nameless().is_some()));
        let any_agent_config = self.hosts.iter().any(|host| matches!(host, HostDocument::AgentConfig(_)));
        let mut parts: BTreeMap<_, Vec<(usize, HostPart)>> = BTreeMap::new();
        let (mut clusters, mut policies, mut without_hosts) = (Clusters::default(), Policies::default(), None);
        let read = self.read_hosts(Scope::Hosts, DOCUMENTS_AT_ONCE, budget);
        // Each host that names a Secret reports what is wrong there.
        let mut repeated = Repeated::default();
        for (order, (host, (mut found, findings))) in std::mem::take(&mut self.hosts).into_iter().zip(read).enumerate()
        {
            host.document().check_octals(report);
            if host.is_for_clusters() {
                host.document().check_merges(report);
            }
            if let [part] = found.parts.as_mut_slice() {
                // Also in its Secrets.
                let errors = findings.findings().iter().filter(|finding| finding.severity == Severity::Error);
                part.places.extend(errors.map(|finding| finding.path.clone()));
            }
            repeated.add_of_places(report, findings);
            for (shape, cluster) in found.clusters {
                clusters.add(shape, cluster, report);
            }
            without_hosts = found.without_hosts.or(without_hosts);
            parts.entry(host.join_order()).or_default().extend(found.parts.into_iter().map(|part| (order, part)));
            if let HostDocument::Policy(object) = host {
                policies.add(order, object, report);
            }
        }
        for object in &self.clusters {
            if let Ok(cluster) = cluster::read(object, report) {
                clusters.add(cluster::KIND, cluster, report);
            }
        }
        let mut hosts = Hosts::default();
        for ((_, ways), parts) in parts {
            hosts.join(parts, ways, report);
        }
        let profiles = self.profiles(first_profile, has_nameless, report);
        hosts.join(profiles, [By::Name, By::Mac], report);
        policies.join(&mut hosts, budget, report);
        let found = hosts.finish(report);
        let cluster = clusters.finish(report);
        if found.hosts.is_empty() && !report.has_errors() {
            // An agent-config may leave out all hosts. They use DHCP then.
            let severity = if found.left_out || any_agent_config { Severity::Warning } else { Severity::Error };
            self.report_no_host(severity, without_hosts, report);
        }
        // If a host could not be read, its Secret is not used either, and a warning about that would only distract.
        if !report.has_errors() {
            self.secrets.report_unused(report);
            if any_fleet {
                self.tables.report_unused(report);
            }
        }
        (found, cluster)
    }

    /// Reads what each document says about its hosts, in order. A thread reads `at_once` documents at a time.
    pub(super) fn read_hosts(&self, scope: Scope, at_once: usize, budget: &mut Budget) -> Vec<(Found, Report)> {
        let read = |document: &HostDocument, budget: &mut Budget| {
            let mut report = Report::new();
            let (secrets, tables) = (&self.secrets, &self.tables);
            let found = document.read(&mut Reading { scope, secrets, tables, budget, report: &mut report });
            (found.unwrap_or_default(), report)
        };
        parallel::each(&self.hosts, at_once, budget, read)
    }

    /// Reads the hosts that profiles describe. Their places among all documents begin at `first`.
    fn profiles(&self, first: usize, mut has_nameless: bool, report: &mut Report) -> Vec<(usize, HostPart)> {
        let mut parts = Vec::new();
        for (order, host) in keyfiles::by_host(&self.keyfiles).iter().enumerate() {
            let is_nameless = host.name.is_none();
            if is_nameless && has_nameless {
                let message = "belongs to a second host without a name; without names, dayone cannot tell the two \
                               apart";
                report.error("nmstate-second-document", &host.path, message);
            } else {
                parts.extend(host.read(report).ok().map(|part| (first + order, part)));
            }
            has_nameless |= is_nameless;
        }
        parts
    }

    fn report_unknown(&mut self, report: &mut Report) {
        for (position, message) in std::mem::take(&mut self.unknown) {
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
                let what = if self.any_ignored { "objects that go with hosts" } else { "Secrets" };
                (
                    DocumentPath::root(),
                    format!("the input contains {what}, but no host; dayone reads hosts from {UNDERSTOOD}"),
                )
            }
        };
        report.add(severity, "no-host", &path, message);
    }
}
