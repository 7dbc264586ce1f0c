//! What can go wrong between us and a BMC.

use std::fmt;
use std::time::Duration;

use http::StatusCode;

use super::message::Message;
use super::networks::NetworkRefusal;

/// A request that a BMC has answered with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The method.
    pub method: &'static str,
    /// The path.
    pub path: String,
    /// The answer's status.
    pub status: StatusCode,
    /// What the BMC says of it.
    pub messages: Vec<Message>,
    /// `Retry-After`.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: the BMC answers {}", self.method, self.path, self.status)?;
        said(f, &self.messages)
    }
}

fn said(f: &mut fmt::Formatter<'_>, messages: &[Message]) -> fmt::Result {
    for (n, message) in messages.iter().enumerate() {
        write!(f, "{}{message}", if n == 0 { ": " } else { "; " })?;
    }
    Ok(())
}

struct Said<'a>(&'a [Message]);

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        said(f, self.0)
    }
}

/// Why a BMC did not do what it was asked. Holds no secret: texts of BMCs are cleaned of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedfishError {
    /// The address is not one that BMCs may have.
    #[error("the BMC {host} is not connected to: {refusal}")]
    Refused {
        /// The host of the BMC's address.
        host: String,
        /// Why.
        refusal: NetworkRefusal,
    },
    /// The name of the BMC is not known.
    #[error("the BMC's name {host} cannot be resolved: {reason}; give its address, or look at the name service")]
    Unresolved {
        /// The name.
        host: String,
        /// Why.
        reason: String,
    },
    /// No connection. Nothing was sent.
    #[error("the BMC at {origin} cannot be reached: {reason}; check address, network and power of the BMC")]
    Unreachable {
        /// Where it should be.
        origin: String,
        /// Why.
        reason: String,
    },
    /// No TLS. Nothing was sent.
    #[error("the BMC at {origin} is not trusted: {reason}")]
    Tls {
        /// Where it is.
        origin: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The connection ended before the answer. Whether the BMC did it is not known.
    #[error("{method} {path}: the BMC ended the connection before it answered ({reason})")]
    Broken {
        /// The method.
        method: &'static str,
        /// The path.
        path: String,
        /// How.
        reason: String,
    },
    /// No answer in time. Whether the BMC did it is not known.
    #[error("{method} {path}: the BMC has not answered within {} s", after.as_secs_f32().ceil())]
    Timeout {
        /// The method.
        method: &'static str,
        /// The path.
        path: String,
        /// The time that it had.
        after: Duration,
    },
    /// The BMC asks for credentials and there are none.
    #[error("the BMC at {origin} asks for a user name and a password, and none were given")]
    CredentialsMissing {
        /// Where it is.
        origin: String,
    },
    /// The BMC does not take the credentials.
    #[error(
        "the BMC at {origin} does not accept the password of {username:?}, or the account is locked{}",
        Said(messages)
    )]
    NotAuthorized {
        /// Where it is.
        origin: String,
        /// The account.
        username: String,
        /// What the BMC says of it.
        messages: Vec<Message>,
    },
    /// The BMC wants another password first.
    #[error(
        "the BMC at {origin} wants the password of {username:?} to be changed before anything else: change it in the \
         BMC's own interface, then give the new one"
    )]
    PasswordChangeRequired {
        /// Where it is.
        origin: String,
        /// The account.
        username: String,
    },
    /// Another status than success.
    #[error("{0}")]
    Status(Box<Failure>),
    /// 412: the resource has changed since its `ETag` was read.
    #[error("{0}")]
    PreconditionFailed(Box<Failure>),
    /// 428: the BMC wants `If-Match`.
    #[error("{0}")]
    PreconditionRequired(Box<Failure>),
    /// A redirect that is not followed.
    #[error(
        "{method} {path}: the BMC sends to {location}, and is not followed there; if that is the right address, write \
         it as the BMC's"
    )]
    Redirect {
        /// The method.
        method: &'static str,
        /// The path.
        path: String,
        /// Where it would have gone.
        location: String,
    },
    /// A path that cannot be one.
    #[error("the BMC refers to {0:?}, which is no path")]
    Reference(String),
    /// Not JSON, or no object.
    #[error("{method} {path}: the answer is no JSON object ({reason}); is there a Redfish service at this address?")]
    NotJson {
        /// The method.
        method: &'static str,
        /// The path.
        path: String,
        /// How it is not.
        reason: String,
    },
    /// More than anyone needs.
    #[error("{method} {path}: the answer is longer than {limit} bytes, which is as much as is read")]
    TooLarge {
        /// The method.
        method: &'static str,
        /// The path.
        path: String,
        /// The bound.
        limit: usize,
    },
    /// A Task that ended otherwise than well.
    #[error("{path}: the BMC's task ended as {state}{}", Said(messages))]
    TaskFailed {
        /// The Task, or its monitor.
        path: String,
        /// Its `TaskState`, or the status of its monitor.
        state: String,
        /// What the BMC says of it.
        messages: Vec<Message>,
    },
    /// A Task that has not ended.
    #[error("{path}: the BMC's task is still {state} after {} s", after.as_secs())]
    TaskUnfinished {
        /// The Task, or its monitor.
        path: String,
        /// Its `TaskState`, or the status of its monitor.
        state: String,
        /// The time that it had.
        after: Duration,
    },
    /// A mistake in dayone, or a system that cannot do TLS.
    #[error("the client for the BMC cannot be made: {0}")]
    Internal(String),
}

impl RedfishError {
    /// What the BMC says of it.
    pub fn messages(&self) -> &[Message] {
        match self {
            Self::Status(failure) | Self::PreconditionFailed(failure) | Self::PreconditionRequired(failure) => {
                &failure.messages
            }
            Self::NotAuthorized { messages, .. } | Self::TaskFailed { messages, .. } => messages,
            _ => &[],
        }
    }

    /// Whether the BMC says a message of this key, such as `PropertyUnknown`, whatever the registry and its version.
    pub fn says(&self, key: &str) -> bool {
        self.messages().iter().any(|message| message.key().eq_ignore_ascii_case(key))
    }

    /// The answer's status, if there was an answer that said no.
    pub fn status(&self) -> Option<StatusCode> {
        self.failure().map(|failure| failure.status)
    }

    /// The answer that said no.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Status(failure) | Self::PreconditionFailed(failure) | Self::PreconditionRequired(failure) => {
                Some(failure)
            }
            _ => None,
        }
    }

    /// Whether the same request may well succeed a little later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Broken { .. } | Self::Timeout { .. } => true,
            Self::Status(failure) => {
                failure.status.is_server_error() && failure.status != StatusCode::NOT_IMPLEMENTED
                    || failure.status == StatusCode::TOO_MANY_REQUESTS
                    || failure.messages.iter().any(not_ready)
            }
            _ => false,
        }
    }
}

/// What iDRAC and iLO say, with a status that says otherwise, while they are busy with what they were asked before.
fn not_ready(message: &Message) -> bool {
    message.key() == "SYS518" || message.id.starts_with("iLO.") && message.key() == "InvalidOperationForSystemState"
}
