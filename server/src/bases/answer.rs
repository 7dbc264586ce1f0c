//! What the headers of an answer say about the bytes that follow (RFC 9110).

use reqwest::header::{CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, LAST_MODIFIED};

/// The longest name of an encoding or of a media type that dayone shows.
const MAX_NAME: usize = 40;

/// Which bytes of a file an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// The offset behind its last byte, if known.
    pub(super) end: Option<u64>,
    /// The length of the whole file, if known.
    pub(super) total: Option<u64>,
}

impl Part {
    /// The whole file.
    pub(super) fn whole(length: Option<u64>) -> Self {
        Self { end: length, total: length }
    }

    /// The bytes from `offset` on: all others of the file, or fewer, as a server may answer (§15.3.7). `None` if they are other bytes, or
    /// those of a file with another length than `total`.
    pub(super) fn continuing(headers: &HeaderMap, offset: u64, total: Option<u64>) -> Option<Self> {
        let range = headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
        let (range, length) = range.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        let length = if length == "*" { None } else { Some(length.parse::<u64>().ok()?) };
        let (end, whole) = (last.checked_add(1)?, length.or(total));
        let is_same = length.is_none() || total.is_none() || length == total;
        let is_within = first <= last && whole.is_none_or(|whole| end <= whole);
        (first == offset && is_same && is_within).then_some(Self { end: Some(end), total: whole })
    }

    /// Whether the file ends where these bytes end, as far as known.
    pub(super) fn is_last(&self) -> bool {
        self.total.is_none() || self.end == self.total
    }
}

/// What identifies the representation in a later request for the rest: a strong entity tag, or the date.
pub(super) fn validator(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    text(ETAG).filter(|tag| tag.starts_with('"')).or_else(|| text(LAST_MODIFIED))
}

/// The encoding that the server names. It does not tell whether the server has compressed the file: some name one because the name of the
/// file ends with `.gz`, and send the file as it is.
pub(super) fn encoding(headers: &HeaderMap) -> Option<String> {
    let encoding = headers.get(CONTENT_ENCODING)?.to_str().unwrap_or("an unknown encoding").trim();
    (!encoding.is_empty() && encoding != "identity").then(|| encoding.chars().take(MAX_NAME).collect())
}

/// The media type that the server names, without parameters.
pub(super) fn media_type(headers: &HeaderMap) -> Option<String> {
    let name = headers.get(CONTENT_TYPE)?.to_str().ok()?.split(';').next()?.trim().to_ascii_lowercase();
    (!name.is_empty()).then(|| name.chars().take(MAX_NAME).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_of_the_same_file_from_there_on_continue() {
        let part = |range: &str, offset, total| {
            Part::continuing(&HeaderMap::from_iter([(CONTENT_RANGE, range.parse().unwrap())]), offset, total)
        };
        let rest = Part { end: Some(10), total: Some(10) };
        for (range, total) in [("bytes 3-9/10", Some(10)), ("bytes 3-9/10", None), ("bytes 3-9/*", Some(10))] {
            assert_eq!(part(range, 3, total), Some(rest), "{range}");
        }
        assert!(rest.is_last() && part("bytes 3-9/*", 3, None).unwrap().is_last());
        // Fewer bytes than all others.
        for (range, total) in [("bytes 3-8/10", Some(10)), ("bytes 3-8/10", None), ("bytes 3-8/*", Some(10))] {
            let fewer = part(range, 3, total).unwrap();
            assert_eq!(fewer, Part { end: Some(9), total: Some(10) }, "{range}");
            assert!(!fewer.is_last(), "{range}");
        }
        for (range, offset, total) in [
            ("bytes 3-9/10", 4, Some(10)),
            ("bytes 3-9/10", 2, Some(10)),
            ("bytes 3-2/10", 3, Some(10)),
            ("bytes 3-10/10", 3, Some(10)),
            ("bytes 3-9/10", 3, Some(11)),
            ("bytes 3-11/*", 3, Some(11)),
            ("bytes */10", 3, Some(10)),
            ("items 3-9/10", 3, Some(10)),
            ("bytes 3-18446744073709551615/10", 3, Some(10)),
        ] {
            assert_eq!(part(range, offset, total), None, "{range}");
        }
        assert_eq!(Part::continuing(&HeaderMap::new(), 0, None), None);
    }

    fn headers(pairs: &[(reqwest::header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_weak_tag_does_not_identify_bytes() {
        let date = "Tue, 24 Nov 2026 18:00:00 GMT";
        let both = |tag| headers(&[(ETAG, tag), (LAST_MODIFIED, date)]);
        assert_eq!(validator(&both("\"a\"")).as_deref(), Some("\"a\""));
        assert_eq!(validator(&both("W/\"a\"")).as_deref(), Some(date));
        assert_eq!(validator(&headers(&[(ETAG, "W/\"a\"")])), None);
    }

    #[test]
    fn an_encoding_is_told_unless_it_is_none() {
        for (value, expected) in [("x-gzip", Some("x-gzip")), ("identity", None), ("", None), (" br ", Some("br"))] {
            assert_eq!(encoding(&headers(&[(CONTENT_ENCODING, value)])).as_deref(), expected, "{value}");
        }
        assert_eq!(encoding(&HeaderMap::new()), None);
    }

    #[test]
    fn a_media_type_is_told_without_its_parameters() {
        for (value, expected) in [("Text/HTML; charset=utf-8", Some("text/html")), (" ", None), (";a=b", None)] {
            assert_eq!(media_type(&headers(&[(CONTENT_TYPE, value)])).as_deref(), expected, "{value}");
        }
        assert_eq!(media_type(&HeaderMap::new()), None);
    }
}
