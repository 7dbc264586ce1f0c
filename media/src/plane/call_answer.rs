//! Answers hosts that call home.

use std::future::ready;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use http::header::{CACHE_CONTROL, RETRY_AFTER};
use http::request::Parts;
use http::{Response, StatusCode};

use super::answer::{Answering, MediaBody, NO_STORE, Plane, built, empty, text};
use super::call_home::Called;
use super::log::Outcome;
use super::path::Target;
use crate::listen::NeedsNoSecret;

impl Plane {
    /// Answers a host when its call is recorded. A host whose call is not recorded calls again, so its answer may be lost.
    pub(super) fn answer_call(self: &Arc<Self>, called: Called, head: Parts) -> Answering {
        match called {
            Called::Recorded => ready(Ok(self.called(&head, true))).left_future(),
            Called::Pending(pending) => {
                let plane = Arc::clone(self);
                async move { Ok(plane.called(&head, pending.until_recorded().await)) }.boxed().right_future()
            }
        }
    }

    fn called(&self, head: &Parts, is_recorded: bool) -> Response<MediaBody> {
        let target = self.target(head);
        let mut response = built(if is_recorded { received() } else { again() });
        if target.is_some_and(Target::is_probe) {
            response.extensions_mut().insert(NeedsNoSecret);
        }
        let status = response.status();
        self.metrics.request(status);
        let outcome = Outcome { status, length: 0, known: true, host: None };
        self.log.write(head.into(), target, &outcome, Instant::now());
        response
    }
}

/// No cache may store it, or a later call would not reach dayone.
fn received() -> http::Result<Response<MediaBody>> {
    empty(Response::builder().status(StatusCode::NO_CONTENT).header(CACHE_CONTROL, NO_STORE))
}

/// The script in the image calls again after this time, whatever the answer says.
fn again() -> http::Result<Response<MediaBody>> {
    let builder = Response::builder().status(StatusCode::SERVICE_UNAVAILABLE).header(RETRY_AFTER, "5");
    text(builder.header(CACHE_CONTROL, NO_STORE), "the call is not recorded yet; call again\n")
}
