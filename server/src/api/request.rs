//! Requests about documents. A client sends the user's documents unchanged, with everything else in the query; or one JSON
//! object.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::iter::successors;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::sync::OwnedSemaphorePermit;
use vocabulary::text::without_middle;

use super::parameters::{Parameters, QueryParameters};
use super::problem::{Problem, ProblemKind};
use super::queues::Queues;
use super::user_documents::UserDocuments;
use super::{Api, blocking};

/// The largest body, in bytes. The documents of a hundred hosts are much smaller.
const MAX_BODY_BYTES: usize = 4 << 20;

/// How long a body may take to arrive. Clients are on the operators' network; they are not BMCs.
pub(super) const MAX_BODY_TIME: Duration = Duration::from_secs(30);

/// How many bytes of the name of a content encoding an error quotes.
const MAX_ENCODING_BYTES: usize = 64;

/// The content types of documents. curl sends the last one with `--data-binary` by default.
const DOCUMENTS: [&str; 5] =
    ["application/yaml", "text/yaml", "application/x-yaml", "text/plain", "application/x-www-form-urlencoded"];

/// The content type of an Excel workbook.
pub(super) const WORKBOOK: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/// A request in one of the two forms.
pub(super) trait DocumentRequest: Sized + Send + 'static {
    /// The parameters of a request whose body is documents.
    type Query: QueryParameters + Send + 'static;

    /// Whether a parameter shows that the body is documents, even if its content type is `application/json`.
    fn implies_documents(_name: &str, _value: &str) -> bool {
        false
    }

    /// Makes the request from a query and the documents in the body.
    fn from_query(query: Self::Query, documents: UserDocuments) -> Result<Self, Problem>;

    /// Reads the request from a JSON object.
    fn from_json(body: &[u8]) -> Result<Self, Problem>;

    /// The documents of the request.
    fn documents(&self) -> Option<&UserDocuments>;
}

/// A request that has arrived and that nobody has read yet.
pub(super) struct Received<R: DocumentRequest> {
    headers: HeaderMap,
    /// The query beside documents; none if the body is a JSON object.
    query: Option<R::Query>,
    body: Bytes,
}

impl<R: DocumentRequest, S: Sync> FromRequest<S> for Received<R> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let query = Parameters::new(head.uri.query())?;
        let query = if is_documents(&head.headers, query.any(R::implies_documents))? {
            Some(query.into_query()?)
        } else if query.names().is_empty() {
            None
        } else {
            let detail = format!(
                "{}: a request in JSON has everything in its body; send documents in JSON as application/yaml",
                query.names().join(", ")
            );
            return Err(Problem::new(ProblemKind::WrongParameter, detail));
        };
        check_encoding(&head.headers, query.is_some())?;
        Ok(Self { headers: head.headers, query, body: read_body(body).await? })
    }
}

impl<R: DocumentRequest> Received<R> {
    /// Waits in the queue for documents of this size, then reads the request and works on it.
    pub(super) async fn process<T: Send + 'static>(
        self,
        api: &Api,
        work: impl FnOnce(R) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let Self { headers, query, body } = self;
        let Some(query) = query else { return process_json(&api.queues, body, work).await };
        let documents = documents(&headers, body.clone());
        let permit = api.queues.acquire(documents.amount()).await.map_err(Problem::internal)?;
        holding(permit, move || {
            let request = R::from_query(query, documents)?;
            work(request).map_err(|problem| with_curl_hint(problem, &headers, &body))
        })
        .await?
    }
}

/// Waits in the queue for bodies of this size, reads the request, and works on it. If the documents are more work than that, waits in the
/// queue for their amount before the work.
async fn process_json<R: DocumentRequest, T: Send + 'static>(
    queues: &Queues,
    body: Bytes,
    work: impl FnOnce(R) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let size = body.len();
    let permit = queues.acquire(size).await.map_err(Problem::internal)?;
    // The estimate may unpack thousands of files, and other requests must not wait for that.
    let read = move || {
        let request = R::from_json(&body)?;
        let amount = request.documents().map_or(0, UserDocuments::amount);
        Ok::<_, Problem>((permit, request, amount))
    };
    let (permit, request, amount) = blocking(read).await??;
    let permit = queues.reacquire(permit, size.max(amount)).await.map_err(Problem::internal)?;
    holding(permit, move || work(request)).await?
}

/// Does the work, which keeps its place in the queue until it ends, even if the client has gone.
async fn holding<T: Send + 'static>(
    permit: OwnedSemaphorePermit,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    blocking(move || {
        let _permit = permit;
        work()
    })
    .await
}

/// Tells by its content type whether a body is documents. JSON can be either: `implied` decides. Without a content type, a
/// body is documents, because some clients send none.
fn is_documents(headers: &HeaderMap, implied: bool) -> Result<bool, Problem> {
    match media_type(headers).as_deref() {
        Some("application/json") => Ok(implied),
        None | Some(WORKBOOK) => Ok(true),
        Some(essence) if DOCUMENTS.contains(&essence) => Ok(true),
        Some(_) => {
            let detail =
                "send application/json for a request, application/yaml for documents, or an Excel workbook as such";
            Err(Problem::new(ProblemKind::UnsupportedMediaType, detail))
        }
    }
}

