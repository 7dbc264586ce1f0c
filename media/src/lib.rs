//! The media plane: serves images, which are overlays over base files, to the firmware of many hosts at once.
//!
//! A store implements [`Published`](served::Published), which finds the file behind a URL. [`service`] answers the
//! requests for these files, and a [`Listener`](listen::Listener) accepts the connections.
//! [`ImageReading`](reading::ImageReading) records which bytes a host has read, and [`ImageAccess`](access::ImageAccess) limits
//! who may read an image. The crate knows nothing of hosts' networks, records on disk or Kubernetes. `examples/serve_file.rs` is the smallest server.

pub mod access;
pub mod base_file;
pub mod listen;
mod log_limit;
mod media_url;
mod plane;
pub mod reading;
pub mod served;
mod single_flight;
mod token;
mod url_form;
mod url_secret;

pub use log_limit::LogLimit;
pub use media_url::{MediaUrl, MediaUrlError};
pub use plane::range;
pub use plane::{
    Call, CallHomes, ExpectedCall, ImageBody, MediaBody, MediaMetrics, MediaService, PROBE_FILE, PROBE_TOKEN,
    TooManyExpected, client_has, probe_content, service, service_that_keeps_reads, service_with_probe,
};
pub use single_flight::{SingleFlight, WAIT_LIMIT};
pub use token::{MediaToken, NotAToken};
pub use url_form::{MediaUuid, NotAName, UrlForm, check_name};
pub use url_secret::UrlSecret;
