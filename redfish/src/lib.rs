//! A client of BMCs (Redfish, DMTF DSP0266) for one purpose: a host that boots once from an image that the BMC shows it as
//! virtual media.
//!
//! What BMCs have is read before anything is changed, and decides what is asked of them: vendors differ in the slots that
//! they have, in the form of `InsertMedia`, in how the boot override is set and in the reset types. Sessions, tasks, ETags
//! and BMCs that are busy are dealt with here. No error, log line or [`Debug`](std::fmt::Debug) holds a password or a token.
//!
//! - [`bmc::Bmc`] is one BMC with all that a boot needs: [`survey`](bmc::Bmc::survey), [`insert`](bmc::Bmc::insert),
//!   [`boot_once`](bmc::Bmc::boot_once), [`power`](bmc::Bmc::power), and the way back: [`eject`](bmc::Bmc::eject) and
//!   [`restore`](bmc::Bmc::restore).
//! - [`Client`] is below it: requests, sessions and tasks.
//!
//! ```no_run
//! use redfish::bmc::{Bmc, Medium, PowerAction};
//! use redfish::{BmcAddress, ClientOptions, Credentials, Target, Verification};
//!
//! # async fn boot() -> Result<(), Box<dyn std::error::Error>> {
//! let target = Target {
//!     // As Metal3 writes it; the path is that of a System, where the BMC has several.
//!     address: "redfish-virtualmedia+https://192.0.2.5/redfish/v1/Systems/1".parse::<BmcAddress>()?,
//!     credentials: Some(Credentials::new("root".to_owned(), "a password".to_owned().into())?),
//!     verification: Verification::System,
//! };
//! let bmc = Bmc::connect(&target, &ClientOptions::default()).await?;
//! let survey = bmc.survey().await?;
//! // Nothing was changed so far. What will be asked of the BMC is known now, and is refused here if it lacks something.
//! let plan = Bmc::plan(&survey, Medium::Cd, None)?;
//!
//! let url = "http://192.0.2.1/boot.iso";
//! let inserted = bmc.insert(&plan, url).await?;
//! let before = bmc.boot_once(&plan).await?;
//! bmc.power(PowerAction::Cycle { graceful: std::time::Duration::ZERO }).await?;
//!
//! // When the host has booted:
//! bmc.eject(&inserted.slot, Some(url)).await?;
//! bmc.restore(&before).await?;
//! bmc.close().await;
//! # Ok(())
//! # }
//! ```

mod address;
pub mod bmc;
mod client;
mod credentials;
mod error;
mod message;
mod networks;
mod secrets;
mod task;
mod tls;

pub use address::{AddressError, BmcAddress, Dialect};
pub use client::{Answer, Client, ClientOptions, Completion, RequestRecord, Resource, Target};
pub use credentials::{Credentials, CredentialsError, Password};
pub use error::{Failure, RedfishError};
pub use message::Message;
pub use message::without_tokens;
pub use networks::{AllowedNetworks, NetworkRefusal};
pub use tls::client_config;
pub use tls::{Certificates, CertificatesError, Verification};
