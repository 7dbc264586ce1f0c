//! One BMC, and what a boot needs of it: what it has, an image in one of its slots, the next boot from there, power.
//!
//! What it has is read into a [`Survey`]; from that, and without asking it again, a [`Plan`] is made. What must be known
//! to undo a step is in the step's result, which can be kept and used by another process.

mod attempt;
mod blank;
mod boot_once;
mod boot_override;
mod eject;
mod error;
mod form;
mod insert;
mod limits;
mod medium;
mod model;
mod plan;
mod planned_request;
mod power;
mod reset_types;
mod slot;
mod state;
mod survey;
#[cfg(test)]
mod tests;
mod vendor;

use tokio::sync::OnceCell;

pub use attempt::Attempt;
pub use boot_once::BootOverride;
pub use boot_override::OverrideForm;
pub use eject::{Ejected, Found};
pub use error::BmcError;
pub use form::{Form, Method, Parameter};
pub use insert::Inserted;
pub use limits::Limits;
pub use medium::Medium;
pub use plan::Plan;
pub use planned_request::PlannedRequest;
pub use power::{PowerAction, PowerChange, Ready};
pub use state::{Boot, BootMode, BootProgress, BootSource, MediaState, PowerState};
pub use survey::{Insert, Manager, Reset, Slot, Survey, System};
pub use vendor::Vendor;

use super::{Client, ClientOptions, Dialect, RequestRecord, Target};
use model::read;

/// One BMC, connected.
pub struct Bmc {
    client: Client,
    /// The System of the address, or the one that was found.
    system: OnceCell<String>,
    hint: Option<Dialect>,
    limits: Limits,
}

impl Bmc {
    /// Connects and logs in.
    pub async fn connect(target: &Target, options: &ClientOptions) -> Result<Self, BmcError> {
        let client = Client::connect(target, options).await?;
        let system = target.address.system().map(|path| OnceCell::new_with(Some(path.to_owned())));
        Ok(Self { client, system: system.unwrap_or_default(), hint: target.address.hint(), limits: Limits::default() })
    }

    /// With other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What will be asked of a BMC, decided from what it has. Without `mode`, the firmware's mode is not touched.
    pub fn plan(survey: &Survey, medium: Medium, mode: Option<BootMode>) -> Result<Plan, BmcError> {
        Plan::new(survey, medium, mode)
    }

    /// How far the host's boot has come; none where the BMC does not say.
    pub async fn boot_progress(&self) -> Result<Option<BootProgress>, BmcError> {
        let path = self.system().await?;
        let system: model::System = read(&self.client.get(&path).await?.body);
        self.blanked(Ok(BootProgress::read(system.boot_progress)))
    }

    /// What is in a slot.
    pub async fn media_state(&self, slot: &str) -> Result<MediaState, BmcError> {
        self.blanked(Ok(MediaState::read(&read(&self.client.get(slot).await?.body))))
    }

    /// What was asked for so far.
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

    /// The System: the one of the address, or the only one.
    async fn system(&self) -> Result<String, BmcError> {
        let path = self.system.get_or_try_init(|| self.find_system()).await?;
        Ok(path.clone())
    }

    async fn find_system(&self) -> Result<String, BmcError> {
        let mut systems = self.systems().await?;
        match systems.len() {
            0 => Err(BmcError::NoSystem),
            1 => Ok(systems.remove(0)),
            _ => Err(BmcError::SeveralSystems { systems }),
        }
    }

    async fn systems(&self) -> Result<Vec<String>, BmcError> {
        let root: model::Root = read(self.client.root());
        let collection = root.systems.map_or_else(|| "/redfish/v1/Systems".to_owned(), |link| link.path.0);
        Ok(read::<model::Collection>(&self.client.get(&collection).await?.body).paths())
    }

    /// The vendor that the address' driver is for.
    fn expected_vendor(&self) -> Vendor {
        match self.hint {
            Some(Dialect::Idrac) => Vendor::Dell,
            Some(Dialect::Ilo) => Vendor::Hpe,
            None => Vendor::Other,
        }
    }
}
