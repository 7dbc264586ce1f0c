//! Errors of the API server, worded so that it is clear what to do.

use std::error::Error as _;
use std::future::Future;
use std::time::Duration;

use crate::error_chain::chain;

/// How long one request may take. This does not apply to watches.
const REQUEST: Duration = Duration::from_secs(30);

/// A request that failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    /// The API server refused the request, or could not be reached.
    #[error("cannot {doing}: {}", describe(source))]
    Api {
        /// The purpose of the request, such as `read the Secret a`.
        doing: String,
        source: kube::Error,
    },
    /// The API server did not answer.
    #[error("cannot {doing}: the API server does not answer within {} s", REQUEST.as_secs())]
    Timeout { doing: String },
}

impl RequestError {
    /// The status code of the answer; 0 without an answer.
    pub(super) fn code(&self) -> u16 {
        match self {
            Self::Api { source: kube::Error::Api(status), .. } => status.code,
            _ => 0,
        }
    }

    /// Whether somebody else changed the object first.
    pub(super) fn is_conflict(&self) -> bool {
        self.code() == 409
    }

    pub(super) fn is_forbidden(&self) -> bool {
        self.code() == 403
    }

    /// Whether the object does not exist any more.
    pub(super) fn is_gone(&self) -> bool {
        self.code() == 404
    }
}

/// Sends a request, and waits for the answer for a limited time.
pub(super) async fn request<T>(
    doing: impl Into<String>,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, RequestError> {
    match tokio::time::timeout(REQUEST, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(RequestError::Api { doing: doing.into(), source }),
        Err(_) => Err(RequestError::Timeout { doing: doing.into() }),
    }
}

/// An error in one line: the message of the API server, or the chain of causes.
pub(super) fn describe(error: &kube::Error) -> String {
    match error {
        // The message says who may not do what on which resource. That is the missing rule.
        kube::Error::Api(status) if status.code == 403 => {
            format!("{}; a Role or ClusterRole with this rule is missing", status.message)
        }
        kube::Error::Api(status) => format!("{} ({})", status.message, status.code),
        other => chain(other),
    }
}

/// Why a watch failed: the status code of the answer, or 0 without one, and a description.
pub(super) fn describe_watch(error: &kube::runtime::watcher::Error) -> (u16, String) {
    match error.source().and_then(|source| source.downcast_ref::<kube::Error>()) {
        Some(source @ kube::Error::Api(status)) => (status.code, describe(source)),
        Some(source) => (0, describe(source)),
        None => (0, chain(error)),
    }
}
