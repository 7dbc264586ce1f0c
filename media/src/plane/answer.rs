//! Answers requests.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{self, BoxFuture};
use http::header::{
    ACCEPT_RANGES, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, LAST_MODIFIED, RANGE,
    RETRY_AFTER,
};
use http::request::Parts;
use http::response::Builder;
use http::{Method, Response, StatusCode};
use http_body_util::{Either, Full};

use imagelib::overlay::Overlay;

use super::arrival::Arrivals;
use super::base_checks::{bases_checked, bases_checked_now};
use super::body::{ImageBody, Part};
use super::call_home::{CallHomes, Called};
use super::conditions::{Validators, Verdict};
use super::log::{AccessLog, Outcome, Shown};
use super::metrics::MediaMetrics;
use super::path::Target;
use super::pool::Pool;
use super::probe::{PROBE_TOKEN, Probe};
use super::range::{Requested, requested};
use super::refusals::{self, Refusals};
use crate::LogLimit;
use crate::access::{Moment, Refusal};
use crate::base_file::BaseFiles;
use crate::listen::NeedsNoSecret;
use crate::reading::{FileReading, Recorder};
use crate::served::{Lookup, Published, ServedFile};

/// The body of an answer: a short text or the bytes of an image.
pub type MediaBody = Either<Full<Bytes>, ImageBody>;

/// An answer, at once or later.
pub(super) type Answering = future::Either<Ready<Answer>, BoxFuture<'static, Answer>>;
type Answer = Result<Response<MediaBody>, Infallible>;

/// Caches in between must neither store secrets nor compress files again. A client's own cache may store the file, but
/// must ask again, because the image may be released. Ironic's image cache works with everything except `no-store`.
pub(super) const CACHING: &str = "private, no-cache, no-transform";

/// A file that is missing or not ready may be there the next moment.
pub(super) const NO_STORE: &str = "no-store";

/// How often a request looks for its file, if that is another one whenever its bases were checked.
const MAX_LOOKUPS: u32 = 3;

/// A request, and what its path leads to.
struct Asked<'a> {
    head: &'a Parts,
    target: Option<Target<'a>>,
    now: Moment,
}

/// The state that all requests of a media plane share.
pub(super) struct Plane {
    pub(super) published: Arc<dyn Published>,
    pub(super) metrics: MediaMetrics,
    pub(super) pool: Arc<Pool>,
    pub(super) log: AccessLog,
    unavailable: LogLimit,
    refusals: Refusals,
    call_homes: CallHomes,
    arrivals: Arrivals,
    probe: Option<Probe>,
    /// Whether somebody takes what clients have read.
    keeps_reads: bool,
}

impl Plane {
    pub(super) fn new(
        published: Arc<dyn Published>,
        metrics: MediaMetrics,
        probe: Option<Probe>,
        keeps_reads: bool,
    ) -> Self {
        Self {
            published,
            metrics,
            pool: Arc::default(),
            log: AccessLog::default(),
            unavailable: LogLimit::new(),
            refusals: Refusals::default(),
            call_homes: CallHomes::default(),
            arrivals: Arrivals::default(),
            probe,
            keeps_reads,
        }
    }

    pub(super) fn whole(&self, overlay: Arc<Overlay>, base: Arc<BaseFiles>) -> ImageBody {
        let all = VecDeque::from([Part::Image(0..overlay.size())]);
        ImageBody::new(overlay, base, all, Arc::clone(&self.pool), self.metrics.transfer(), None)
    }

    pub(super) fn call_homes(&self) -> &CallHomes {
        &self.call_homes
    }

