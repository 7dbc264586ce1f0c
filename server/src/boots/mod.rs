//! Boots: dayone brings a host from its documents to a running system through its BMC, step by step.
//!
//! A boot is a record on disk, and a task that takes the next step according to the record. dayone writes the record before
//! everything that it cannot take back. A restarted server continues where the records say.

mod addresses;
mod blocking;
mod bmc_key;
mod boot;
pub mod call_home;
mod clients;
mod credentials;
pub(crate) mod credentials_directory;
mod encryption;
mod engine;
mod error;
mod evidence;
pub mod firmware_network;
mod group;
mod id;
mod listing;
mod machine;
mod method;
mod metrics;
mod permits;
mod reading;
pub(crate) mod record;
mod record_writer;
mod records;
mod rotation;
#[cfg(test)]
mod samples;
mod service;
mod shared;
mod step;
mod summary;
mod time;

pub use addresses::static_addresses;
pub(crate) use bmc_key::BmcKey;
pub use boot::{Boot, View};
pub use clients::BootOnlyFrom;
pub use credentials::{CredentialsName, CredentialsSource, GivenCredentials, NoCredentials, NotACredentialsName};
pub use encryption::EncryptionError;
pub use error::{CreateError, DeleteError};
pub use evidence::{Evidence, NotEvidence};
pub use group::{Counted, Group};
pub use id::{BootId, NotABootId};
pub use listing::{Counts, KnownBoot, Listed, Listing};
pub use method::{BootMethod, NotABootMethod};
pub use metrics::BootMetrics;
pub use record::{BootOptions, BootRecord, BootState, EjectWhen, NewBoot, Remark};
pub use service::{Boots, Deleted};
pub use shared::BootSettings;
pub use step::{Step, StepRecord, StepState};
pub use time::Timestamp;
