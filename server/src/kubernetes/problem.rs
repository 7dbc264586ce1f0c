//! Errors of the API server, worded so that it is clear what to do.

use std::error::Error as _;
use std::future::Future;
use std::time::Duration;

use http::StatusCode;
use kube::client::AuthError;
use kube::config::KubeconfigError;
use kube::core::Status;

use crate::error_chain::chain;

/// How long one request may take. This does not apply to watches.
pub(super) const REQUEST: Duration = Duration::from_secs(30);

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
    #[error("cannot {doing}: the API server does not answer within {} s", limit.as_secs())]
    Timeout { doing: String, limit: Duration },
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

    /// Whether the API server refused what a write changes. A webhook that sets no code refuses with 400, and a
    /// `ValidatingAdmissionPolicy` with 422.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.code(), 400 | 403 | 422)
    }

    /// Whether the object does not exist any more.
    pub(super) fn is_gone(&self) -> bool {
        self.code() == 404
    }

    /// How long the API server asks to wait before the next request.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api { source, .. } => retry_after(source),
            Self::Timeout { .. } => None,
        }
    }
}

/// How long the API server asks to wait before the next request.
pub(super) fn retry_after(error: &kube::Error) -> Option<Duration> {
    let kube::Error::Api(status) = error else { return None };
    let seconds = status.details.as_ref()?.retry_after_seconds;
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

/// Whether the API server refused a request because a right is missing. Webhooks, quotas and other admission plugins refuse with the same
/// code. Only authorization says `User "…" cannot get resource "…"`.
pub(super) fn lacks_right(status: &Status) -> bool {
    let refused = status.message.split_once(": User \"").and_then(|(_, user)| user.split_once("\" cannot "));
    status.code == 403 && refused.is_some_and(|(_, refused)| refused.contains(" resource \""))
}

/// Sends a request, and waits for the answer for a limited time.
pub(super) async fn request<T>(
    doing: impl Into<String>,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, RequestError> {
    request_within(REQUEST, doing, request).await
}

/// Sends a request, and waits for the answer for this time. After that, nobody knows whether the API server has done what it should.
pub(super) async fn request_within<T>(
    limit: Duration,
    doing: impl Into<String>,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, RequestError> {
    match tokio::time::timeout(limit, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(RequestError::Api { doing: doing.into(), source }),
        Err(_) => Err(RequestError::Timeout { doing: doing.into(), limit }),
    }
}

/// An error in one line: the message of the API server, or the chain of causes.
pub(super) fn describe(error: &kube::Error) -> String {
    match error {
        // The message says who may not do what on which resource. That is the missing rule.
        kube::Error::Api(status) if lacks_right(status) => {
            format!("{}; a Role or ClusterRole with this rule is missing", status.message)
        }
        kube::Error::Api(status) if status.message.starts_with('<') => match StatusCode::from_u16(status.code) {
            Ok(code) => format!("a proxy in front of the API server answers with a page of HTML: {code}"),
            Err(_) => format!("a proxy in front of the API server answers with a page of HTML ({})", status.code),
        },
        kube::Error::Api(status) => format!("{} ({})", status.message, status.code),
        other => unquoted(other),
    }
}

/// An error and its causes on one line, without what the library quotes: lines of the kubeconfig, the URL of its proxy, and the environment
/// and the output of its plugin. They have tokens, keys and passwords.
pub(super) fn unquoted(error: &(dyn std::error::Error + 'static)) -> String {
    for cause in std::iter::successors(Some(error), |&error| error.source()) {
        if let Some(KubeconfigError::Parse(error)) = cause.downcast_ref() {
            return format!("failed to parse kubeconfig YAML: {}", error.without_snippet());
        }
        if let Some(kube::Error::ProxyProtocolUnsupported { .. } | kube::Error::ProxyProtocolDisabled { .. }) =
            cause.downcast_ref()
        {
            return "the proxy-url of the kubeconfig does not begin with http:// or https://".to_owned();
        }
        match cause.downcast_ref() {
            Some(AuthError::AuthExecRun { out, .. }) => {
                let said = String::from_utf8_lossy(&out.stderr);
                return format!("the plugin of the kubeconfig failed: {}: {}", out.status, said.trim());
            }
            Some(AuthError::AuthExecParse(error)) => {
                return format!("the plugin of the kubeconfig gives no credentials: {}", error.without_snippet());
            }
            _ => {}
        }
    }
    chain(error)
}

/// Why a watch failed: the status code of the answer, or 0 without one, and a description.
pub(super) fn describe_watch(error: &kube::runtime::watcher::Error) -> (u16, String) {
    match error.source().and_then(|source| source.downcast_ref::<kube::Error>()) {
        Some(source @ kube::Error::Api(status)) => (status.code, describe(source)),
        Some(source) => (0, describe(source)),
        None => (0, unquoted(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(message: &str) -> kube::Error {
        kube::Error::Api(Status::failure(message, "Forbidden").with_code(403).boxed())
    }

    #[test]
    fn errors_quote_no_line_of_a_kubeconfig() {
        let text = "users:\n- name: a\n  user:\n    token: hunter2\n   x: 1\n";
        let error = kube::config::Kubeconfig::from_yaml(text).unwrap_err();
        assert!(error.to_string().contains("hunter2"), "the library no longer quotes: {error}");
        let said = unquoted(&error);
        assert!(said.contains("line ") && !said.contains("hunter2"), "{said}");
    }

    #[test]
    fn a_webhook_or_a_policy_refuses_with_several_codes() {
        let error = |code| RequestError::Api {
            doing: "label the Secret a".to_owned(),
            source: kube::Error::Api(Status::failure("denied the request: no", "Invalid").with_code(code).boxed()),
        };
        assert!([400, 403, 422].map(error).iter().all(RequestError::is_refused));
        assert!(![404, 409, 429, 500, 504].map(error).iter().any(RequestError::is_refused));
        assert_eq!(error(422).to_string(), "cannot label the Secret a: denied the request: no (422)");
    }

    #[test]
    fn a_page_of_a_proxy_is_named_and_not_quoted() {
        let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body>\r\n</html>";
        let error =
            |code| kube::Error::Api(Status::failure(page, "Failed to parse error data").with_code(code).boxed());
        let proxy = "a proxy in front of the API server answers with a page of HTML";
        assert_eq!(describe(&error(502)), format!("{proxy}: 502 Bad Gateway"));
        assert_eq!(describe(&error(0)), format!("{proxy} (0)"));
        let plain = kube::Error::Api(Status::failure("404 page not found", "NotFound").with_code(404).boxed());
        assert_eq!(describe(&plain), "404 page not found (404)");
    }

    #[tokio::test]
    async fn a_request_without_an_answer_ends_after_its_limit() {
        let limit = Duration::from_millis(1);
        let answer = request_within::<()>(limit, "label the Secret a", std::future::pending()).await;
        assert_eq!(
            answer.unwrap_err().to_string(),
            "cannot label the Secret a: the API server does not answer within 0 s"
        );
    }

    #[test]
    fn only_the_authorizers_refusal_is_explained_by_a_missing_role() {
        let rbac = "secrets \"a\" is forbidden: User \"system:serviceaccount:n:d\" cannot update resource \"secrets\" in \
                    API group \"\" in the namespace \"n\"";
        assert_eq!(describe(&refused(rbac)), format!("{rbac}; a Role or ClusterRole with this rule is missing"));
        for admission in [
            "admission webhook \"policy.example.com\" denied the request: labels cannot change",
            "leases.coordination.k8s.io \"dayone\" is forbidden: exceeded quota: leases, requested: count/leases=1",
            "secrets \"a\" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>",
        ] {
            assert_eq!(describe(&refused(admission)), format!("{admission} (403)"));
        }
    }
}
