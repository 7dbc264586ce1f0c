//! Finds a NIC by its MAC address (schema `EthernetInterface` 1.12).

use super::network::plain;
use crate::bmc::Bmc;
use crate::bmc::error::BmcError;
use crate::bmc::properties::Properties;
use crate::bmc::survey::Survey;

/// Maximum number of NICs that are read.
const MAX_NICS: usize = 32;

impl Bmc {
    /// The vendor's name of the NIC that has one of these MAC addresses, or why it is not known. An iDRAC's interfaces have the names
    /// that its firmware's settings use.
    pub(super) async fn nic(&self, survey: &Survey, macs: &[String]) -> Result<Result<String, String>, BmcError> {
        if macs.is_empty() {
            return Ok(Err("the document gives no MAC address of the NIC".to_owned()));
        }
        let Some(interfaces) = &survey.system.ethernet_interfaces else {
            return Ok(Err("the BMC does not list the machine's NICs".to_owned()));
        };
        let list = self.client().get(interfaces).await?.body;
        for path in Properties::new(&list).links("Members").into_iter().take(MAX_NICS) {
            let body = self.client().get(&path).await?.body;
            let nic = Properties::new(&body);
            // A NIC in a bond may show the bond's address as the current one.
            let found = ["PermanentMACAddress", "MACAddress"].into_iter().filter_map(|name| nic.text(name));
            let is_wanted = |mac: String| macs.iter().any(|wanted| plain(wanted) == plain(&mac));
            if found.into_iter().any(is_wanted)
                && let Some(id) = nic.text("Id")
            {
                return Ok(Ok(id));
            }
        }
        Ok(Err(format!("the machine has no NIC with the MAC address {}", macs.join(" or "))))
    }
}
