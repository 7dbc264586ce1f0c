//! What one document says of one host, and how what several say of it is put together.

use serde_yaml::Mapping;

use super::flaw::Reported;
use vocabulary::host::{
    Architecture, BmcSpec, BootMode, HostError, HostName, HostPlaces, HostSpec, MacAddress, NamedNic, NetworkDocument,
};
use vocabulary::report::{DocumentPath, Report, Severity};

/// A fact and where it stands.
pub(super) type Placed<T> = Option<(T, DocumentPath)>;

/// The part of a document about one host.
#[derive(Default)]
pub(super) struct HostPart {
    /// What the document is: no two parts of one host are of the same shape.
    pub(super) shape: &'static str,
    /// Where the host is described.
    pub(super) path: DocumentPath,
    /// The host's name in the document.
    pub(super) name: Placed<String>,
    pub(super) namespace: Option<String>,
    /// Its host name, where that is said besides the name.
    pub(super) hostname: Option<HostName>,
    pub(super) boot_mac: Placed<MacAddress>,
    pub(super) architecture: Placed<Architecture>,
    pub(super) boot_mode: Placed<BootMode>,
    pub(super) bmc: Placed<BmcSpec>,
    pub(super) role: Placed<String>,
    pub(super) root_device_hints: Placed<Mapping>,
    pub(super) nics: Vec<NamedNic>,
    pub(super) network: Option<NetworkDocument>,
    /// What is to be said if no document says what its network is.
    pub(super) without_network: Option<WithoutNetwork>,
    /// Whether something of the document could not be read, and was reported. No image is made for such a host; the rest
    /// of it is checked, so that all that is wrong is said at once.
    pub(super) is_flawed: bool,
}

/// Reads the members of a document, of which each may be wrong.
#[derive(Default)]
pub(super) struct Members {
    any_wrong: bool,
}

impl Members {
    /// What was read; nothing where that was wrong.
    pub(super) fn take<T: Default>(&mut self, read: Result<T, Reported>) -> T {
        read.unwrap_or_else(|Reported| {
            self.any_wrong = true;
            T::default()
        })
    }

    /// Whether any of them had an error.
    pub(super) fn any_wrong(&self) -> bool {
        self.any_wrong
    }
}

/// The finding about a host without a network.
pub(super) struct WithoutNetwork {
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    pub(super) path: DocumentPath,
    pub(super) message: String,
}

impl WithoutNetwork {
    pub(super) fn say(self, report: &mut Report) {
        report.add(self.severity, self.code, &self.path, self.message);
    }
}

impl HostPart {
    /// A part that says nothing as yet.
    pub(super) fn new(shape: &'static str, path: DocumentPath) -> Self {
        Self { shape, path, ..Self::default() }
    }

    /// A host of which nothing is known but its network.
    pub(super) fn nameless(shape: &'static str, network: impl Into<NetworkDocument>) -> Self {
        let network = network.into();
        Self { network: Some(network.clone()), ..Self::new(shape, network.path()) }
    }

