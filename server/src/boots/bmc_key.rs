//! Identifies the BMC that a boot controls, so that only one boot at a time controls it.

use redfish::BmcAddress;
use url::Host;

/// A machine at a BMC, in a form that does not depend on how its address was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BmcKey {
    host: Host<String>,
    port: Option<u16>,
    /// `None` for the only System of the BMC.
    system: Option<String>,
}

impl BmcKey {
    pub(super) fn of(address: &BmcAddress) -> Self {
        Self {
            host: address.canonical_host(),
            port: address.origin().port_or_known_default(),
            system: address.system().map(|path| path.trim_end_matches('/').to_owned()),
        }
    }

    /// Whether both may be the same machine.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
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
}

#[cfg(test)]
mod tests {
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
}