/// Returns the content type without its parameters.
fn media_type(headers: &HeaderMap) -> Option<String> {
    let media_type = headers.get(CONTENT_TYPE)?.to_str().unwrap_or_default();
    Some(media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Refuses a body that is encoded in a way that dayone does not read (RFC 9110 §15.5.16). Documents may be compressed with gzip, which
/// dayone recognizes by their content.
pub(super) fn check_encoding(headers: &HeaderMap, is_documents: bool) -> Result<(), Problem> {
    for encoding in headers.get_all(CONTENT_ENCODING) {
        let encoding = String::from_utf8_lossy(encoding.as_bytes()).trim().to_ascii_lowercase();
        match encoding.as_str() {
            "" | "identity" => {}
            "gzip" | "x-gzip" if is_documents => {}
            _ => {
                let readable = if is_documents { "documents as they are, or with gzip" } else { "JSON as it is" };
                let encoding = without_middle(&encoding, MAX_ENCODING_BYTES);
                let detail = format!("the body has the Content-Encoding {encoding:?}; send {readable}");
                return Err(Problem::new(ProblemKind::UnsupportedMediaType, detail));
            }
        }
    }
    Ok(())
}

/// Returns the documents in a body.
fn documents(headers: &HeaderMap, body: Bytes) -> UserDocuments {
    if media_type(headers).as_deref() == Some(WORKBOOK) { UserDocuments::workbook(body) } else { body.into() }
}

/// Explains what curl may have done to refused documents: `-d @file` removes the line breaks.
fn with_curl_hint(problem: Problem, headers: &HeaderMap, documents: &[u8]) -> Problem {
    let form = headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/x-www-form"));
    if problem.kind() == ProblemKind::DocumentsRefused && form && !documents.contains(&b'\n') {
        return problem.with_more("the documents have no line breaks; with curl, use --data-binary, not -d");
    }
    problem
}

/// Reads the body of a request, within the limits of size and time.
pub(super) async fn read_body(body: Body) -> Result<Bytes, Problem> {
    let too_large = || {
        let detail = format!("the body is larger than {MAX_BODY_BYTES} bytes; send fewer hosts at once");
        Problem::new(ProblemKind::TooLarge, detail)
    };
    // If the client sends the length in advance, there is no need to read a body that is too large.
    if http_body::Body::size_hint(&body).lower() > MAX_BODY_BYTES as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(MAX_BODY_TIME, Limited::new(body, MAX_BODY_BYTES).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) if is_malformed(&*error) => {
            let detail = "the chunks of the body are not valid (Transfer-Encoding: chunked)";
            Err(Problem::new(ProblemKind::MalformedRequest, detail).with_cause(error))
        }
        Ok(Err(error)) => {
            Err(Problem::new(ProblemKind::IncompleteRequest, "the connection broke within the body").with_cause(error))
        }
        Err(_) => {
            let detail = format!("the body did not arrive within {} seconds", MAX_BODY_TIME.as_secs());
            Err(Problem::new(ProblemKind::IncompleteRequest, detail))
        }
    }
}

/// Whether the client has sent an invalid body. If the connection has only broken, the error has another kind.
fn is_malformed(error: &(dyn Error + 'static)) -> bool {
    successors(Some(error), |&error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use base64::prelude::*;
    use imagelib::compression::Compression;
    use tokio::time::timeout;

    use super::*;
    use crate::api::check::CheckRequest;

    #[tokio::test]
    async fn a_small_request_waits_in_the_queue_for_the_unpacked_size_of_its_documents() {
        let queues = Queues::for_processors(1);
        let packed = Compression::Gzip.compress(&b"# nothing\n".repeat(100_000)).unwrap();
        let packed = BASE64_STANDARD.encode(packed);
        let body = format!(r#"{{"documents": [{{"name": "a.yaml.gz", "data": "{packed}"}}]}}"#);
        assert!(body.len() < 64 << 10);
        let place = queues.acquire(usize::MAX).await.unwrap();
        let mut waiting = pin!(process_json(&queues, body.into(), |_: CheckRequest| Ok(())));
        assert!(timeout(Duration::from_millis(200), waiting.as_mut()).await.is_err());
        drop(place);
        waiting.await.unwrap();
    }

    #[test]
    fn json_is_a_request_or_documents() {
        let documents = |media_type: &str, implied| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, media_type.parse().unwrap());
            is_documents(&headers, implied).ok()
        };
        assert_eq!(documents("application/json; charset=utf-8", false), Some(false));
        assert_eq!(documents("Application/JSON", true), Some(true));
        for media_type in DOCUMENTS.into_iter().chain([WORKBOOK]) {
            assert_eq!(documents(media_type, false), Some(true));
        }
        assert_eq!(is_documents(&HeaderMap::new(), true).ok(), Some(true));
        for media_type in ["multipart/form-data; boundary=x", "application/octet-stream", "", "application/jsonx"] {
            assert_eq!(documents(media_type, true), None, "{media_type}");
        }
    }
}
