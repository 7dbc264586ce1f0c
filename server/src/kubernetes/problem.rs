//! Errors of the API server, told so that it is clear what to do.

use std::error::Error as _;
use std::future::Future;
use std::time::Duration;

use crate::error_chain::chain;

/// How long one request may take. Watches are not requests of this kind.
const REQUEST: Duration = Duration::from_secs(30);

/// A request that did not come to what it was for.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    /// The API server refused, or could not be reached.
    #[error("cannot {doing}: {}", describe(source))]
    Api {
        /// What the request was for: `read the Secret a`.
        doing: String,
        /// What came back.
        source: kube::Error,
    },
    /// No answer.
    #[error("cannot {doing}: the API server does not answer within {} s", REQUEST.as_secs())]
    Silence {
        /// What the request was for.
        doing: String,
    },
}

impl RequestError {
    /// The answer's status code; 0 where there was none.
    pub(super) fn code(&self) -> u16 {
        match self {
            Self::Api { source: kube::Error::Api(status), .. } => status.code,
            _ => 0,
        }
    }

    /// Somebody else changed the object first.
    pub(super) fn is_conflict(&self) -> bool {
        self.code() == 409
    }

    /// The API server refuses it.
    pub(super) fn is_forbidden(&self) -> bool {
        self.code() == 403
    }

    /// The object is not there any more.
    pub(super) fn is_gone(&self) -> bool {
        self.code() == 404
    }
}

/// A request, with a bound on its time.
pub(super) async fn request<T>(
    doing: impl FnOnce() -> String,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, RequestError> {
    match tokio::time::timeout(REQUEST, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(RequestError::Api { doing: doing(), source }),
        Err(_) => Err(RequestError::Silence { doing: doing() }),
    }
}

/// An error in one line: what the API server said, or the chain of causes.
pub(super) fn describe(error: &kube::Error) -> String {
    match error {
        // The message says who may not do what on which resource: the rule that is missing.
        kube::Error::Api(status) if status.code == 403 => {
            format!("{}; a Role or ClusterRole with this rule is missing", status.message)
        }
        kube::Error::Api(status) => format!("{} ({})", status.message, status.code),
        other => chain(other),
    }
}

/// The status code that a watch failed with; 0 where there was none.
pub(super) fn watch_code(error: &kube::runtime::watcher::Error) -> u16 {
    match error.source().and_then(|source| source.downcast_ref::<kube::Error>()) {
        Some(kube::Error::Api(status)) => status.code,
        _ => 0,
    }
}

/// What a watch failed of.
pub(super) fn describe_watch(error: &kube::runtime::watcher::Error) -> String {
    match error.source().and_then(|source| source.downcast_ref::<kube::Error>()) {
        Some(source) => describe(source),
        None => chain(error),
    }
}
