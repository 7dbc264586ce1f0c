//! The server and the command line of dayone.

pub mod api;
pub mod logging;
pub mod media_url;
pub mod metrics;
