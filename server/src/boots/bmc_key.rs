//! Identifies the BMC that a boot controls, so that only one boot at a time controls it.

use std::collections::HashMap;

use redfish::BmcAddress;
use url::Host;

use super::id::BootId;

/// A machine at a BMC, in a form that does not depend on how its address was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BmcKey {
    host: Host<String>,
    port: Option<u16>,
    /// `None` for the only System of the BMC.
    system: Option<String>,
}

impl BmcKey {
    pub(crate) fn of(address: &BmcAddress) -> Self {
        Self {
            host: address.canonical_host(),
            port: address.origin().port_or_known_default(),
            system: address.system().map(|path| path.trim_end_matches('/').to_owned()),
        }
    }

    /// Whether both may be the same machine.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let same_system = match (&self.system, &other.system) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => true,
        };
        self.is_at_same_bmc(other) && same_system
    }

    /// Whether both are at the same BMC, as far as the addresses say.
    pub(super) fn is_at_same_bmc(&self, other: &Self) -> bool {
        self.host == other.host && self.port == other.port
    }

    fn systems(&self) -> Systems<'_> {
        self.system.as_deref().map_or(Systems::Unnamed, Systems::Named)
    }
}

/// Systems of a BMC.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Systems<'a> {
    All,
    /// The only System of the BMC, whatever its path.
    Unnamed,
    Named(&'a str),
}

/// The last boot of each machine. A lookup takes the same time, however many Systems a BMC has.
#[derive(Debug)]
pub(super) struct LastBoots<'a>(HashMap<(&'a Host<String>, Option<u16>, Systems<'a>), BootId>);