    /// Answers a request. The answer comes later if the image may arrive in a moment, if only a file system can tell
    /// whether a base is unchanged, or if the call of a host is yet to be recorded.
    pub(super) fn answer(self: &Arc<Self>, head: Parts) -> Answering {
        if let Some(Target::CallHome { token }) = self.target(&head)
            && is_answered(&head.method)
            && let Some(called) = self.call(token, &head)
        {
            return self.answer_call(called, head);
        }
        let lookup = self.look_up(&head);
        if let Lookup::NotYet(arrivals) = lookup {
            let Some(wait) = self.arrivals.begin(arrivals) else {
                return ready(Ok(self.answer_with(&head, Lookup::NotFound))).left_future();
            };
            let plane = Arc::clone(self);
            let answer = async move {
                let found = wait.until_known(|| plane.look_up(&head)).await;
                let checked = plane.checked(&head, found).await;
                Ok(plane.answer_with(&head, checked))
            };
            return answer.boxed().right_future();
        }
        match bases_checked_now(lookup, &head.method, Instant::now()) {
            Ok(checked) => ready(Ok(self.answer_with(&head, checked))).left_future(),
            Err(unchecked) => {
                let plane = Arc::clone(self);
                let answer = async move {
                    let checked = plane.checked(&head, unchecked).await;
                    Ok(plane.answer_with(&head, checked))
                };
                answer.boxed().right_future()
            }
        }
    }

    /// Checks the bases of what was found, and then looks again: while a file system was asked, somebody may have deleted the image or
    /// changed its limits, and its time may have ended.
    async fn checked(&self, head: &Parts, mut found: Lookup) -> Lookup {
        for _ in 0..MAX_LOOKUPS {
            let checked = match bases_checked(found).await {
                Lookup::Found(checked) => checked,
                other => return other,
            };
            let now = self.look_up(head);
            if let Lookup::Found(now) = &now
                && Arc::ptr_eq(&now.overlay, &checked.overlay)
                && Arc::ptr_eq(&now.base, &checked.base)
            {
                return Lookup::Found(now.clone());
            }
            found = now;
        }
        Lookup::Unavailable("it changes again and again".to_owned())
    }

