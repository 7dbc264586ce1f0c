//! The client of BMCs (Redfish, DMTF DSP0266): what a BMC has, inserting and ejecting virtual media, booting from it
//! once, power.

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
pub(crate) use message::without_tokens;
pub use networks::{AllowedNetworks, NetworkRefusal};
pub(crate) use tls::client_config;
pub use tls::{Certificates, CertificatesError, Verification};
