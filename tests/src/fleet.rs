//! Many emulated BMCs, and the documents of their hosts.

use std::fmt::Write as _;

use crate::bmc::{EmulatedBmc, Machine, Options, PASSWORD, USERNAME, Vendor};
use crate::hosts::bond_and_vlans;

/// Emulated BMCs, each of a host `host-0`, `host-1`, ….
pub struct Fleet(pub Vec<EmulatedBmc>);

impl Fleet {
    /// Starts one BMC for each vendor that is given.
    pub async fn start(vendors: impl IntoIterator<Item = Vendor>, machine: &Machine) -> Self {
        let mut bmcs = Vec::new();
        for vendor in vendors {
            let options = Options { machine: machine.clone(), ..Options::default() };
            bmcs.push(EmulatedBmc::start(&vendor, options).await);
        }
        Self(bmcs)
    }

    /// The hosts as Metal3 has them: `BareMetalHost`s with networks of their own, and one Secret for all BMCs.
    pub fn documents(&self) -> String {
        let mut documents = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: fleet-bmc, namespace: fleet}}\n\
             stringData: {{username: {USERNAME}, password: {PASSWORD}}}\n"
        );
        for (number, bmc) in self.0.iter().enumerate() {
            let (high, low) = (number / 256, number % 256);
            let nmstate = bond_and_vlans(number).lines().fold(String::new(), |text, line| text + "    " + line + "\n");
            let scheme = bmc.origin().replace("http://", "redfish-virtualmedia+http://");
            write!(
                documents,
                "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: host-{number}-network, namespace: fleet}}\n\
                 stringData:\n  nmstate: |\n{nmstate}\
                 ---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\n\
                 metadata: {{name: host-{number}, namespace: fleet}}\n\
                 spec:\n  online: true\n  architecture: x86_64\n  bootMACAddress: \"02:00:00:00:{high:02x}:{low:02x}\"\n  \
                 preprovisioningNetworkDataName: host-{number}-network\n  \
                 bmc: {{address: \"{scheme}\", credentialsName: fleet-bmc}}\n"
            )
            .expect("a text");
        }
        documents
    }
}
