//! Preconditions (RFC 9110 §13), in the order of §13.2.2.

use std::time::SystemTime;

use http::HeaderMap;
use http::header::{HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE};

/// The values to compare with a request's conditions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Validators<'a> {
    /// The strong entity tag, quoted.
    pub(super) etag: &'a str,
    /// The time of `Last-Modified`, in whole seconds.
    pub(super) last_modified: SystemTime,
    /// Whether the URL may get other bytes later. If not, the date is a strong validator (§8.8.2.2). If so, the date
    /// cannot be trusted to join ranges, because the clock may have been set back.
    pub(super) changes: bool,
}

/// How to continue with a GET or HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Proceed,
    /// 304
    NotModified,
    /// 412
    Failed,
}

impl Validators<'_> {
    pub(super) fn judge(self, headers: &HeaderMap) -> Verdict {
        if headers.contains_key(IF_MATCH) {
            if !any_tag(headers, &IF_MATCH, |weak, tag| !weak && tag == self.etag) {
                return Verdict::Failed;
            }
        } else if date(headers, &IF_UNMODIFIED_SINCE).is_some_and(|since| self.last_modified > since) {
            return Verdict::Failed;
        }
        if headers.contains_key(IF_NONE_MATCH) {
            if client_has(headers, self.etag) {
                return Verdict::NotModified;
            }
        } else if date(headers, &IF_MODIFIED_SINCE).is_some_and(|since| self.is_unmodified_since(since)) {
            return Verdict::NotModified;
        }
        Verdict::Proceed
    }

    /// For bytes that may change, only the exact date from an earlier answer counts. A date that the client made up
    /// does not show which bytes it has.
    fn is_unmodified_since(self, since: SystemTime) -> bool {
        if self.changes {
            self.last_modified == since && since <= SystemTime::now()
        } else {
            self.last_modified <= since
        }
    }

    /// Whether the `Range` applies (§13.1.5): there is no `If-Range`, or it names exactly these bytes.
    pub(super) fn range_holds(self, headers: &HeaderMap) -> bool {
        let Some(condition) = headers.get(IF_RANGE) else { return true };
        condition == self.etag || (!self.changes && date(headers, &IF_RANGE) == Some(self.last_modified))
    }
}

/// Whether the client has the content with this entity tag already: `If-None-Match` is `*` or has the tag, by the weak comparison
/// (RFC 9110 §13.1.2). The tag is quoted.
pub fn client_has(headers: &HeaderMap, etag: &str) -> bool {
    any_tag(headers, &IF_NONE_MATCH, |_, tag| tag == etag)
}

/// Whether the header is `*` or one of its tags passes `matches(weak, quoted tag)`.
fn any_tag(headers: &HeaderMap, name: &HeaderName, matches: impl Fn(bool, &str) -> bool) -> bool {
    let mut lists = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lists.any(|list| list.trim() == "*" || tags(list).any(|(weak, tag)| matches(weak, tag)))
}

/// The entity tags of a list, up to the first that is malformed. A comma may be part of a tag.
fn tags(list: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut rest = list;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (weak, opaque) = rest.strip_prefix("W/").map_or((false, rest), |opaque| (true, opaque));
        let length = opaque.strip_prefix('"')?.find('"')? + 2;
        let (tag, behind) = opaque.split_at_checked(length)?;
        rest = behind;
        Some((weak, tag))
    })
}

/// The date in a header. Malformed dates must be ignored.
fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderValue;

    use super::*;

    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const EXACT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn validators() -> Validators<'static> {
        let last_modified = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        Validators { etag: "\"a,b\"", last_modified, changes: false }
    }

    fn headers(lines: &[(HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn conditions_are_evaluated_in_the_order_of_the_rfc() {
        use Verdict::{Failed, NotModified, Proceed};
        let cases: &[(&[(HeaderName, &str)], Verdict)] = &[
            (&[], Proceed),
            (&[(IF_MATCH, "*")], Proceed),
            (&[(IF_MATCH, "\"x\", \"a,b\"")], Proceed),
            (&[(IF_MATCH, "\"x\""), (IF_MATCH, "\"a,b\"")], Proceed),
            (&[(IF_MATCH, "\"x\"")], Failed),
            (&[(IF_MATCH, "W/\"a,b\"")], Failed),
            (&[(IF_MATCH, "a,b")], Failed),
            (&[(IF_MATCH, "\"a,b\""), (IF_UNMODIFIED_SINCE, BEFORE)], Proceed),
            (&[(IF_UNMODIFIED_SINCE, BEFORE)], Failed),
            (&[(IF_UNMODIFIED_SINCE, EXACT)], Proceed),
            (&[(IF_UNMODIFIED_SINCE, "yesterday")], Proceed),
            (&[(IF_NONE_MATCH, "*")], NotModified),
            (&[(IF_NONE_MATCH, "\"x\",W/\"a,b\"")], NotModified),
            (&[(IF_NONE_MATCH, "\"x\"")], Proceed),
            (&[(IF_NONE_MATCH, "\"a")], Proceed),
            (&[(IF_NONE_MATCH, "\"x\""), (IF_MODIFIED_SINCE, AFTER)], Proceed),
            (&[(IF_MODIFIED_SINCE, BEFORE)], Proceed),
            (&[(IF_MODIFIED_SINCE, EXACT)], NotModified),
            (&[(IF_MODIFIED_SINCE, AFTER)], NotModified),
            (&[(IF_MATCH, "\"x\""), (IF_NONE_MATCH, "\"a,b\"")], Failed),
            (&[(IF_MATCH, "\"a,b\""), (IF_NONE_MATCH, "\"a,b\"")], NotModified),
        ];
        for (lines, verdict) in cases {
            assert_eq!(validators().judge(&headers(lines)), *verdict, "{lines:?}");
        }
    }

    #[test]
    fn a_range_holds_only_for_exactly_these_bytes() {
        for (condition, holds) in [
            ("\"a,b\"", true),
            ("W/\"a,b\"", false),
            ("\"x\"", false),
            ("*", false),
            (EXACT, true),
            (BEFORE, false),
            (AFTER, false),
            ("Sunday, 06-Nov-94 08:49:37 GMT", true),
            ("nonsense", false),
        ] {
            assert_eq!(validators().range_holds(&headers(&[(IF_RANGE, condition)])), holds, "{condition}");
        }
        assert!(validators().range_holds(&HeaderMap::new()));
    }

    #[test]
    fn a_date_is_not_a_strong_validator_if_bytes_change() {
        let changing = Validators { changes: true, ..validators() };
        for (condition, holds) in [("\"a,b\"", true), (EXACT, false), (BEFORE, false), (AFTER, false)] {
            assert_eq!(changing.range_holds(&headers(&[(IF_RANGE, condition)])), holds, "{condition}");
        }
        for (since, verdict) in [(BEFORE, Verdict::Proceed), (EXACT, Verdict::NotModified), (AFTER, Verdict::Proceed)] {
            assert_eq!(changing.judge(&headers(&[(IF_MODIFIED_SINCE, since)])), verdict, "{since}");
        }
        let future = SystemTime::now() + Duration::from_secs(2);
        let date = httpdate::fmt_http_date(future);
        let soon = Validators { last_modified: httpdate::parse_http_date(&date).unwrap(), ..changing };
        let mut asked = HeaderMap::new();
        asked.insert(IF_MODIFIED_SINCE, date.parse().unwrap());
        assert_eq!(soon.judge(&asked), Verdict::Proceed, "no answer had this date yet");
    }
}
