//! Decides from the firmware's settings which of them a boot by HTTP changes. Refuses what certainly fails, before anything changes.

use serde_json::{Map, Value};

use super::desired_setting::changes;
use super::error::FirmwareError;
use super::network::{FirmwareNetwork, StaticAddress};
use super::settings::FirmwareSettings;
use super::{dell, hpe, registry};
use crate::bmc::error::BmcError;
use crate::bmc::medium::Medium;
use crate::bmc::plan::Plan;
use crate::bmc::state::BootMode;
use crate::bmc::survey::Survey;
use crate::bmc::vendor::Vendor;
use crate::bmc::{Bmc, http_boot};

/// Whether a BMC boots by HTTP only through the settings of its firmware.
fn is_by_settings(survey: &Survey, settings: &Map<String, Value>) -> bool {
    match survey.vendor {
        Vendor::Dell => !survey.system.boot.has_http_uri,
        // iLO has the property, and refuses to change it.
        Vendor::Hpe => settings.contains_key(hpe::URL) || !survey.system.boot.has_http_uri,
        _ => false,
    }
}

impl Bmc {
    /// Decides what will be sent to the BMC so that the host's firmware fetches this image by HTTP. Reads the settings of the firmware
    /// if the BMC needs them for that. Changes nothing. An error if the BMC does not offer HTTP boot, or if it certainly fails.
    ///
    /// `network` is a static network for the firmware. If the firmware cannot have it, the plan says so and leaves the firmware's
    /// network as it is, unless the network names the NIC. `earlier` are the settings that an earlier attempt of this boot has staged.
    pub async fn plan_http_boot(
        &self,
        survey: &Survey,
        medium: Medium,
        mode: Option<BootMode>,
        image_url: &str,
        network: Option<&FirmwareNetwork>,
        earlier: Option<&FirmwareSettings>,
    ) -> Result<Plan, BmcError> {
        let plan = self.read_and_plan(survey, medium, mode, (image_url, network, earlier)).await;
        plan.map_err(|error| self.masked_error(error))
    }

    async fn read_and_plan(
        &self,
        survey: &Survey,
        medium: Medium,
        mode: Option<BootMode>,
        (image_url, network, earlier): (&str, Option<&FirmwareNetwork>, Option<&FirmwareSettings>),
    ) -> Result<Plan, BmcError> {
        let bios = survey.system.bios.as_ref().filter(|_| matches!(survey.vendor, Vendor::Dell | Vendor::Hpe));
        let Some(bios) = bios else { return Plan::http(survey, medium, mode) };
        let firmware = self.firmware(survey, bios).await?;
        let present = self.present(&firmware.settings).await?;
        let current = present.effective_all();
        if !is_by_settings(survey, &current) {
            return Plan::http(survey, medium, mode);
        }
        let forms = http_boot::forms_by_settings(survey, mode)?;
        if earlier.is_none() {
            present.refuse_waiting(&firmware.settings)?;
        }
        let mut quirks = Vec::new();
        let network = self.usable_network(survey, &current, network, &mut quirks).await?;
        let network = network.as_ref().map(|(interface, address)| (interface.as_str(), address));
        let desired = match survey.vendor {
            Vendor::Dell => dell::desired_settings(&current, image_url, network),
            _ => hpe::desired_settings(&current, network),
        };
        let changes = changes(&current, image_url, desired)?;
        let settings = FirmwareSettings { changes, ..firmware.settings };
        let settings = match earlier {
            Some(earlier) => settings.after(earlier),
            None => settings,
        };
        if let Some(registry) = self.attribute_registry(bios, firmware.registry.as_deref(), &mut quirks).await? {
            registry::check(&registry, &settings.changes, image_url)?;
        }
        quirks.insert(0, explanation(survey.vendor));
        Ok(Plan::by_settings(survey, medium, mode, (forms, settings, quirks)))
    }

    /// The NIC in the vendor's words and its address, if the firmware can have one.
    async fn usable_network(
        &self,
        survey: &Survey,
        current: &Map<String, Value>,
        network: Option<&FirmwareNetwork>,
        quirks: &mut Vec<String>,
    ) -> Result<Option<(String, StaticAddress)>, BmcError> {
        let Some(network) = network else { return Ok(None) };
        match self.find_network(survey, current, network).await? {
            Ok(interface) => {
                let shown = self.client().secrets().mask(&interface);
                quirks.push(format!("the firmware gets the static address {} on {shown}", network.address.address));
                quirks.extend(network.caution.clone());
                Ok(Some((interface, network.address.clone())))
            }
            Err(why) if network.interface.is_some() => Err(FirmwareError::NoStaticAddress(why).into()),
            Err(why) => {
                let why = self.client().secrets().mask(&why);
                quirks.push(format!(
                    "the firmware keeps the network that is set in it, or asks DHCP, because it cannot have the static address of the \
                     document: {why}"
                ));
                Ok(None)
            }
        }
    }

    async fn find_network(
        &self,
        survey: &Survey,
        current: &Map<String, Value>,
        network: &FirmwareNetwork,
    ) -> Result<Result<String, String>, BmcError> {
        let is_hpe = survey.vendor == Vendor::Hpe;
        let needed: &[&str] = if is_hpe { &hpe::STATIC } else { &dell::STATIC };
        if let Some(missing) = needed.iter().find(|attribute| !current.contains_key(**attribute)) {
            return Ok(Err(format!("it has no setting {missing}")));
        }
        if is_hpe && network.address.vlan.is_some() {
            return Ok(Err("the address is in a VLAN, which dayone does not set on HPE".to_owned()));
        }
        if let Some(interface) = &network.interface {
            return Ok(Ok(interface.clone()));
        }
        if is_hpe {
            // Words such as Slot1NicPort1 do not follow from anything else that iLO shows.
            return Ok(Err(
                "iLO does not say which of its ports has which MAC address; name the port (firmware_interface)"
                    .to_owned(),
            ));
        }
        self.nic(survey, &network.macs).await
    }
}

fn explanation(vendor: Vendor) -> String {
    let (what, how) = match vendor {
        Vendor::Dell => ("iDRAC takes no URL for HTTP boot", dell::URL),
        _ => ("iLO takes no URL for HTTP boot", hpe::URL),
    };
    format!(
        "{what}: dayone sets it in the firmware's settings ({how}), restarts the host so that the firmware takes them, and then makes \
         the host boot from there"
    )
}