    /// The host's name in the document.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_ref().map(|(name, _)| name.as_str())
    }

    /// The MAC addresses by which the host can be told from others.
    pub(super) fn macs(&self) -> impl Iterator<Item = MacAddress> {
        self.boot_mac.iter().map(|(mac, _)| *mac).chain(self.nics.iter().map(|nic| nic.mac))
    }

    /// Adds what another document says of the same host. Where the two contradict each other, that is reported.
    pub(super) fn absorb(&mut self, other: Self, report: &mut Report) {
        let what =
            self.name().or(other.name()).map_or_else(|| "the same host".to_owned(), |name| format!("host {name}"));
        agree(&mut self.boot_mac, other.boot_mac, &what, report);
        agree(&mut self.architecture, other.architecture, &what, report);
        agree(&mut self.boot_mode, other.boot_mode, &what, report);
        agree(&mut self.role, other.role, &what, report);
        agree(&mut self.root_device_hints, other.root_device_hints, &what, report);
        self.absorb_bmc(other.bmc, &what, report);
        self.absorb_nics(other.nics, &what, report);
        match (&self.network, other.network) {
            (None, network) => self.network = network,
            (Some(_), None) => {}
            (Some(mine), Some(theirs)) if same_network(mine, &theirs) => {}
            (Some(mine), Some(theirs)) => {
                let message =
                    format!("is a second network for {what}, which has one at {}; remove one of the two", mine.path());
                report.error("network-twice", &theirs.path(), message);
            }
        }
        self.is_flawed |= other.is_flawed;
        self.name = self.name.take().or(other.name);
        self.namespace = self.namespace.take().or(other.namespace);
        // What is said to be the host name is more than what another document calls the host.
        self.hostname = self.hostname.take().or(other.hostname);
        self.without_network = match (self.without_network.take(), other.without_network) {
            (Some(mine), Some(theirs)) => Some(if theirs.severity < mine.severity { theirs } else { mine }),
            (mine, theirs) => mine.or(theirs),
        };
    }

    fn absorb_bmc(&mut self, other: Placed<BmcSpec>, what: &str, report: &mut Report) {
        let (Some((mine, _)), Some((theirs, _))) = (&mut self.bmc, &other) else {
            return agree(&mut self.bmc, other, what, report);
        };
        // One of the two may know nothing but where the BMC is.
        if mine.credentials.is_err() || theirs.credentials.is_err() {
            let credentials = mine.credentials.clone().or_else(|_| theirs.credentials.clone());
            mine.credentials_name = mine.credentials_name.take().or_else(|| theirs.credentials_name.clone());
            mine.credentials = credentials;
            let theirs = BmcSpec {
                credentials: mine.credentials.clone(),
                credentials_name: mine.credentials_name.clone(),
                ..theirs.clone()
            };
            let other = other.map(|(_, path)| (theirs, path));
            return agree(&mut self.bmc, other, what, report);
        }
        mine.credentials_name = mine.credentials_name.take().or_else(|| theirs.credentials_name.clone());
        let name = mine.credentials_name.clone();
        agree(&mut self.bmc, other.map(|(bmc, path)| (BmcSpec { credentials_name: name, ..bmc }, path)), what, report);
    }

    fn absorb_nics(&mut self, other: Vec<NamedNic>, what: &str, report: &mut Report) {
        let (Some(first), Some(theirs)) = (self.nics.first(), other.first()) else {
            self.nics.extend(other);
            return;
        };
        let sorted = |nics: &[NamedNic]| {
            let mut pairs: Vec<_> = nics.iter().map(|nic| (nic.name.clone(), nic.mac)).collect();
            pairs.sort();
            pairs
        };
        if sorted(&self.nics) != sorted(&other) {
            contradiction(&theirs.path, &first.path, what, report);
        }
    }

    /// The host; none, with the reason reported, where it has no network.
    pub(super) fn finish(self, report: &mut Report) -> Option<HostSpec> {
        let Some(network) = self.network else {
            if let Some(without) = self.without_network {
                without.say(report);
            }
            return None;
        };
        let hostname = self.hostname.or_else(|| {
            let (name, path) = self.name.as_ref()?;
            let parsed = name.parse().map_err(|error: HostError| {
                let message = format!("cannot be the host name, so dayone sets none: {error}");
                report.warning("hostname-not-derivable", path, message);
            });
            parsed.ok()
        });
        let place = |path: Option<&DocumentPath>| path.cloned().unwrap_or_default();
        let places = HostPlaces {
            boot_mac: place(self.boot_mac.as_ref().map(|(_, path)| path)),
            bmc: place(self.bmc.as_ref().map(|(_, path)| path)),
            host: self.path,
        };
        Some(HostSpec {
            name: self.name.map(|(name, _)| name),
            hostname,
            boot_mac: self.boot_mac.map(|(mac, _)| mac),
            architecture: self.architecture.map(|(architecture, _)| architecture),
            boot_mode: self.boot_mode.map(|(mode, _)| mode),
            bmc: self.bmc.map(|(bmc, _)| bmc),
            role: self.role.map(|(role, _)| role),
            root_device_hints: self.root_device_hints.map(|(hints, _)| hints),
            nics: self.nics,
            places,
            network,
        })
    }
}

/// Takes a fact over where there is none, and reports where there is another.
fn agree<T: PartialEq>(mine: &mut Placed<T>, theirs: Placed<T>, what: &str, report: &mut Report) {
    match (&mine, theirs) {
        (None, theirs) => *mine = theirs,
        (Some((known, first)), Some((value, path))) if *known != value => contradiction(&path, first, what, report),
        _ => {}
    }
}

pub(super) fn contradiction(path: &DocumentPath, first: &DocumentPath, what: &str, report: &mut Report) {
    let message = format!("contradicts {first}, which is also about {what}; make the two equal, or remove one");
    report.error("documents-contradict", path, message);
}

fn same_network(a: &NetworkDocument, b: &NetworkDocument) -> bool {
    match (a, b) {
        (NetworkDocument::Nmstate(a), NetworkDocument::Nmstate(b)) => a.value == b.value,
        (NetworkDocument::Keyfiles(a), NetworkDocument::Keyfiles(b)) => {
            let content = |keyfiles: &[vocabulary::host::KeyfileDocument]| {
                let mut all: Vec<_> = keyfiles.iter().map(|file| (file.name.clone(), file.content.clone())).collect();
                all.sort();
                all
            };
            content(a) == content(b)
        }
        _ => false,
    }
}
