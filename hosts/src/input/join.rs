//! Joins what several documents say about the same host, by name and by the MAC addresses of NICs.

use std::collections::{BTreeMap, BTreeSet};

use super::described::Account;
use super::host_part::{HostPart, HostWithoutNetwork};
use super::listing::listed;
use vocabulary::host::{HostSpec, MacAddress};
use vocabulary::report::Report;

/// How many hosts of one MAC address are found by it. All of them are errors, and more say nothing else.
const HOSTS_OF_A_MAC: usize = 64;

/// Hosts, of one or more parts each.
#[derive(Default)]
pub(super) struct Hosts {
    all: Vec<Host>,
    by_name: BTreeMap<String, usize>,
    /// By host names, which can differ from the names.
    by_hostname: BTreeMap<String, usize>,
    by_mac: BTreeMap<MacAddress, BTreeSet<usize>>,
}

struct Host {
    part: HostPart,
    /// The shapes of the documents that describe it.
    shapes: Vec<&'static str>,
    /// The place of the first of these among all documents.
    order: usize,
}

/// How a part finds its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    /// By the host's name. The namespaces must not contradict each other.
    Name,
    /// By a MAC address, which identifies a machine under any name.
    Mac,
}

impl Hosts {
    /// Joins the parts from documents of one shape, each with the place of its document among all. The first of the `ways` that
    /// finds a host decides. A part that finds none becomes a new host.
    ///
    /// All parts try one way before any part tries the next, because the first way is the more certain one.
    pub(super) fn join(&mut self, parts: Vec<(usize, HostPart)>, ways: [By; 2], report: &mut Report) {
        let mut left = parts;
        for way in ways {
            let mut unmatched = Vec::new();
            for (order, part) in left {
                match self.find(&part, way) {
                    Found::None => unmatched.push((order, part)),
                    Found::One(index) => {
                        // Documents that are joined by MAC address first have names of their own.
                        if ways == [By::Name, By::Mac] && way == By::Mac {
                            self.report_joined(index, &part, report);
                        }
                        self.absorb(index, order, part, report);
                    }
                    Found::Taken(index) => {
                        let name = self.get(index).and_then(HostPart::name).unwrap_or("without a name");
                        let message = format!(
                            "has a MAC address of the host {name}, as another {} has; dayone cannot know which one \
                             you mean, so remove one",
                            part.shape
                        );
                        report.error("host-ambiguous", &part.path, message);
                        self.dispute(&[index], &part);
                    }
                    Found::Several(indices) => {
                        let names = indices.iter().filter_map(|index| self.get(*index)?.name());
                        let names = if indices.len() < HOSTS_OF_A_MAC {
                            listed(names)
                        } else {
                            listed(names.take(10)) + " and others"
                        };
                        let message = format!(
                            "has MAC addresses of several hosts: {names}; a MAC address belongs to one host, and \
                             decides whose network this is"
                        );
                        report.error("host-ambiguous", &part.path, message);
                        self.dispute(&indices, &part);
                    }
                }
            }
            left = unmatched;
        }
        for (order, part) in left {
            self.push(order, part, report);
        }
    }

    /// Notes that `part` may describe any of these hosts, so that errors about it are about them.
    fn dispute(&mut self, indices: &[usize], part: &HostPart) {
        for (number, index) in indices.iter().enumerate() {
            if let Some(host) = self.all.get_mut(*index) {
                host.part.places.push(part.path.clone());
                // There may be thousands. The error at the part itself is about all of the hosts.
                if number == 0 {
                    host.part.places.extend(part.places.iter().cloned());
                }
            }
        }
    }

    /// Warns that a part belongs to a host with another name.
    fn report_joined(&self, index: usize, part: &HostPart, report: &mut Report) {
        let Some(host) = self.all.get(index).map(|host| &host.part) else { return };
        let Some(mac) = part.macs().find(|mac| host.macs().any(|theirs| theirs == *mac)) else { return };
        if let (Some((name, path)), Some(theirs)) = (&part.name, host.name())
            && name != theirs
        {
            let message = format!(
                "is {name:?}, and {} calls a host with the same MAC address ({mac}) {theirs:?}: dayone joins the two \
                 into one host, {theirs:?}",
                host.path
            );
            report.warning("host-joined-by-mac", path, message);
        }
    }

    /// Adds a new host.
    pub(super) fn push(&mut self, order: usize, part: HostPart, report: &mut Report) {
        let index = self.all.len();
        if let Some(name) = part.name() {
            if let Some(first) = self.by_name.get(name).and_then(|first| self.all.get(*first)) {
                let message = format!(
                    "is a second host called {name}, besides {}; dayone distinguishes hosts by their names alone",
                    first.part.path
                );
                report.error("host-twice", &part.path, message);
                let first = self.by_name.get(name).copied();
                self.dispute(first.as_slice(), &part);
                return;
            }
            self.by_name.insert(name.to_owned(), index);
        }
        self.index_macs(index, &part);
        if let Some(hostname) = &part.hostname {
            self.by_hostname.entry(hostname.to_string()).or_insert(index);
        }
        self.all.push(Host { shapes: vec![part.shape], part, order });
    }

