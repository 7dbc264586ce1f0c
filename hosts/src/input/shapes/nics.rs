//! The list `interfaces` in agent-config.yaml, `NMStateConfig` and others: the MAC addresses of the NICs in the network.

use crate::input::fields::Fields;
use vocabulary::host::{MacAddress, NamedNic};
use vocabulary::report::{Report, Reported};

const KEY: &str = "interfaces";

/// Reads the NICs that `holder` lists. As for `OpenShift`, there must be at least one. [`crate::network`] reports duplicate
/// names and MAC addresses.
pub(super) fn nics(holder: &Fields<'_>, report: &mut Report) -> Result<Vec<NamedNic>, Reported> {
    let listed = holder.mappings(KEY, report)?;
    if listed.is_empty() {
        let message = "is missing: it maps names in the network to MAC addresses of NICs, and needs at least one entry";
        return Err(holder.wrong(KEY, "nics-missing", message, report));
    }
    let mut nics: Vec<NamedNic> = Vec::with_capacity(listed.len());
    let mut result = Ok(());
    for fields in listed {
        let name = fields.required_text("name", "write the NIC's name in the network", report);
        let mac = fields.parsed::<MacAddress>("macAddress", report);
        let (Ok(name), Ok(mac)) = (name, mac) else {
            result = Err(Reported);
            continue;
        };
        let Some(mac) = mac else {
            let message = "is missing: it identifies the NIC";
            result = Err(fields.wrong("macAddress", "nics-missing", message, report));
            continue;
        };
        nics.push(NamedNic { name: name.to_owned(), mac, path: fields.path });
    }
    result.map(|()| nics)
}
