//! An HTTP client that sends one request at a time on one connection and hides nothing: it does not follow redirects,
//! does not decompress, and does not retry.

mod answer;
mod certificate;
mod connection;
mod connector;
mod error;
mod request;
mod session;
mod tap;

pub(super) use answer::Answer;
pub(super) use certificate::{Problem, SharedVerifier, authority_reason, is_of_authority, unusable_reason};
pub(super) use connection::{Connection, Pace, SMALL_BODY, Traffic};
pub(super) use connector::{Connector, Suites};
pub(super) use error::RequestError;
pub(super) use request::Request;
pub(super) use session::Session;

pub use certificate::Trust;
pub use error::Stage;
