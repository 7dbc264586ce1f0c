//! Boots: a host brought from its documents to a booted system by way of its BMC, one step after the other.
//!
//! A boot is a record on the disk, written before each thing that cannot be taken back, and a task that does what the
//! record says is next. A server that starts goes on where the records say that it was.

mod addresses;
mod bmc_key;
mod boot;
pub mod call_home;
mod credentials;
mod engine;
mod error;
mod evidence;
mod id;
mod machine;
mod metrics;
mod progress;
mod reading;
mod record;
mod records;
mod seal;
mod service;
mod shared;
mod step;
mod time;

pub use addresses::static_addresses;
pub use boot::{Boot, View};
pub use credentials::{CredentialsName, CredentialsSource, GivenCredentials, NoCredentials, NotACredentialsName};
pub use error::{CreateError, DeleteError};
pub use evidence::{Evidence, NotEvidence};
pub use id::{BootId, NotABootId};
pub use metrics::BootMetrics;
pub use progress::Progress;
pub use record::{BootOptions, BootRecord, BootState, EjectWhen, NewBoot, Remark};
pub use service::{Boots, Deleted};
pub use shared::BootSettings;
pub use step::{Step, StepRecord, StepState};
pub use time::Timestamp;
