//! Why a request got no answer.

use std::error::Error;
use std::io;
use std::time::Duration;

/// What went wrong between us and the server. A foreign server's words are in it: shown through `terminal::plain`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("the name {0} cannot be resolved: {1}")]
    Resolve(String, io::Error),
    #[error("cannot connect to {0}: {1}")]
    Connect(String, io::Error),
    #[error("TLS cannot be agreed on: {0}")]
    Tls(io::Error),
    #[error("{0} is not a name that TLS can ask for")]
    Name(String),
    #[error("nothing came for {} s", .0.as_secs())]
    Silence(Duration),
    #[error("{} s were not enough for what takes seconds elsewhere", .0.as_secs())]
    Slow(Duration),
    #[error("the server closed the connection")]
    Closed,
    #[error("the server's answer is not HTTP: {0}")]
    Malformed(String),
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("the request cannot be written: {0}")]
    Request(String),
}

impl Trouble {
    /// Whether the server did not speak HTTP at all: nothing else about it can be said.
    pub(crate) fn is_before_http(&self) -> bool {
        matches!(self, Self::Resolve(..) | Self::Connect(..) | Self::Tls(_) | Self::Name(_))
    }
}

impl From<hyper::Error> for Trouble {
    fn from(error: hyper::Error) -> Self {
        let cause = || error.source().map_or_else(|| error.to_string(), ToString::to_string);
        if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
            Self::Closed
        } else if error.is_parse() {
            Self::Malformed(error.to_string())
        } else {
            Self::Broken(cause())
        }
    }
}
