//! What can go wrong between the client and a BMC.

use std::fmt;
use std::time::Duration;

use http::StatusCode;

use super::message::{Message, Messages};
use super::networks::NetworkRefusal;

/// The method and the path of a request. Displays as `GET /redfish/v1/Systems/1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine {
    /// `GET`, `POST`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// The path, with secrets masked.
    pub path: String,
}

impl fmt::Display for RequestLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// An answer with a status other than success.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{request}: the BMC answers {status}{}", Messages(messages))]
pub struct Failure {
    /// The request.
    pub request: RequestLine,
    /// The HTTP status of the answer.
    pub status: StatusCode,
    /// The BMC's messages.
    pub messages: Vec<Message>,
    /// How long to wait before the next request (`Retry-After`).
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// Whether the BMC refused the request because of its `If-Match` (412), or because it has none (428).
    pub fn is_precondition(&self) -> bool {
        matches!(self.status, StatusCode::PRECONDITION_FAILED | StatusCode::PRECONDITION_REQUIRED)
    }

    /// Whether the BMC may grant a session a little later: somebody else's session ends, or the service for sessions starts.
    pub(crate) fn is_passing_session_refusal(&self) -> bool {
        self.has_no_free_session() || is_busy(self.status)
    }

    /// Whether the BMC refused a session because others have all of them.
    pub(crate) fn has_no_free_session(&self) -> bool {
        // iDRAC has the key RAC0218, and others only a text. With 401, a text is not enough to send the password again.
        let may_be_a_text = self.status != StatusCode::UNAUTHORIZED;
        self.messages.iter().any(|message| {
            let text = message.text.to_ascii_lowercase();
            matches!(message.key(), "SessionLimitExceeded" | "RAC0218")
                || may_be_a_text && text.contains("maximum number of") && text.contains("sessions")
        })
    }
}

/// Why a request failed. The texts of BMCs in it have their secrets masked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedfishError {
    /// The BMC's address is not in the allowed networks. Nothing was sent.
    #[error("the BMC {host} must not be connected to: {refusal}")]
    Refused {
        /// The host in the BMC's address.
        host: String,
        /// The reason.
        refusal: NetworkRefusal,
    },
    /// The BMC's host name does not resolve. Nothing was sent.
    #[error("the BMC's name {host} cannot be resolved: {reason}; check the DNS, or use the BMC's IP address")]
    Unresolved {
        /// The host name.
        host: String,
        /// The reason.
        reason: String,
    },
    /// No connection. Nothing was sent.
    #[error("the BMC at {origin} cannot be reached: {reason}; check the BMC's address, network and power")]
    Unreachable {
        /// The BMC's URL without a path.
        origin: String,
        /// The reason.
        reason: String,
    },
    /// The BMC's certificate is not trusted. Nothing was sent.
    #[error("the BMC at {origin} is not trusted: {reason}")]
    Tls {
        /// The BMC's URL without a path.
        origin: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// No TLS connection, for a reason other than trust. The BMC has carried out no request.
    #[error("there is no TLS connection to the BMC at {origin}: {reason}")]
    Handshake {
        /// The BMC's URL without a path.
        origin: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// The connection ended before the answer, or the answer is not HTTP. It is not known whether the BMC carried out the request.
    #[error("{request}: the connection to the BMC ended without a complete answer ({reason})")]
    Broken {
        /// The request.
        request: RequestLine,
        /// The reason.
        reason: String,
    },
    /// No answer in time. It is not known whether the BMC carried out the request.
    #[error("{request}: the BMC has not answered within {} s", after.as_secs_f32().ceil())]
    Timeout {
        /// The request.
        request: RequestLine,
        /// The time limit.
        after: Duration,
    },
    /// The BMC asks for credentials, and there are none.
    #[error("the BMC at {origin} asks for a user name and a password, but none were given")]
    CredentialsMissing {
        /// The BMC's URL without a path.
        origin: String,
    },
    /// The BMC refuses the credentials (401).
    #[error(
        "the BMC at {origin} does not accept the password of {username:?}, or the account is locked{}",
        Messages(messages)
    )]
    NotAuthorized {
        /// The BMC's URL without a path.
        origin: String,
        /// The account.
        username: String,
        /// The BMC's messages.
        messages: Vec<Message>,
    },
    /// The BMC has granted no session, and then refuses the credentials in a request (401).
    #[error(
        "the BMC at {origin} opens no session ({session}), and refuses the password of {username:?} in a request{}. Its sessions may all \
         be in use: end some in the BMC's own interface, or wait until they expire. The BMC accepts a password without a session only if \
         Basic authentication is enabled there. If neither is the reason, the password is wrong, or the account is locked",
        Messages(messages)
    )]
    NoSession {
        /// The BMC's URL without a path.
        origin: String,
        /// The account.
        username: String,
        /// How the BMC refused the session.
        session: Box<Failure>,
        /// The BMC's messages about the password.
        messages: Vec<Message>,
    },
    /// The BMC accepts nothing until the password is changed.
    #[error(
        "the BMC at {origin} demands that the password of {username:?} is changed first: change it in the BMC's own \
         interface, then use the new one"
    )]
    PasswordChangeRequired {
        /// The BMC's URL without a path.
        origin: String,
        /// The account.
        username: String,
    },
    /// An answer with a status other than success.
    #[error("{0}")]
    Status(Box<Failure>),
    /// A redirect to another host, to another resource for a request that is not a read, or in a circle.
    #[error("{request}: the BMC redirects to {location}, which dayone does not follow{}", redirect_advice(*is_address))]
    Redirect {
        /// The request.
        request: RequestLine,
        /// Where the redirect leads.
        location: String,
        /// Whether the request was for the BMC's address: its service root, or the System in the address.
        is_address: bool,
    },
    /// A link that is not a path on the BMC.
    #[error("the BMC links to {0:?}, which is not a path")]
    Reference(String),
    /// The answer is not a JSON object.
    #[error("{request}: the answer is not a JSON object ({reason}); {}", not_json_advice(*was_service))]
    NotJson {
        /// The request.
        request: RequestLine,
        /// What is wrong with it.
        reason: String,
        /// Whether the client has read a Redfish service at this address before.
        was_service: bool,
    },
    /// The answer is larger than [`ClientOptions::max_body`](crate::ClientOptions::max_body).
    #[error("{request}: the answer is longer than the limit of {limit} bytes")]
    TooLarge {
        /// The request.
        request: RequestLine,
        /// The limit in bytes.
        limit: usize,
    },
    /// The answer has more values than the client reads into memory.
    #[error("{request}: the answer has more than {limit} values")]
    TooManyValues {
        /// The request.
        request: RequestLine,
        /// The limit.
        limit: usize,
    },
    /// A task that did not end well.
    #[error("{path}: the BMC's task ended with {state}{}", Messages(messages))]
    TaskFailed {
        /// The path of the task, or of its monitor.
        path: String,
        /// `TaskState`.
        state: String,
        /// The BMC's messages.
        messages: Vec<Message>,
    },
    /// A task that did not end in time.
    #[error("{path}: the BMC's task has not ended after {} s; its state is {state}", after.as_secs())]
    TaskUnfinished {
        /// The path of the task, or of its monitor.
        path: String,
        /// `TaskState`, or why it is not known.
        state: String,
        /// The time limit.
        after: Duration,
    },
    /// The HTTP client cannot be built, for example because this system has no TLS.
    #[error("the client for the BMC cannot be built: {0}")]
    Internal(String),
}

