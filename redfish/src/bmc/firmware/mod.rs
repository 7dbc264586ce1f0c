//! HTTP boot by the settings of a host's firmware, for BMCs that have no usable `HttpBootUri`: Dell iDRAC and HPE iLO.
//!
//! The settings are attributes of the resource `Bios` (schema `Bios` 1.2). A change is staged in its settings resource, and takes
//! effect at the host's next start. `docs/bmcs.md` has the source of each attribute and value.

mod dell;
mod desired_setting;
mod error;
mod hpe;
mod jobs;
mod network;
mod nics;
mod planning;
mod present;
mod registry;
mod restore;
mod settings;
mod stage;
#[cfg(test)]
mod tests;

pub use error::FirmwareError;
pub use network::{FirmwareNetwork, StaticAddress};
pub use restore::FirmwareRestored;
pub use settings::FirmwareSettings;
pub use stage::{Staged, Staging};
