//! The BMCs' plane: `GET` and `HEAD` of `/i/<token>/<file>`, and of `/h/<token>` for hosts that call home. Nothing else.
//!
//! The client is firmware, so the answers keep to what firmware copes with: `Content-Length` and `Accept-Ranges` are
//! always there, a range is answered with exactly that range, nothing is redirected, compressed or negotiated, and
//! credentials that a BMC was told to send are ignored: the token in the path is the credential. A query is ignored
//! too, since a client that appends one means the same bytes.
//!
//! Where the published images have names or UUIDs ([`UrlForm`](crate::UrlForm)), paths that end in one are answered as well.

mod answer;
mod body;
mod call_home;
mod conditions;
mod late;
mod log;
mod metrics;
mod path;
mod pool;
pub mod range;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use imagelib::overlay::Overlay;

use answer::Answering;
pub use answer::MediaBody;
pub use body::ImageBody;
pub use call_home::{Call, CallHomes, TooManyExpected};
pub use metrics::MediaMetrics;

use crate::base_file::BaseFiles;
use crate::served::Published;

/// The media plane over what is published, for [`crate::listen::Listener::serve`].
pub fn service(published: Arc<dyn Published>, metrics: MediaMetrics) -> MediaService {
    MediaService(Arc::new(answer::Plane::new(published, metrics)))
}

/// Answers the requests of the media plane. Clones share everything.
#[derive(Clone)]
pub struct MediaService(Arc<answer::Plane>);

impl MediaService {
    /// All bytes of a file, for whoever has a right to them other than a token: the same body that a BMC gets, counted
    /// and buffered with the others.
    pub fn whole(&self, overlay: Arc<Overlay>, base: Arc<BaseFiles>) -> ImageBody {
        self.0.whole(overlay, base)
    }

    /// The calls of hosts that are waited for.
    pub fn call_homes(&self) -> &CallHomes {
        self.0.call_homes()
    }
}

impl<B> tower::Service<Request<B>> for MediaService {
    type Response = Response<MediaBody>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (head, _) = request.into_parts();
        self.0.answer(head)
    }
}
