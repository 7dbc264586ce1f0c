//! Answers direct requests: the bytes of a file, or of one range of it.
//!
//! Every other answer is made by [`Plane::answer`], which would also give the same bytes as this.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use http::StatusCode;

use super::MediaService;
use super::answer::{CACHING, Plane, whole_seconds};
use super::base_checks::bases_checked_now;
use super::body::{ImageBody, Part};
use super::log::{Outcome, Shown};
use super::path::Target;
use super::range::{Requested, requested};
use crate::access::Moment;
use crate::listen::{DirectAnswer, DirectAnswers, DirectRequest, Sender};
use crate::served::{ETag, Lookup, ServedFile};

impl DirectAnswers for MediaService {
    type Body = ImageBody;
    type Memory = Option<Prepared>;

    fn answer(
        &self,
        request: &DirectRequest<'_>,
        sender: Sender<'_>,
        prepared: &mut Self::Memory,
        head: &mut Vec<u8>,
    ) -> Option<DirectAnswer<ImageBody>> {
        self.0.answer_directly(request, sender, prepared, head)
    }
}

/// The headers that every answer with a file's bytes has, and for what they are right.
#[derive(Debug)]
pub struct Prepared {
    etag: ETag,
    last_modified: SystemTime,
    media_type: &'static str,
    /// `Last-Modified` is only sent when it is not in the future.
    has_date: bool,
    headers: Vec<u8>,
}

impl Plane {
    /// Answers a request for a file that is there, and for at most one range of it.
    fn answer_directly(
        &self,
        request: &DirectRequest<'_>,
        sender: Sender<'_>,
        prepared: &mut Option<Prepared>,
        head: &mut Vec<u8>,
    ) -> Option<DirectAnswer<ImageBody>> {
        let shown = Shown::direct(request, sender.peer);
        let target = Target::parse(request.path, self.published.urls());
        // The probe's answers say more about the connection than direct ones can.
        if target.is_some_and(Target::is_probe) {
            return None;
        }
        let Lookup::Found(file) = self.find(target) else { return None };
        if file.access.as_ref().is_some_and(|access| access.admit(shown.address()).is_err()) {
            return None;
        }
        let now = Moment::now();
        let checked = bases_checked_now(Lookup::Found(file), shown.method, now.steady);
        let Ok(Lookup::Found(mut file)) = checked else { return None };
        let size = file.overlay.size();
        let asked = request.range.filter(|_| !request.is_head).map_or(Requested::Whole, |range| requested(range, size));
        let (status, range) = match asked {
            Requested::Whole => (StatusCode::OK, 0..size),
            Requested::One(range) => (StatusCode::PARTIAL_CONTENT, range),
            Requested::Several(_) | Requested::Unsatisfiable => return None,
        };
        Prepared::of(&file, now.wall, prepared)?.write(head, status, &range, size, now.wall);
        let (host, length) = (file.host.take(), if request.is_head { 0 } else { range.end - range.start });
        // Nothing is recorded before it is certain that this is the answer.
        let body = if request.is_head {
            drop(self.recorder(file.reading.as_ref(), shown, now));
            None
        } else {
            Some(self.body(file, range, sender, shown, now)?)
        };
        self.metrics.request(status);
        let outcome = Outcome { status, length, known: true, host: host.as_deref() };
        self.log.write(shown, target, &outcome, now.steady);
        Some(DirectAnswer { status, body })
    }

    /// `None` if the first bytes cannot be read.
    fn body(
        &self,
        file: ServedFile,
        range: Range<u64>,
        sender: Sender<'_>,
        shown: Shown<'_>,
        now: Moment,
    ) -> Option<ImageBody> {
        let ServedFile { overlay, base, reading, access, keeps, .. } = file;
        let parts = [Part::Image(range)].into();
        let body = ImageBody::new(overlay, base, parts, Arc::clone(&self.pool), self.metrics.transfer(), None);
        let mut body = body.with_files(sender.files.cloned()).that_keeps(keeps);
        body.read_first().ok()?;
        let body = body.recorded_by(self.recorder(reading.as_ref(), shown, now));
        Some(body.with_reads(access.and_then(|access| access.into_reads())))
    }
}

impl Prepared {
    /// The headers for a file: those of the last request on the connection, if they are still right.
    fn of<'a>(file: &ServedFile, now: SystemTime, last: &'a mut Option<Self>) -> Option<&'a Self> {
        let last_modified = whole_seconds(file.last_modified);
        let has_date = last_modified <= now;
        let is_right = |known: &Self| {
            (known.etag, known.last_modified, known.has_date) == (file.etag, last_modified, has_date)
                && known.media_type == file.media_type
        };
        if !last.as_ref().is_some_and(is_right) {
            let date = has_date.then(|| format!("Last-Modified: {}\r\n", httpdate::fmt_http_date(last_modified)));
            let headers = format!(
                "Etag: {}\r\n{}Cache-Control: {CACHING}\r\nAccept-Ranges: bytes\r\nContent-Type: {}\r\n",
                file.etag,
                date.unwrap_or_default(),
                file.media_type
            );
            let (etag, media_type) = (file.etag, file.media_type);
            *last = Some(Self { etag, last_modified, media_type, has_date, headers: headers.into_bytes() });
        }
        last.as_ref()
    }

    /// Writes the head of an answer, with the names and the order that hyper would give its headers.
    fn write(&self, head: &mut Vec<u8>, status: StatusCode, range: &Range<u64>, size: u64, now: SystemTime) {
        head.extend_from_slice(b"HTTP/1.1 ");
        head.extend_from_slice(status.as_str().as_bytes());
        head.push(b' ');
        head.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
        head.extend_from_slice(b"\r\n");
        head.extend_from_slice(&self.headers);
        if status == StatusCode::PARTIAL_CONTENT {
            head.extend_from_slice(b"Content-Range: bytes ");
            append_number(head, range.start);
            head.push(b'-');
            append_number(head, range.end.saturating_sub(1));
            head.push(b'/');
            append_number(head, size);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"Content-Length: ");
        append_number(head, range.end.saturating_sub(range.start));
        head.extend_from_slice(b"\r\nDate: ");
        append_date(head, now);
        head.extend_from_slice(b"\r\n\r\n");
    }
}

/// Appends decimal digits. `write!` would return an error that cannot happen.
fn append_number(head: &mut Vec<u8>, number: u64) {
    let begin = head.len();
    let mut rest = number;
    loop {
        head.push(b'0' + u8::try_from(rest % 10).unwrap_or_default());
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if let Some(digits) = head.get_mut(begin..) {
        digits.reverse();
    }
}

/// Appends the date, which is formatted once a second.
fn append_date(head: &mut Vec<u8>, now: SystemTime) {
    thread_local!(static LAST: RefCell<(u64, String)> = const { RefCell::new((u64::MAX, String::new())) });
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    LAST.with_borrow_mut(|(formatted, text)| {
        if *formatted != seconds {
            *text = httpdate::fmt_http_date(whole_seconds(now));
            *formatted = seconds;
        }
        head.extend_from_slice(text.as_bytes());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_all_their_digits() {
        for number in [0, 9, 10, 1023, 65_536, u64::MAX] {
            let mut text = b"x".to_vec();
            append_number(&mut text, number);
            assert_eq!(text, format!("x{number}").into_bytes());
        }
    }
}
