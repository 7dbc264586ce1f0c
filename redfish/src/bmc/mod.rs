//! Everything that a boot needs from one BMC: its slots, an image in one of them, the boot override and the power.
//!
//! | step | method | result |
//! | --- | --- | --- |
//! | read what the BMC has | [`Bmc::survey`] | [`Survey`] |
//! | read whether the machine verifies what it boots | [`Bmc::secure_boot`] | [`SecureBoot`] |
//! | let the machine trust a certificate | [`Bmc::enrol`] | [`Enrolment`] |
//! | decide what to send | [`Bmc::plan`] | [`Plan`] |
//! | insert the image | [`Bmc::insert`] | [`Inserted`] |
//! | set the boot override | [`Bmc::boot_once`] | [`BootOverride`] |
//! | or, for a host that fetches the image itself | [`Bmc::plan_http_boot`], [`Bmc::boot_http_once`], [`Bmc::restore_http`] | the same |
//! | if that takes settings of the host's firmware | [`Bmc::stage_firmware`], [`Bmc::wait_for_firmware`], [`Bmc::restore_firmware`] | [`Staged`], [`FirmwareRestored`] |
//! | restart the host | [`Bmc::power`] | [`PowerChange`] |
//! | eject the image | [`Bmc::eject`] | [`Ejected`] |
//! | restore the previous boot override | [`Bmc::restore`] | whether that was necessary |
//!
//! The results have everything that is needed to undo a step. They implement serde's traits, so that another process
//! can undo it after a restart. A list of [`Attempt`]s in each result, and in most errors, shows what was sent.

mod attempt;
mod boot_once;
mod boot_option;
mod boot_order;
mod boot_override;
mod collection;
mod current;
mod eject;
mod error;
mod firmware;
mod first_boot_device;
mod form;
mod hidden_slots;
mod http_boot;
mod http_uri;
mod insert;
mod interrupt;
mod limits;
mod managers;
mod mask;
mod medium;
mod next_reset;
mod offered;
mod plan;
mod planned_request;
mod power;
mod properties;
mod read_slots;
mod refusals;
mod reset_types;
mod restore;
mod secure_boot;
mod secure_boot_database;
mod set_override;
mod shown_image;
mod shutdown;
mod slot;
mod state;
mod survey;
#[cfg(test)]
mod tests;
mod vendor;
mod verified;

use serde_json::Value;
use tokio::sync::OnceCell;

pub use attempt::Attempt;
pub use boot_order::BootOrder;
pub use boot_override::OverrideForm;
pub use eject::{Ejected, Found};
pub use error::BmcError;
pub use firmware::{
    FirmwareError, FirmwareNetwork, FirmwareRestored, FirmwareSettings, Staged, Staging, StaticAddress,
};
pub use first_boot_device::FirstBootDevice;
pub use form::{Form, Method, Parameter};
pub use http_uri::HttpUri;
pub use insert::Inserted;
pub use limits::Limits;
pub use medium::Medium;
pub use plan::Plan;
pub use planned_request::PlannedRequest;
pub use power::{PowerAction, PowerChange, Ready};
pub use secure_boot::SecureBoot;
pub use secure_boot_database::{EnrolError, Enrolment, PemCertificate};
pub use set_override::{BootOverride, Reception};
pub use shown_image::ShownImage;
pub use state::{Boot, BootMode, BootProgress, BootSource, MediaState, PowerState};
pub use survey::{Insert, Manager, Reset, Slot, Survey, System};
pub use vendor::Vendor;

use super::{Client, ClientOptions, Dialect, RequestRecord, Target};
use collection::Collection;
use interrupt::Interrupt;
use limits::Poll;
use properties::Properties;

/// A connection to one BMC.
pub struct Bmc {
    client: Client,
    /// The System's path, from the address or from the BMC's list.
    system: OnceCell<String>,
    hint: Option<Dialect>,
    limits: Limits,
    interrupt: Interrupt,
}

impl Bmc {
    /// Connects to the BMC and logs in. Sends a read of the service root and, with credentials, the request for a
    /// session.
    pub async fn connect(target: &Target, options: &ClientOptions) -> Result<Self, BmcError> {
        let client = Client::connect(target, options).await?;
        let system = target.address.system().map(|path| OnceCell::new_with(Some(path.to_owned())));
        Ok(Self {
            client,
            system: system.unwrap_or_default(),
            hint: target.address.hint(),
            limits: Limits::default(),
            interrupt: Interrupt::default(),
        })
    }