impl RedfishError {
    /// The BMC's messages.
    pub fn messages(&self) -> &[Message] {
        match self {
            Self::Status(failure) => &failure.messages,
            Self::NotAuthorized { messages, .. }
            | Self::NoSession { messages, .. }
            | Self::TaskFailed { messages, .. } => messages,
            _ => &[],
        }
    }

    /// Whether a message has this key, such as `PropertyUnknown`, in any version of any registry.
    pub fn says(&self, key: &str) -> bool {
        self.messages().iter().any(|message| message.key().eq_ignore_ascii_case(key))
    }

    /// The HTTP status of the answer. `None` if there was no answer, or the login failed.
    pub fn status(&self) -> Option<StatusCode> {
        self.failure().map(|failure| failure.status)
    }

    /// The answer whose status is not success.
    pub fn failure(&self) -> Option<&Failure> {
        if let Self::Status(failure) = self { Some(failure) } else { None }
    }

    /// Whether the refusal says nothing about the request: the BMC did not answer, or takes no request at the moment.
    pub(crate) fn is_unavailable(&self) -> bool {
        match self {
            // The DNS may answer a little later: it is asked for each new connection.
            Self::Unreachable { .. } | Self::Unresolved { .. } | Self::Broken { .. } | Self::Timeout { .. } => true,
            Self::NotJson { was_service, .. } => *was_service,
            Self::Status(failure) => is_busy(failure.status),
            _ => false,
        }
    }

    /// Whether the same request may succeed a little later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Unresolved { .. } | Self::Broken { .. } | Self::Timeout { .. } => true,
            // The BMC's web server answers in place of the service, which starts or is busy.
            Self::NotJson { was_service, .. } => *was_service,
            Self::NoSession { session, .. } => session.is_passing_session_refusal(),
            Self::Status(failure) => {
                failure.status.is_server_error() && failure.status != StatusCode::NOT_IMPLEMENTED
                    || failure.status == StatusCode::TOO_MANY_REQUESTS
                    || !failure.is_precondition() && failure.messages.iter().any(not_ready)
            }
            _ => false,
        }
    }
}

fn redirect_advice(is_address: bool) -> &'static str {
    if is_address { "; if that is the right address, use it as the BMC's address" } else { "" }
}

/// What to do about an answer that is not a JSON object.
fn not_json_advice(was_service: bool) -> &'static str {
    if was_service {
        "the BMC's Redfish service may be starting or busy: try again a little later"
    } else {
        "check that this is the address of a Redfish service"
    }
}

/// Whether a status means that the BMC is busy, or that its web server does not reach the service behind it.
pub(crate) fn is_busy(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// The message key with which an iLO refuses (400) a change of the override while its host is in POST.
pub(crate) const IN_POST: &str = "UnableToModifyDuringSystemPOST";

/// Whether an iDRAC or iLO says that it is busy with an earlier request, or an iLO that its host is in POST. They say so with a status
/// that means something else.
fn not_ready(message: &Message) -> bool {
    message.key() == "SYS518"
        || message.id.starts_with("iLO.") && matches!(message.key(), "InvalidOperationForSystemState" | IN_POST)
}
