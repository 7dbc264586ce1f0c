//! Times as the API writes them.

use std::time::SystemTime;

use k8s_openapi::jiff;

use crate::boots::Timestamp;

/// RFC 3339 §5.6, UTC, with milliseconds: `2026-02-28T23:59:59.123Z`.
pub(crate) fn rfc3339_millis(time: Timestamp) -> String {
    let time = i64::try_from(time.millis()).ok().and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
    format!("{:.3}", time.unwrap_or(jiff::Timestamp::MAX))
}

/// The day of a time, in UTC: `2026-02-28`.
pub(crate) fn date(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::MAX).to_string();
    time.chars().take_while(|c| *c != 'T').collect()
}
