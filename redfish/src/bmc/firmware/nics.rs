//! Finds a NIC by its MAC address (schema `EthernetInterface` 1.12).

use super::network::plain;
use crate::bmc::Bmc;
use crate::bmc::error::BmcError;
use crate::bmc::properties::Properties;
use crate::bmc::survey::Survey;

/// Maximum number of NICs that are read.
const MAX_NICS: usize = 32;

impl Bmc {
    /// The vendor's name of the NIC that has the first of these MAC addresses that the machine has, or why it is not known. An iDRAC's interfaces have the names
    /// that its firmware's settings use.
    pub(super) async fn nic(&self, survey: &Survey, macs: &[String]) -> Result<Result<String, String>, BmcError> {
        if macs.is_empty() {
            return Ok(Err("the document gives no MAC address of the NIC".to_owned()));
        }
        let Some(interfaces) = &survey.system.ethernet_interfaces else {
            return Ok(Err("the BMC does not list the machine's NICs".to_owned()));
        };
        let paths = self.member_paths(interfaces).await?;
        let mut best: Option<(usize, String)> = None;
        for path in paths.into_iter().take(MAX_NICS) {
            let body = self.client().get(&path).await?.body;
            let nic = Properties::new(&body);
            // A NIC in a bond may show the bond's address as the current one.
            let Some(mac) = nic.text("PermanentMACAddress").or_else(|| nic.text("MACAddress")) else { continue };
            let rank = macs.iter().position(|wanted| plain(wanted) == plain(&mac));
            if let (Some(rank), Some(id)) = (rank, nic.text("Id"))
                && best.as_ref().is_none_or(|(other, _)| rank < *other)
            {
                best = Some((rank, id));
            }
        }
        if let Some((_, id)) = best {
            return Ok(Ok(id));
        }
        Ok(Err(format!("the machine has no NIC with the MAC address {}", macs.join(" or "))))
    }
}
