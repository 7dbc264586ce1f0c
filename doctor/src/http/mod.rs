//! A client that does one request at a time on one connection and hides nothing: no redirects, no decompression, no
//! second try.

mod answer;
mod ask;
mod certificate;
mod connection;
mod connector;
mod session;
mod tap;
mod trouble;

pub(super) use answer::Answer;
pub(super) use ask::Ask;
pub(super) use connection::{Connection, GLIMPSE};
pub(super) use connector::{Connector, Pace, Suites, Traffic};
pub(super) use session::Session;
pub(super) use trouble::Trouble;

pub use certificate::Trust;
