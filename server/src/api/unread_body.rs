//! Reads on after a request was answered before its body had arrived. If the server closed the connection instead, the kernel would
//! answer the rest of the body with a reset, and the client, or a proxy between, would often not see the answer (RFC 9112 §9.6).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use http::header::{CONNECTION, EXPECT};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use media::listen::Fault;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout, timeout_at};

use super::request::MAX_BODY_TIME;

/// How long the API waits for the next part of a body that it discards.
const MAX_SILENCE: Duration = Duration::from_secs(5);

/// Middleware: takes the body back if the request is answered before all of it was read, and reads the rest.
pub(super) async fn read_on(request: Request, next: Next) -> Response {
    // After a fault, it is uncertain where the body ends.
    if request.body().is_end_stream() || request.extensions().get::<Fault>().is_some() {
        return next.run(request).await;
    }
    let end = Instant::now() + MAX_BODY_TIME + MAX_SILENCE;
    let may_send_no_body = request.headers().contains_key(EXPECT);
    let unread = Arc::new(Mutex::new(None));
    let request = request.map(|body| Body::new(Lent { body: Some(body), unread: Arc::clone(&unread) }));
    let mut response = next.run(request).await;
    let rest = unread.lock().take();
    if let Some(rest) = rest {
        if may_send_no_body {
            // The client may wait for `100 Continue`, and must not send its next request where the body would be.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        // The answer does not wait for this. hyper begins the answer before it reads on, and then sends no `100 Continue`.
        tokio::spawn(discard(rest, MAX_SILENCE, end));
    }
    response
}

/// Reads to the end, until nothing has come for `silence`, or until `end`.
async fn discard(mut rest: Body, silence: Duration, end: Instant) {
    let read = async { while let Ok(Some(Ok(_))) = timeout(silence, rest.frame()).await {} };
    let _ = timeout_at(end, read).await;
}

/// The body of a request, which goes back to [`read_on`] if it is dropped before its end.
struct Lent {
    /// `None` after the end, or an error.
    body: Option<Body>,
    unread: Arc<Mutex<Option<Body>>>,
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = self.body.as_mut() else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        *self.unread.lock() = self.body.take().filter(|body| !body.is_end_stream());
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    async fn time_of(body: Body, silence: Duration, all: Duration) -> Duration {
        let begun = Instant::now();
        timeout(LONG / 2, discard(body, silence, begun + all)).await.expect("an end");
        begun.elapsed()
    }

    #[tokio::test]
    async fn reading_ends_with_the_body_with_its_client_or_with_the_time() {
        let short = Duration::from_millis(80);
        time_of(Body::from("the rest"), LONG, LONG).await;
        let silent = stream::pending::<Result<Bytes, Infallible>>();
        assert!(time_of(Body::from_stream(silent), short, LONG).await >= short);
        let endless = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Some((Ok::<_, Infallible>(Bytes::from_static(b"x")), ()))
        });
        assert!(time_of(Body::from_stream(endless), LONG, short).await >= short);
    }
}
