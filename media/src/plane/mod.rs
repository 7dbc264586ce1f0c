//! The BMCs' plane. It answers `GET` and `HEAD` of `/i/<token>/<file>`, and of `/h/<token>` for hosts that call home.
//!
//! The clients are firmware, so the answers are simple. They always have `Content-Length` and `Accept-Ranges`. The
//! answer to a range is exactly that range. Nothing is redirected, compressed or negotiated. The plane ignores
//! credentials that a BMC was configured to send, because the token in the path is the credential. It also ignores a
//! query: a client that appends one wants the same bytes. It answers a request without `Host`, or with an invalid one, because
//! old firmware sends such requests.
//!
//! `/i/probe/probe.img` is a file without an image, by which operators test the way to this server ([`probe_content`]). `/h/probe` does
//! the same for the calls of hosts.
//!
//! If the published images have names or UUIDs ([`UrlForm`](crate::UrlForm)), it also answers paths that end with one.

mod answer;
mod arrival;
mod base_checks;
mod body;
mod call_answer;
mod call_home;
mod conditions;
mod direct;
mod log;
mod metrics;
mod path;
mod pool;
mod probe;
pub mod range;
mod refusals;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use imagelib::overlay::Overlay;

use answer::Answering;
pub use answer::MediaBody;
pub use body::ImageBody;
pub use call_home::{Call, CallHomes, ExpectedCall, TooManyExpected};
pub use conditions::client_has;
pub use metrics::MediaMetrics;
use probe::Probe;
pub use probe::{PROBE_FILE, PROBE_TOKEN, probe_content};

use crate::base_file::BaseFiles;
use crate::served::Published;

/// Makes the service of the media plane, for [`Listener::serve`](crate::listen::Listener::serve).
pub fn service(published: Arc<dyn Published>, metrics: MediaMetrics) -> MediaService {
    MediaService(Arc::new(answer::Plane::new(published, metrics, None, false)))
}

/// [`service`] that keeps what each client reads of an image, until somebody [takes](crate::reading::ImageReading::take_reads) it, which
/// must happen every few seconds.
pub fn service_that_keeps_reads(published: Arc<dyn Published>, metrics: MediaMetrics) -> MediaService {
    MediaService(Arc::new(answer::Plane::new(published, metrics, None, true)))
}

/// [`service`] with a [probe](probe_content) of the instance with this name. `keeps_reads`: what each client reads of an image is kept until
/// somebody [takes](crate::reading::ImageReading::take_reads) it, which must happen every few seconds.
pub fn service_with_probe(
    published: Arc<dyn Published>,
    metrics: MediaMetrics,
    instance: &str,
    keeps_reads: bool,
) -> MediaService {
    MediaService(Arc::new(answer::Plane::new(published, metrics, Some(Probe::new(instance)), keeps_reads)))
}

/// Answers the requests of the media plane. Clones share everything.
#[derive(Clone)]
pub struct MediaService(Arc<answer::Plane>);

impl MediaService {
    /// A body with all bytes of a file, for a client that is authorised without a token. It counts in the metrics like
    /// a BMC's.
    pub fn whole(&self, overlay: Arc<Overlay>, base: Arc<BaseFiles>) -> ImageBody {
        self.0.whole(overlay, base)
    }

    /// The calls home that somebody waits for.
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
