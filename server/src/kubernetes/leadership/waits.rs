//! How long a replica waits between two requests for the Lease.

use std::time::Duration;

pub(super) const RETRY: Duration = Duration::from_secs(2);
/// The longest wait between two requests to an API server that does not answer.
const UNREACHABLE: Duration = Duration::from_secs(10);

/// The wait doubles with each request without an answer. It is short at first, because most outages are short.
pub(super) fn backoff(unanswered: u32) -> Duration {
    RETRY.saturating_mul(2_u32.saturating_pow(unanswered)).min(UNREACHABLE)
}
