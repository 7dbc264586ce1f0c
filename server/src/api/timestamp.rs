//! Times as the API writes them.

use std::time::{SystemTime, UNIX_EPOCH};

use k8s_openapi::jiff;

use crate::boots::Timestamp;

/// RFC 3339 §5.6, UTC, whole seconds: `2026-02-28T23:59:59Z`. Times before 1970 become its beginning.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let time = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.unwrap_or(jiff::Timestamp::MAX).to_string()
}

/// RFC 3339 §5.6, UTC, with milliseconds: `2026-02-28T23:59:59.123Z`.
pub(super) fn rfc3339_millis(time: Timestamp) -> String {
    let time = i64::try_from(time.millis()).ok().and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
    format!("{:.3}", time.unwrap_or(jiff::Timestamp::MAX))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_772_323_199, "2026-02-28T23:59:59Z"),
            (1_772_323_200, "2026-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_207_200, "9999-12-30T22:00:00Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
    }
}
