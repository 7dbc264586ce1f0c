//! What one document says about one host, and how it is merged with what others say.

use serde_yaml::Mapping;

use super::fields::Placed;
use vocabulary::host::{
    Architecture, BmcSpec, BootMode, HostError, HostName, HostPaths, HostSpec, MacAddress, NamedNic, NetworkDocument,
};
use vocabulary::report::{DocumentPath, Report, Reported};

/// What one document says about one host.
#[derive(Default)]
pub(super) struct HostPart {
    /// The shape of the document. All parts of a host have different shapes.
    pub(super) shape: &'static str,
    /// Where the document describes the host.
    pub(super) path: DocumentPath,
    /// Other places that are about this host alone: of errors in its Secrets, and in other documents that describe it.
    pub(super) places: Vec<DocumentPath>,
    /// The host's name in the document.
    pub(super) name: Placed<String>,
    pub(super) namespace: Option<String>,
    /// The host name, if the document has one besides the name.
    pub(super) hostname: Option<HostName>,
    pub(super) boot_mac: Placed<MacAddress>,
    pub(super) architecture: Placed<Architecture>,
    pub(super) boot_mode: Placed<BootMode>,
    pub(super) bmc: Placed<BmcSpec>,
    /// Whether the document cannot say whether the BMC's certificate is verified.
    pub(super) leaves_verification: bool,
    pub(super) role: Placed<String>,
    pub(super) root_device_hints: Placed<Mapping>,
    pub(super) nics: Vec<NamedNic>,
    pub(super) network: Option<NetworkDocument>,
    /// The finding if no document has the network.
    pub(super) missing_network: Option<MissingNetwork>,
    /// Whether something in the document could not be read. That was reported. dayone makes no image for such a host, but
    /// checks the rest of it, so that the user sees all errors at once.
    pub(super) is_flawed: bool,
}

/// A host that no document gives a network, so that it uses DHCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostWithoutNetwork {
    /// The host's name in the documents.
    pub name: Option<String>,
    /// The host name, if the documents have one besides the name.
    pub hostname: Option<HostName>,
    /// The role in the cluster.
    pub role: Option<String>,
}

/// The finding about a host that no document gives a network.
pub(super) struct MissingNetwork {
    pub(super) code: &'static str,
    pub(super) path: DocumentPath,
    pub(super) message: String,
}

impl MissingNetwork {
    /// Makes the finding for a host whose network should be at `path`.
    pub(super) fn at(path: DocumentPath) -> Self {
        let message = "is missing: the host has no network for its first boot, and dayone skips it".to_owned();
        Self { code: "host-without-network", path, message }
    }
}

impl HostPart {
    /// Makes a part without facts.
    pub(super) fn new(shape: &'static str, path: DocumentPath) -> Self {
        Self { shape, path, ..Self::default() }
    }

    /// Makes a part for a host without a name.
    pub(super) fn nameless(shape: &'static str, network: impl Into<NetworkDocument>) -> Self {
        let network = network.into();
        Self { network: Some(network.clone()), ..Self::new(shape, network.path()) }
    }