    pub(super) fn target<'a>(&self, head: &'a Parts) -> Option<Target<'a>> {
        Target::parse(head.uri.path(), self.published.urls())
    }

    fn look_up(&self, head: &Parts) -> Lookup {
        if is_answered(&head.method) { self.find(self.target(head)) } else { Lookup::NotFound }
    }

    pub(super) fn find(&self, target: Option<Target<'_>>) -> Lookup {
        match target {
            Some(Target::CallHome { .. }) | None => Lookup::NotFound,
            Some(target) if target.is_probe() => {
                self.probe.as_ref().map_or(Lookup::NotFound, |probe| Lookup::Found(probe.file()))
            }
            Some(Target::File { token, file }) => self.published.find(token, file),
            Some(Target::Uuid { uuid: name } | Target::Name { name }) => self.published.find_name(name),
        }
    }

    /// The call of a host that somebody waits for, or of the doctor.
    fn call(&self, token: &str, head: &Parts) -> Option<Called> {
        if token == PROBE_TOKEN {
            return self.probe.is_some().then_some(Called::Recorded);
        }
        self.call_homes.call(token, head)
    }

    fn answer_with(&self, head: &Parts, lookup: Lookup) -> Response<MediaBody> {
        let (target, now) = (self.target(head), Moment::now());
        let (known, host) = match &lookup {
            Lookup::Found(file) => (true, file.host.clone()),
            Lookup::Unavailable(_) => (true, None),
            Lookup::NotFound | Lookup::NotYet(_) => (false, None),
        };
        let mut response = built(self.respond(&Asked { head, target, now }, lookup));
        if target.is_some_and(Target::is_probe) {
            response.extensions_mut().insert(NeedsNoSecret);
        }
        let status = response.status();
        self.metrics.request(status);
        if status == StatusCode::NOT_FOUND {
            self.metrics.unknown(target);
        }
        let length = if let Either::Right(body) = response.body() { body.rest() } else { 0 };
        let outcome = Outcome { status, length, known, host: host.as_deref() };
        self.log.write(head.into(), target, &outcome, now.steady);
        response
    }

    fn respond(&self, asked: &Asked<'_>, lookup: Lookup) -> http::Result<Response<MediaBody>> {
        if !is_answered(&asked.head.method) {
            let builder = Response::builder().status(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET, HEAD");
            return text(builder, "only GET and HEAD are allowed here\n");
        }
        match lookup {
            Lookup::NotFound | Lookup::NotYet(_) => not_found(),
            Lookup::Unavailable(reason) => self.unavailable(asked.target, &reason),
            Lookup::Found(served) => self.found(asked, served),
        }
    }

    /// The reason is for the operator, and goes to the log. The client learns only that it may try again.
    fn unavailable(&self, target: Option<Target<'_>>, reason: &str) -> http::Result<Response<MediaBody>> {
        if let Some(suppressed) = self.unavailable.admit() {
            let (token, file) = target.map_or(("", ""), Target::shown);
            tracing::warn!(token, file, reason, suppressed, "cannot serve an image");
        }
        let builder = Response::builder().status(StatusCode::SERVICE_UNAVAILABLE).header(RETRY_AFTER, "30");
        let builder = builder.header(CACHE_CONTROL, NO_STORE);
        text(builder, "the image cannot be served at the moment\n")
    }

    /// The client learns which of the limits it was. It has a valid URL, and its operator may look for the mistake at the BMC.
    fn refused(&self, asked: &Asked<'_>, file: &ServedFile, refusal: Refusal) -> http::Result<Response<MediaBody>> {
        self.metrics.refused(refusal);
        self.refusals.log(Shown::from(asked.head).address(), file.host.as_deref(), asked.target, refusal);
        let builder = Response::builder().status(StatusCode::FORBIDDEN).header(CACHE_CONTROL, NO_STORE);
        text(builder, refusals::text(refusal))
    }

    fn found(&self, asked: &Asked<'_>, file: ServedFile) -> http::Result<Response<MediaBody>> {
        let (head, shown) = (asked.head, Shown::from(asked.head));
        if let Some(access) = &file.access
            && let Err(refusal) = access.admit(shown.address())
        {
            return self.refused(asked, &file, refusal);
        }
        let (etag, size) = (file.etag.to_string(), file.overlay.size());
        let recorder = self.recorder(file.reading.as_ref(), shown, asked.now);
        let last_modified = whole_seconds(file.last_modified);
        let validators = Validators { etag: &etag, last_modified, changes: file.changes };
        let mut builder = Response::builder().header(ETAG, &etag);
        // RFC 9110 §8.8.2.1: never later than the Date of the answer.
        if last_modified <= asked.now.wall {
            builder = builder.header(LAST_MODIFIED, httpdate::fmt_http_date(last_modified));
        }
        let builder = builder.header(CACHE_CONTROL, CACHING).header(ACCEPT_RANGES, "bytes");
        match validators.judge(&head.headers) {
            Verdict::Proceed => {}
            Verdict::NotModified => return empty(builder.status(StatusCode::NOT_MODIFIED)),
            Verdict::Failed => {
                let builder = builder.status(StatusCode::PRECONDITION_FAILED);
                return text(builder, "the file does not match the conditions of the request\n");
            }
        }
        // HEAD ignores Range (§14.2): it tells the size of the whole.
        if head.method == Method::HEAD {
            return empty(builder.header(CONTENT_TYPE, file.media_type).header(CONTENT_LENGTH, size));
        }
        match range(head, validators, size) {
            Requested::Whole => {
                let builder = builder.header(CONTENT_TYPE, file.media_type);
                self.parts(builder, asked, file, [Part::Image(0..size)].into(), recorder)
            }
            Requested::One(range) => {
                let builder = builder
                    .status(StatusCode::PARTIAL_CONTENT)
                    .header(CONTENT_TYPE, file.media_type)
                    .header(CONTENT_RANGE, content_range(&range, size));
                self.parts(builder, asked, file, [Part::Image(range)].into(), recorder)
            }
            Requested::Several(ranges) => self.multipart(builder, asked, file, ranges, recorder),
            Requested::Unsatisfiable => {
                let builder = builder.status(StatusCode::RANGE_NOT_SATISFIABLE);
                let builder = builder.header(CONTENT_RANGE, format!("bytes */{size}"));
                text(builder, "the Range of the request is outside the file\n")
            }
        }
    }

    /// Records the request, and what will be sent in answer to it.
    pub(super) fn recorder(
        &self,
        reading: Option<&Arc<FileReading>>,
        request: Shown<'_>,
        now: Moment,
    ) -> Option<Recorder> {
        Some(reading?.request(&request.reading(), now).keeping_reads(self.keeps_reads))
    }

    /// Answers with several ranges (RFC 9110 §14.6). The boundary is the entity tag. As a digest of the content, it
    /// cannot occur in the content, neither by chance nor on purpose.
    fn multipart(
        &self,
        builder: Builder,
        asked: &Asked<'_>,
        file: ServedFile,
        ranges: Vec<Range<u64>>,
        recorder: Option<Recorder>,
    ) -> http::Result<Response<MediaBody>> {
        let (etag, media_type, size) = (file.etag.to_string(), file.media_type, file.overlay.size());
        let boundary = etag.trim_matches('"');
        let mut parts = VecDeque::with_capacity(2 * ranges.len() + 1);
        for range in ranges {
            let head = format!(
                "\r\n--{boundary}\r\nContent-Type: {media_type}\r\nContent-Range: {}\r\n\r\n",
                content_range(&range, size)
            );
            parts.extend([Part::Text(head.into()), Part::Image(range)]);
        }
        parts.push_back(Part::Text(format!("\r\n--{boundary}--\r\n").into()));
        let builder = builder
            .status(StatusCode::PARTIAL_CONTENT)
            .header(CONTENT_TYPE, format!("multipart/byteranges; boundary={boundary}"));
        self.parts(builder, asked, file, parts, recorder)
    }

    fn parts(
        &self,
        builder: Builder,
        asked: &Asked<'_>,
        file: ServedFile,
        parts: VecDeque<Part>,
        recorder: Option<Recorder>,
    ) -> http::Result<Response<MediaBody>> {
        let ServedFile { overlay, base, access, keeps, .. } = file;
        let body = ImageBody::new(overlay, base, parts, Arc::clone(&self.pool), self.metrics.transfer(), recorder);
        let body = body.with_files(asked.head.extensions.get().cloned()).that_keeps(keeps);
        let mut body = body.with_reads(access.and_then(|access| access.into_reads()));
        if let Err(error) = body.read_first() {
            return self.unavailable(asked.target, &error.to_string());
        }
        builder.header(CONTENT_LENGTH, body.rest()).body(Either::Right(body))
    }
}