    /// Sets other limits than the defaults.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Decides what will be sent to the BMC. Without `mode`, the host's boot mode stays as it is.
    pub fn plan(survey: &Survey, medium: Medium, mode: Option<BootMode>) -> Result<Plan, BmcError> {
        Plan::new(survey, medium, mode)
    }

    /// Reads how far the host's boot has come. `None` if the BMC does not report it.
    pub async fn boot_progress(&self) -> Result<Option<BootProgress>, BmcError> {
        let path = self.system().await?;
        let body = self.client.get(&path).await?.body;
        self.masked(Ok(BootProgress::read(Properties::new(&body))))
    }

    /// Reads what is in the slot at this path.
    pub async fn media_state(&self, slot: &str) -> Result<MediaState, BmcError> {
        let body = self.client.get(slot).await?.body;
        self.masked(Ok(MediaState::read(Properties::new(&body))))
    }

    /// Reads what is in a slot that was read before. Reads again for some time ([`Limits::settle`]) if the BMC does not answer, or does not
    /// find the slot: its service may be starting. Ends early with [`BmcError::Interrupted`] if the user no longer wants the result.
    pub async fn media_state_at_last(&self, slot: &str) -> Result<MediaState, BmcError> {
        let mut poll = Poll::new(self.limits.poll_interval, self.limits.settle);
        loop {
            match self.media_state(slot).await {
                Err(error) if error.may_pass() => {
                    self.check_interrupt().await?;
                    if !poll.wait().await {
                        return Err(error);
                    }
                }
                read => return read,
            }
        }
    }

    /// The last 256 requests that were sent.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.client.requests()
    }

    /// Ends the session.
    pub async fn close(self) {
        self.client.close().await;
    }

    fn client(&self) -> &Client {
        &self.client
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The path of the System in the address, or of the BMC's only System.
    async fn system(&self) -> Result<String, BmcError> {
        let path = self.system.get_or_try_init(|| self.find_system()).await?;
        Ok(path.clone())
    }

    /// Reads the System, and returns its path as well. Fails for another resource, such as a Manager: what dayone asks of it would change
    /// the BMC itself.
    async fn read_system(&self) -> Result<(String, Value), BmcError> {
        let path = self.system().await?;
        match self.client.get(&path).await {
            Ok(resource) if self.may_be_system(&path, &resource.body) => Ok((path, resource.body)),
            Err(error) if error.status().is_none_or(|status| status.as_u16() != 404) => Err(error.into()),
            other => {
                let systems = self.systems().await?.paths();
                let is_listed = systems.iter().any(|system| system.trim_end_matches('/') == path.trim_end_matches('/'));
                match other {
                    Ok(resource) if is_listed => Ok((path, resource.body)),
                    _ => Err(BmcError::UnknownSystem { path, systems }),
                }
            }
        }
    }

    /// Whether a resource has the type of a System. If it has no type, whether it is not in another collection.
    fn may_be_system(&self, path: &str, body: &Value) -> bool {
        if let Some(name) = Properties::new(body).text("@odata.type") {
            return name.trim_start_matches('#').split('.').next() == Some("ComputerSystem");
        }
        let root = self.client.root();
        let mut others = ["Managers", "Chassis"].into_iter().filter_map(|name| Properties::new(&root).link(name));
        !others.any(|other| {
            let rest = path.strip_prefix(other.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.starts_with('/'))
        })
    }

    async fn find_system(&self) -> Result<String, BmcError> {
        let listed = self.systems().await?;
        let mut systems = listed.paths();
        match (systems.len(), listed.incomplete) {
            // The BMC may have others.
            (0 | 1, Some(error)) => Err(error.into()),
            (0, None) => Err(BmcError::NoSystem),
            (1, None) => Ok(systems.remove(0)),
            _ => Err(BmcError::SeveralSystems(systems)),
        }
    }

    async fn systems(&self) -> Result<Collection, BmcError> {
        let linked = Properties::new(&self.client.root()).link("Systems");
        let collection = linked.unwrap_or_else(|| "/redfish/v1/Systems".to_owned());
        Ok(self.collection(&collection).await?)
    }

    /// The vendor that the scheme of the address names.
    fn expected_vendor(&self) -> Vendor {
        match self.hint {
            Some(Dialect::Idrac) => Vendor::Dell,
            Some(Dialect::Ilo) => Vendor::Hpe,
            None => Vendor::Other,
        }
    }
}