    /// Returns the host's name in the document.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_ref().map(|(name, _)| name.as_str())
    }

    /// Returns the MAC addresses that identify the host.
    pub(super) fn macs(&self) -> impl Iterator<Item = MacAddress> {
        self.boot_mac.iter().map(|(mac, _)| *mac).chain(self.nics.iter().map(|nic| nic.mac))
    }

    /// Adds what another document says about the same host, and reports contradictions.
    pub(super) fn absorb(&mut self, other: Self, report: &mut Report) {
        let what =
            self.name().or(other.name()).map_or_else(|| "the same host".to_owned(), |name| format!("host {name}"));
        agree(&mut self.boot_mac, other.boot_mac, &what, report);
        agree(&mut self.architecture, other.architecture, &what, report);
        agree(&mut self.boot_mode, other.boot_mode, &what, report);
        agree(&mut self.role, other.role, &what, report);
        agree(&mut self.root_device_hints, other.root_device_hints, &what, report);
        self.absorb_bmc(other.bmc, other.leaves_verification, &what, report);
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
        self.places.push(other.path);
        self.places.extend(other.places);
        self.name = self.name.take().or(other.name);
        self.namespace = self.namespace.take().or(other.namespace);
        // A host name counts more than what another document calls the host.
        self.hostname = self.hostname.take().or(other.hostname);
        self.missing_network = self.missing_network.take().or(other.missing_network);
    }

    /// `leaves_verification` is of the other document.
    fn absorb_bmc(&mut self, mut other: Placed<BmcSpec>, leaves_verification: bool, what: &str, report: &mut Report) {
        if self.bmc.is_none() {
            self.leaves_verification = leaves_verification;
        }
        if let (Some((mine, _)), Some((theirs, _))) = (&mut self.bmc, &mut other) {
            // A site has no such setting, and its operator switches the verification off in every BareMetalHost that it makes.
            if self.leaves_verification {
                mine.disable_certificate_verification = theirs.disable_certificate_verification;
            } else if leaves_verification {
                theirs.disable_certificate_verification = mine.disable_certificate_verification;
            }
            self.leaves_verification &= leaves_verification;
            mine.credentials_name = mine.credentials_name.take().or_else(|| theirs.credentials_name.clone());
            theirs.credentials_name.clone_from(&mine.credentials_name);
            // One of the two documents may only know the address of the BMC.
            if mine.credentials.is_err() {
                mine.credentials.clone_from(&theirs.credentials);
            } else if theirs.credentials.is_err() {
                theirs.credentials.clone_from(&mine.credentials);
            }
        }
        agree(&mut self.bmc, other, what, report);
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

    /// Returns what is known of a host without a network.
    pub(super) fn without_network(&self) -> Option<HostWithoutNetwork> {
        self.network.is_none().then(|| HostWithoutNetwork {
            name: self.name().map(str::to_owned),
            hostname: self.hostname.clone(),
            role: self.role.as_ref().map(|(role, _)| role.clone()),
        })
    }

    /// Returns the host. If it has no network, it reports why and returns nothing.
    pub(super) fn finish(self, report: &mut Report) -> Option<HostSpec> {
        let Some(network) = self.network else {
            if let Some(MissingNetwork { code, path, message }) = self.missing_network {
                report.warning(code, &path, message);
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
        let (boot_mac, boot_mac_path) = self.boot_mac.unzip();
        let (bmc, bmc_path) = self.bmc.unzip();
        let paths = HostPaths {
            host: self.path,
            boot_mac: boot_mac_path.unwrap_or_default(),
            bmc: bmc_path.unwrap_or_default(),
        };
        Some(HostSpec {
            name: self.name.map(|(name, _)| name),
            hostname,
            boot_mac,
            architecture: self.architecture.map(|(architecture, _)| architecture),
            boot_mode: self.boot_mode.map(|(mode, _)| mode),
            bmc,
            role: self.role.map(|(role, _)| role),
            root_device_hints: self.root_device_hints.map(|(hints, _)| hints),
            nics: self.nics,
            paths,
            network,
        })
    }
}

/// Takes over a fact if there is none, and reports a different one.
fn agree<T: PartialEq>(mine: &mut Placed<T>, theirs: Placed<T>, what: &str, report: &mut Report) {
    match (&mine, theirs) {
        (None, theirs) => *mine = theirs,
        (Some((known, first)), Some((value, path))) if *known != value => {
            contradiction(&path, first, what, report);
        }
        _ => {}
    }
}

/// Reports that what is at `path` contradicts what is at `first`.
pub(super) fn contradiction(path: &DocumentPath, first: &DocumentPath, what: &str, report: &mut Report) -> Reported {
    let message = format!("contradicts {first}, which is also about {what}; make the two equal, or remove one");
    report.refuse("documents-contradict", path, message)
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