    fn index_macs(&mut self, index: usize, part: &HostPart) {
        for mac in part.macs() {
            let hosts = self.by_mac.entry(mac).or_default();
            if hosts.len() < HOSTS_OF_A_MAC {
                hosts.insert(index);
            }
        }
    }

    fn find(&self, part: &HostPart, way: By) -> Found {
        let open = |index: &usize| self.all.get(*index).is_some_and(|host| !host.shapes.contains(&part.shape));
        match way {
            By::Name => {
                let found = part.name().and_then(|name| self.by_name.get(name)).filter(|index| open(index));
                let same_namespace = |index: &&usize| {
                    let theirs = self.all.get(**index).and_then(|host| host.part.namespace.as_deref());
                    theirs.is_none() || part.namespace.is_none() || theirs == part.namespace.as_deref()
                };
                found.filter(same_namespace).map_or(Found::None, |index| Found::One(*index))
            }
            By::Mac => {
                let found: BTreeSet<usize> =
                    part.macs().filter_map(|mac| self.by_mac.get(&mac)).flatten().copied().collect();
                let mut found = Vec::from_iter(found);
                if found.len() > 1 {
                    return Found::Several(found);
                }
                match found.pop() {
                    Some(index) if open(&index) => Found::One(index),
                    // Two parts of one shape are two hosts, unless one of them already belongs to a machine.
                    Some(index) => match self.all.get(index).filter(|host| host.shapes.len() > 1) {
                        Some(_) => Found::Taken(index),
                        None => Found::None,
                    },
                    None => Found::None,
                }
            }
        }
    }

    /// Adds a part to the host at `index`.
    pub(super) fn absorb(&mut self, index: usize, order: usize, part: HostPart, report: &mut Report) {
        self.index_macs(index, &part);
        if let Some(host) = self.all.get_mut(index) {
            host.order = host.order.min(order);
            host.shapes.push(part.shape);
            let nameless = host.part.name.is_none();
            host.part.absorb(part, report);
            if let Some(name) = host.part.name().filter(|_| nameless) {
                self.by_name.entry(name.to_owned()).or_insert(index);
            }
            if let Some(hostname) = &host.part.hostname {
                self.by_hostname.entry(hostname.to_string()).or_insert(index);
            }
        }
    }

    /// Finds the host of the node `name`: by its host name, which is the name of a node, else by its name, else the only host
    /// where one of the two has the same first label. Some programs use full names of nodes, others short ones.
    pub(super) fn find_node(&self, name: &str) -> Option<usize> {
        if let Some(index) = self.by_hostname.get(name).or_else(|| self.by_name.get(name)) {
            return Some(*index);
        }
        let mut found = [&self.by_hostname, &self.by_name].into_iter().flat_map(|names| same_label(names, name));
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }

    /// Returns all hosts joined so far, each with its index.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &HostPart)> {
        self.all.iter().map(|host| &host.part).enumerate()
    }

    /// Returns the host at `index`.
    pub(super) fn get(&self, index: usize) -> Option<&HostPart> {
        self.all.get(index).map(|host| &host.part)
    }

    /// Returns the hosts with a network, in the order of their documents, and reports why others have none.
    pub(super) fn finish(mut self, report: &mut Report) -> Finished {
        self.all.sort_by_key(|host| host.order);
        let all = self.all.len();
        let (mut hosts, mut flawed, mut accounts) = (Vec::new(), Vec::new(), Vec::new());
        let mut without_network = Vec::new();
        for Host { part, .. } in self.all {
            accounts.extend(Account::of(&part));
            without_network.extend(part.without_network());
            let to = if part.is_flawed { &mut flawed } else { &mut hosts };
            to.extend(part.finish(report));
        }
        Finished { left_out: hosts.len() < all, hosts, flawed, without_network, accounts }
    }
}

/// The joined hosts.
pub(super) struct Finished {
    pub(super) hosts: Vec<HostSpec>,
    /// Hosts whose documents have something that could not be read.
    pub(super) flawed: Vec<HostSpec>,
    /// Hosts that no document gives a network.
    pub(super) without_network: Vec<HostWithoutNetwork>,
    /// All hosts that have a network or errors, in the order of their documents.
    pub(super) accounts: Vec<Account>,
    /// Whether the documents describe more hosts, which have no network.
    pub(super) left_out: bool,
}

/// Returns the hosts in `names` that `name` may mean, if one of the two names is short.
fn same_label<'a>(names: &'a BTreeMap<String, usize>, name: &str) -> impl Iterator<Item = usize> + use<'a> {
    let (label, is_short) = name.split_once('.').map_or((name, true), |(label, _)| (label, false));
    // Names that begin with this label and a dot follow each other in the map.
    let begin = format!("{label}.");
    let longer = is_short.then(|| names.range(begin.clone()..));
    let longer = longer.into_iter().flatten().take_while(move |(theirs, _)| theirs.starts_with(&begin));
    names.get(label).copied().into_iter().chain(longer.map(|(_, index)| *index))
}

/// The host of a part.
enum Found {
    None,
    One(usize),
    /// One that another document of the same shape describes, by its name.
    Taken(usize),
    /// Several hosts.
    Several(Vec<usize>),
}
