//! A Redfish client (DMTF DSP0266) that boots a machine once from an image, through its BMC.
//!
//! The image is at an HTTP or HTTPS URL. The BMC reads it and shows it to the machine as a CD or a USB stick: as
//! virtual media. The crate knows how BMCs of different vendors deviate from the schemas and from each other, and
//! adapts its requests to what a BMC shows. It needs a Tokio runtime.
//!
//! # Boot a machine
//!
//! First connect. The address is that of the BMC, with the path of a System if the BMC has several. The forms that
//! Metal3 uses are valid, too.
//!
//! ```no_run
//! use redfish::bmc::Bmc;
//! use redfish::{BmcAddress, ClientOptions, Credentials, Target, Verification};
//!
//! # async fn boot() -> Result<(), Box<dyn std::error::Error>> {
//! let target = Target {
//!     address: "https://192.0.2.5/redfish/v1/Systems/1".parse::<BmcAddress>()?,
//!     credentials: Some(Credentials::new("root".to_owned(), "a password".to_owned().into())?),
//!     verification: Verification::System,
//! };
//! let bmc = Bmc::connect(&target, &ClientOptions::default()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Then read what the BMC has, and plan the requests. So far nothing has changed. If the BMC lacks something that the
//! boot needs, `plan` returns an error that says what.
//!
//! ```no_run
//! # use redfish::bmc::{Bmc, BmcError, Medium};
//! # async fn plan(bmc: &Bmc, url: &str) -> Result<(), BmcError> {
//! let survey = bmc.survey().await?;
//! let plan = Bmc::plan(&survey, Medium::Cd, None)?;
//! for request in plan.requests(url) {
//!     println!("{} {} {}", request.method, request.path, request.body);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Insert the image, make the machine boot from it once, and restart the machine:
//!
//! ```no_run
//! # use redfish::bmc::{Bmc, BmcError, Plan, PowerAction};
//! # async fn start(bmc: &Bmc, plan: &Plan, url: &str) -> Result<(), BmcError> {
//! let inserted = bmc.insert(plan, url).await?;
//! let boot_override = bmc.boot_once(plan).await?;
//! bmc.power(PowerAction::Cycle { graceful: std::time::Duration::ZERO }).await?;
//! # Ok(())
//! # }
//! ```
//!
//! When the machine no longer needs the image, undo it, and close the session. BMCs have few sessions.
//!
//! ```no_run
//! # use redfish::bmc::{Bmc, BmcError, BootOverride, Inserted};
//! # async fn undo(bmc: Bmc, inserted: Inserted, boot_override: BootOverride, url: &str) -> Result<(), BmcError> {
//! bmc.eject(&inserted.slot, Some(url)).await?;
//! bmc.restore(&boot_override).await?;
//! bmc.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! `examples/insert_and_boot.rs` is the whole program.
//!
//! # Other requests
//!
//! [`Client`] sends any request to a BMC: it logs in, keeps a session, follows tasks, handles ETags, and repeats what
//! is safe to repeat. [`bmc::Bmc`] uses it.
//!
//! # Errors and secrets
//!
//! [`BmcError`](bmc::BmcError) says what failed on which BMC, what the BMC answered, and what to do.
//! [`is_transient`](bmc::BmcError::is_transient) tells whether the same call may succeed later. No error, log line or
//! [`Debug`](std::fmt::Debug) output contains a password or a session's token, even if a BMC repeats them in its
//! answers.

mod address;
pub mod bmc;
mod causes;
mod client;
mod credentials;
mod error;
mod image_url;
mod message;
mod networks;
mod secrets;
mod task;
mod tls;

pub use address::{AddressError, BmcAddress, Dialect};
pub use client::{
    Answer, Client, ClientOptions, Completion, RequestRecord, Resource, Target, Unfinished, UnfinishedTask,
};
pub use credentials::{Credentials, CredentialsError, Password};
pub use error::{Failure, RedfishError, RequestLine};
pub use message::{Message, without_tokens};
pub use networks::{AllowedNetworks, NetworkRefusal};
pub use tls::{Certificates, CertificatesError, Peer, Verification, client_config, distrust, tls_error};
