//! The errors of requests.

use std::error::Error;
use std::io;
use std::time::Duration;

/// Why a request got no answer. May quote the server, so callers must remove control characters before they show it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("cannot resolve the name {0}: {1}")]
    Resolve(String, io::Error),
    #[error("cannot connect to {0}: {1}")]
    Connect(String, io::Error),
    #[error("the TLS handshake failed: {0}")]
    Tls(io::Error),
    #[error("{0} is not a valid name for TLS")]
    Name(String),
    #[error("the server sent nothing for {} s", .0.as_secs())]
    Silence(Duration),
    /// Before an answer.
    #[error("the server closed the connection")]
    Closed,
    #[error("the server closed the connection in the middle of an answer")]
    CutOff,
    #[error("the server's answer is not HTTP: {0}")]
    Malformed(String),
    #[error("the connection failed: {0}")]
    Broken(String),
    #[error("cannot build the request: {0}")]
    Invalid(String),
}

/// How far a request came before it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The name has no address.
    Name,
    /// No address accepts connections.
    Connection,
    /// The TLS handshake failed.
    Tls,
    /// The connection is there, and no answer came.
    Answer,
}

impl RequestError {
    /// How far the request came.
    pub(crate) fn stage(&self) -> Stage {
        match self {
            Self::Resolve(..) => Stage::Name,
            Self::Connect(..) => Stage::Connection,
            Self::Tls(_) | Self::Name(_) => Stage::Tls,
            _ => Stage::Answer,
        }
    }

    /// Whether it failed before HTTP, so that nothing else about the server can be examined.
    pub(crate) fn is_before_http(&self) -> bool {
        matches!(self, Self::Resolve(..) | Self::Connect(..) | Self::Tls(_) | Self::Name(_))
    }
}

impl RequestError {
    /// The error of a body that began to arrive.
    pub(super) fn of_body(error: &hyper::Error) -> Self {
        match Self::from(error) {
            Self::Closed => Self::CutOff,
            other => other,
        }
    }
}

impl From<&hyper::Error> for RequestError {
    fn from(error: &hyper::Error) -> Self {
        let cause = error.source();
        // A server may have closed the connection already when the request arrives. Its system then resets the connection.
        let kind = cause.and_then(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
        let is_reset = matches!(
            kind,
            Some(
                io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::BrokenPipe
                    | io::ErrorKind::UnexpectedEof
            )
        );
        if is_reset || error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
            Self::Closed
        } else if error.is_parse() {
            Self::Malformed(error.to_string())
        } else {
            Self::Broken(cause.map_or_else(|| error.to_string(), ToString::to_string))
        }
    }
}

impl From<hyper::Error> for RequestError {
    fn from(error: hyper::Error) -> Self {
        Self::from(&error)
    }
}