fn is_answered(method: &Method) -> bool {
    [Method::GET, Method::HEAD].contains(method)
}

/// The ranges that a GET requests. A second `Range` header makes both malformed, and malformed ranges are ignored.
fn range(head: &Parts, validators: Validators<'_>, size: u64) -> Requested {
    let mut values = head.headers.get_all(RANGE).iter();
    match (values.next().map(|value| value.to_str()), values.next()) {
        (Some(Ok(header)), None) if validators.range_holds(&head.headers) => requested(header, size),
        _ => Requested::Whole,
    }
}

fn content_range(range: &Range<u64>, size: u64) -> String {
    format!("bytes {}-{}/{size}", range.start, range.end.saturating_sub(1))
}

/// A time as a header can have it: in whole seconds, and between the years 1970 and 9999.
pub(super) fn whole_seconds(time: SystemTime) -> SystemTime {
    const YEAR_10000: u64 = 253_402_300_800;
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    SystemTime::UNIX_EPOCH + Duration::from_secs(if seconds < YEAR_10000 { seconds } else { 0 })
}

fn not_found() -> http::Result<Response<MediaBody>> {
    let builder = Response::builder().status(StatusCode::NOT_FOUND).header(CACHE_CONTROL, NO_STORE);
    text(builder, "not found\n")
}

/// Only a media type that is not a valid header is an error.
pub(super) fn built(response: http::Result<Response<MediaBody>>) -> Response<MediaBody> {
    response.unwrap_or_else(|error| {
        tracing::error!(%error, "cannot build an answer");
        let mut response = Response::new(Either::Left(Full::default()));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

pub(super) fn text(builder: Builder, text: &'static str) -> http::Result<Response<MediaBody>> {
    let builder = builder.header(CONTENT_TYPE, "text/plain; charset=utf-8").header(CONTENT_LENGTH, text.len());
    builder.body(Either::Left(Full::new(Bytes::from_static(text.as_bytes()))))
}

pub(super) fn empty(builder: Builder) -> http::Result<Response<MediaBody>> {
    builder.body(Either::Left(Full::default()))
}
