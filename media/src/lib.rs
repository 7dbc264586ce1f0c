//! The media plane: serves images, which are overlays over base files, to the firmware of many hosts at once.
//!
//! [`service`] answers requests for what a [`Published`](served::Published) knows, a [`Listener`](listen::Listener)
//! accepts the connections, and [`ImageReading`](reading::ImageReading) notes which bytes a host has read. The crate
//! knows nothing of hosts' networks, of records on disk or of Kubernetes. `examples/serve_file.rs` is the smallest
//! server.

pub mod base_file;
mod bounded;
pub mod listen;
mod log_limit;
mod media_url;
mod plane;
pub mod reading;
pub mod served;
mod token;
mod url_form;

pub use bounded::{BOUND, Bounded};
use log_limit::LogLimit;
pub use media_url::{MediaUrl, MediaUrlError};
pub use plane::range;
pub use plane::{Call, CallHomes, ImageBody, MediaBody, MediaMetrics, MediaService, TooManyExpected, service};
pub use token::{MediaToken, NotAToken};
pub use url_form::{MediaUuid, NotAName, UrlForm, check_name};