impl<'a> LastBoots<'a> {
    /// Finds the last of these boots for each machine. Later boots have greater ids.
    pub(super) fn of(boots: impl Iterator<Item = (&'a BmcKey, BootId)>) -> Self {
        let mut last = Self(HashMap::new());
        for (key, id) in boots {
            for systems in [Systems::All, key.systems()] {
                let known = last.0.entry((&key.host, key.port, systems)).or_insert(id);
                *known = id.max(*known);
            }
        }
        last
    }

    /// Returns the last boot of the machines that may be this one ([`overlaps`](BmcKey::overlaps)).
    pub(super) fn at(&self, key: &BmcKey) -> Option<BootId> {
        let of = |systems: Systems<'_>| self.0.get(&(&key.host, key.port, systems)).copied();
        match &key.system {
            None => of(Systems::All),
            Some(system) => of(Systems::Named(system)).max(of(Systems::Unnamed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use hosts::check::{CheckedHost, fleet};
    use hosts::model::Topology;
    use vocabulary::host::{BmcSpec, HostSpec, NmstateDocument, NoCredentials};
    use vocabulary::report::DocumentPath;

    use super::*;

    #[test]
    fn a_machine_is_the_same_however_its_address_is_written() {
        let key = |text: &str| BmcKey::of(&text.parse().unwrap());
        let one = key("redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/1");
        for same in [
            "redfish-virtualmedia+https://192.0.2.1:443/redfish/v1/Systems/1/",
            "https://192.0.2.1",
            "192.0.2.1",
            "idrac-virtualmedia://192.0.2.1/redfish/v1/Systems/1",
            "https://[::ffff:192.0.2.1]",
            "redfish://[::ffff:c000:201]/redfish/v1/Systems/1",
            "https://[64:ff9b::192.0.2.1]",
        ] {
            assert!(one.overlaps(&key(same)) && key(same).overlaps(&one), "{same}");
        }
        for other in [
            "192.0.2.2",
            "https://192.0.2.1:8443",
            "redfish://192.0.2.1/redfish/v1/Systems/2",
            "http://192.0.2.1",
            "https://[::ffff:192.0.2.2]",
            "https://[2001:db8::192.0.2.1]",
        ] {
            assert!(!one.overlaps(&key(other)), "{other}");
        }
        let neighbour = key("redfish://192.0.2.1/redfish/v1/Systems/2");
        assert!(one.is_at_same_bmc(&neighbour) && !one.is_at_same_bmc(&key("192.0.2.2")));
        assert!(key("bmc.example").overlaps(&key("https://BMC.example.")));
    }

    /// Whether `dayone check` has this finding about two hosts with these BMCs.
    fn is_found(one: &str, other: &str, code: &str) -> bool {
        let host = |address: &str| {
            let network = NmstateDocument::new(serde_yaml::Value::Null, DocumentPath::root());
            let bmc = BmcSpec {
                address: address.to_owned(),
                credentials_name: None,
                credentials: Err(NoCredentials(String::new())),
                disable_certificate_verification: false,
            };
            HostSpec { bmc: Some(bmc), ..HostSpec::with_network(network) }
        };
        let (specs, topology) = ([host(one), host(other)], Topology::default());
        let hosts = specs.each_ref().map(|host| CheckedHost { host, topology: &topology });
        fleet(&hosts, None, true).report.findings().iter().any(|finding| finding.code == code)
    }

    /// `dayone check` reads addresses without this crate's parser, and must find what a boot refuses.
    #[test]
    fn checks_and_boots_agree_about_which_addresses_are_one_machine() {
        let key = |text: &str| BmcKey::of(&text.parse().unwrap());
        let addresses = [
            "redfish://10.0.1.9",
            "redfish://[::ffff:10.0.1.9]",
            "redfish://[64:ff9b::10.0.1.9]",
            "redfish://[2001:db8::10.0.1.9]",
            "10.0.1.9",
            " 10.0.1.9/redfish/v1/Systems/1\n",
            "redfish:10.0.1.9",
            "redfish://10.0.1.9/",
            "REDFISH+https://10.0.1.9:443/redfish/v1/Systems/",
            "redfish+http://10.0.1.9",
            "http://10.0.1.9:0080",
            "10.0.1.9:8443",
            "idrac-virtualmedia://10.0.1.9/redfish/v1/Systems/1/",
            "redfish://10.0.1.9/redfish/v1/Systems/2",
            "redfish://[2001:db8::9]",
            "redfish:[2001:db8::9]",
            "redfish://[2001:db8:0::9]:0443",
            "redfish://[2001:db8::9]/redfish/v1",
            "bmc1.example.com",
            "redfish://BMC1.example.com./redfish/v1/Systems/1",
            "redfish:8443",
        ];
        for (index, &one) in addresses.iter().enumerate() {
            for &other in addresses.iter().skip(index) {
                let is_found = is_found(one, other, "bmc-of-two-hosts");
                assert_eq!(is_found, key(one).overlaps(&key(other)), "{one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn checks_and_boots_agree_about_which_addresses_are_refused() {
        let long = format!("redfish://{}", "a".repeat(1015));
        for (address, is_refused) in [
            ("redfish://10.0.1.9/redfish/v1/Systems/1", false),
            ("redfish+http://bmc_1.example.:8000", false),
            ("redfish:10.0.1.9", false),
            ("https://[2001:db8::9]:443\\redfish\\v1", false),
            ("", true),
            (long.as_str(), true),
            ("redfish://10.0.1.010", true),
            ("10.0.1.09:443", true),
            ("redfish://0xa000109", true),
            ("167772425", true),
            ("10.9", true),
            ("10.0.1.%39", true),
            ("192.0.2.300", true),
            ("1.2.3.4.5", true),
            ("10,5", true),
            ("redfish://", true),
            ("redfish:///redfish/v1/Systems/1", true),
            ("redfish://2001:db8::9", true),
            ("redfish://root@10.0.1.9", true),
            ("gopher://10.0.1.9", true),
            ("redfish+ftp://10.0.1.9", true),
            ("http+https://10.0.1.9", true),
            ("10.0.1.9:623", true),
            ("10.0.1.9:99999", true),
            ("10.0.1.9/redfish/v1/Systems/1?x", true),
            ("10.0.1.9/redfish/v1//Systems/1", true),
            ("10.0.1.9/Systems/1", true),
        ] {
            assert_eq!(address.parse::<BmcAddress>().is_err(), is_refused, "{address:?}");
            // Only one of the two hosts has it.
            assert_eq!(is_found(address, "192.0.2.250", "bmc-address-unusable"), is_refused, "{address:?}");
        }
    }
}
