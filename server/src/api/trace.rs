//! Middleware around every request: its id, its line in the log, its metrics, and panics.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use data_encoding::HEXLOWER;
use futures_util::FutureExt as _;
use http::{HeaderName, HeaderValue};
use media::LogLimit;
use media::listen::NeedsNoSecret;

use super::access::KnownClient;
use super::problem::{LoggedProblem, Problem};
use crate::metrics::Metrics;

/// Routes that machines request every few seconds: their lines would hide all others.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// How many bytes of a path, and of a method, a line has. The paths of the API are shorter.
const MAX_PATH_BYTES: usize = 200;
const MAX_METHOD_BYTES: usize = 20;

/// For the requests of clients that have not shown who they are: anybody can send any number of them.
static UNAUTHENTICATED_LOG: LogLimit = LogLimit::new();

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Middleware: logs one line for each request of a client that it knows, and some lines of others, with an id that is the
/// client's own or that the answer tells it. It also tells the listener which answers anybody gets.
pub(super) async fn trace(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(&request);
    let method = request.method().clone();
    // The route, not the path: few values, so that it can be a label. The query is never logged: kernel arguments
    // may hold secrets.
    let route =
        request.extensions().get::<MatchedPath>().map_or_else(|| "unknown".to_owned(), |path| path.as_str().to_owned());
    let path = beginning(without_token(request.uri().path()), MAX_PATH_BYTES).to_owned();

    let mut response = match catch(next.run(request)).await {
        Ok(response) => response,
        // The panic hook has logged the place.
        Err(_) => Problem::internal("a panic in the handler").into_response(),
    };

    let is_known = response.extensions_mut().remove::<KnownClient>().is_some();
    if !is_known {
        response.extensions_mut().insert(NeedsNoSecret);
    }
    let status = response.status();
    let elapsed = started.elapsed();
    metrics.api_request(&method, &route, status);
    let microseconds = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    let logged = response.extensions_mut().remove::<LoggedProblem>();
    let problem = logged.as_ref().map(|logged| logged.kind.slug());
    let cause = logged.as_ref().and_then(|logged| logged.cause.as_deref());
    let status = status.as_u16();
    let method = beginning(method.as_str(), MAX_METHOD_BYTES);
    let is_probe = PROBES.contains(&route.as_str());
    let admitted = if is_known || is_probe { Some(0) } else { UNAUTHENTICATED_LOG.admit() };
    let suppressed = admitted.filter(|suppressed| *suppressed > 0);
    // A level is part of an event's identity, so each has its own.
    macro_rules! log {
        ($level:ident) => {
            tracing::$level!(request_id = id, method, path, status, microseconds, problem, cause, suppressed, "request")
        };
    }
    if admitted.is_none() {
        log!(trace);
    } else if is_probe {
        log!(debug);
    } else if status >= 500 {
        log!(error);
    } else {
        log!(info);
    }
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Shortens a path for the log: an image's URL is a credential, even on the wrong port.
fn without_token(path: &str) -> &str {
    let lower = path.to_ascii_lowercase();
    let ends = ["/i/", "/h/", "%2fi%2f", "%2fh%2f"]
        .iter()
        .filter_map(|before| lower.find(before).map(|start| start + before.len()));
    ends.min().and_then(|end| path.get(..end)).unwrap_or(path)
}

/// The first bytes of a text, whole characters.
fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// Returns the client's own id if it is valid, and otherwise a new one.
fn request_id(request: &Request) -> String {
    let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(|id| {
        (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    });
    given.map_or_else(
        || {
            let mut random = [0; 8];
            // Without randomness all ids are equal, which is inconvenient but not dangerous.
            let _ = getrandom::fill(&mut random);
            HEXLOWER.encode(&random)
        },
        ToOwned::to_owned,
    )
}

/// Catches a panic of a future, which nobody polls again after that. Handlers share only state behind locks, which the library and
/// the store keep consistent.
async fn catch<F: Future>(future: F) -> Result<F::Output, Box<dyn Any + Send>> {
    AssertUnwindSafe(future).catch_unwind().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_caught_also_after_a_wait() {
        assert_eq!(catch(async { 1 }).await.unwrap(), 1);
        let panicking = async {
            tokio::task::yield_now().await;
            panic!("a test's");
        };
        assert!(catch(panicking).await.is_err());
    }

    #[test]
    fn tokens_of_images_are_not_logged() {
        assert_eq!(without_token("/media/i/uws2ljnfuws2ljnfuws2ljnfuw/boot.iso"), "/media/i/");
        assert_eq!(without_token("/h/uws2ljnfuws2ljnfuws2ljnfuw"), "/h/");
        assert_eq!(without_token("/media%2Fi%2fuws2ljnfuws2ljnfuws2ljnfuw%2Fboot.iso"), "/media%2Fi%2f");
        assert_eq!(without_token("/v1/images/x"), "/v1/images/x");
    }

    #[test]
    fn a_long_path_is_cut() {
        assert_eq!(beginning("/v1/bases", MAX_PATH_BYTES), "/v1/bases");
        assert_eq!(beginning(&"a".repeat(9000), MAX_PATH_BYTES).len(), MAX_PATH_BYTES);
        assert_eq!(beginning("aé", 2), "a");
    }

    #[test]
    fn only_valid_ids_of_clients_are_used() {
        let id = |given: &str| {
            request_id(&Request::builder().header("x-request-id", given).body(axum::body::Body::default()).unwrap())
        };
        assert_eq!(id("abc-1_2.3"), "abc-1_2.3");
        for bad in ["", "a b", "a\"b", &"a".repeat(65)] {
            let id = id(bad);
            assert!(id.len() == 16 && id != bad, "{id}");
        }
    }
}
