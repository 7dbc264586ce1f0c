//! How long an image is served.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::Moment;

/// The longest time to live, in seconds: ten years.
const MAX_SECONDS: u64 = 10 * 365 * 24 * 60 * 60;

/// The number is not a time to live.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotATtl {
    /// The text is not a whole number.
    #[error("write the time to live in whole seconds, 1 to {MAX_SECONDS} (ten years)")]
    Syntax(#[from] ParseIntError),
    /// The number is too small or too large.
    #[error("{0} seconds is not a time to live: use 1 to {MAX_SECONDS} seconds (ten years)")]
    Range(u64),
}

/// How long an image is served after it was published, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "u64")]
pub struct Ttl(u64);

impl Ttl {
    /// The time as a duration.
    pub fn duration(self) -> Duration {
        Duration::from_secs(self.0)
    }
}

impl TryFrom<u64> for Ttl {
    type Error = NotATtl;

    fn try_from(seconds: u64) -> Result<Self, NotATtl> {
        if (1..=MAX_SECONDS).contains(&seconds) { Ok(Self(seconds)) } else { Err(NotATtl::Range(seconds)) }
    }
}

impl From<Ttl> for u64 {
    fn from(ttl: Ttl) -> Self {
        ttl.0
    }
}

// Not derived, so that errors about numbers below 0 and about other types tell the range, too.
impl<'de> Deserialize<'de> for Ttl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Seconds;

        impl Visitor<'_> for Seconds {
            type Value = Ttl;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number of seconds from 1 to {MAX_SECONDS} (ten years)")
            }

            fn visit_u64<E: Error>(self, seconds: u64) -> Result<Ttl, E> {
                Ttl::try_from(seconds).map_err(E::custom)
            }
        }

        deserializer.deserialize_u64(Seconds)
    }
}

impl FromStr for Ttl {
    type Err = NotATtl;

    fn from_str(text: &str) -> Result<Self, NotATtl> {
        text.parse::<u64>()?.try_into()
    }
}

/// When an image ends: as soon as one of the two clocks has reached its end.
///
/// The clock that cannot step bounds the time if the time of day is set back. The time of day bounds it across restarts, and
/// while the system is suspended. If the time of day is set forward, the image ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    wall: SystemTime,
    steady: Option<Instant>,
}

impl Deadline {
    /// The deadline of an image that was published at `since`, as seen from `now`. If the time of day was set back before
    /// `since`, the whole time to live begins now: never more.
    pub fn new(ttl: Ttl, since: SystemTime, now: Moment) -> Self {
        let wall = since.checked_add(ttl.duration()).unwrap_or(since);
        let rest = wall.duration_since(now.wall).unwrap_or_default().min(ttl.duration());
        Self { wall, steady: now.steady.checked_add(rest) }
    }

    /// When it ends by the time of day.
    pub fn wall(self) -> SystemTime {
        self.wall
    }

    /// Whether the image has ended.
    pub fn is_over(self, now: Moment) -> bool {
        now.wall >= self.wall || self.steady.is_some_and(|end| now.steady >= end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_ttl_is_a_positive_number_of_seconds() {
        assert_eq!("1".parse::<Ttl>().unwrap().duration(), Duration::from_secs(1));
        assert_eq!(u64::from(MAX_SECONDS.to_string().parse::<Ttl>().unwrap()), MAX_SECONDS);
        for bad in ["0", "-1", "1.5", "1h", "", "315360001", "99999999999999999999"] {
            assert!(bad.parse::<Ttl>().is_err(), "{bad}");
        }
        for bad in ["0", "-1", "315360001", "\"1h\"", "1.5"] {
            let error = serde_json::from_str::<Ttl>(bad).unwrap_err().to_string();
            assert!(error.contains("1 to 315360000"), "{bad}: {error}");
        }
        assert_eq!(serde_json::to_string(&serde_json::from_str::<Ttl>("60").unwrap()).unwrap(), "60");
    }

    const START: u64 = 1_700_000_000;

    proptest! {
        /// Whatever the time of day does, an image is never served longer than its time to live, and it is served that long
        /// if the time of day does not step forward.
        #[test]
        fn steps_of_the_clock_never_lengthen_access(
            ttl in 1_u64..1000,
            steps in prop::collection::vec((0_u64..200, -5000_i64..500), 1..20),
        ) {
            let steady = Instant::now();
            let moment = |elapsed: u64, offset: i64| Moment {
                wall: SystemTime::UNIX_EPOCH + Duration::from_secs((START + elapsed).saturating_add_signed(offset)),
                steady: steady + Duration::from_secs(elapsed),
            };
            let deadline = Deadline::new(Ttl::try_from(ttl).unwrap(), moment(0, 0).wall, moment(0, 0));
            let (mut elapsed, mut offset, mut furthest) = (0, 0, 0);
            for (passes, step) in steps {
                elapsed += passes;
                offset += step;
                furthest = furthest.max(offset);
                let over = deadline.is_over(moment(elapsed, offset));
                prop_assert!(over || elapsed < ttl, "served for {elapsed} s of {ttl}");
                prop_assert!(!over || elapsed.saturating_add_signed(furthest.max(0)) >= ttl, "ended after {elapsed} s of {ttl}");
            }
        }

        /// A restart knows only the time of day.
        #[test]
        fn a_restart_after_the_clock_was_set_back_serves_at_most_the_whole_time_again(
            ttl in 1_u64..1000, offset in -5000_i64..5000, later in 0_u64..3000,
        ) {
            let steady = Instant::now();
            let since = SystemTime::UNIX_EPOCH + Duration::from_secs(START);
            let now = |elapsed: u64| Moment {
                wall: SystemTime::UNIX_EPOCH + Duration::from_secs(START.saturating_add_signed(offset) + elapsed),
                steady: steady + Duration::from_secs(elapsed),
            };
            let deadline = Deadline::new(Ttl::try_from(ttl).unwrap(), since, now(0));
            let rest = ttl.saturating_add_signed(-offset).min(ttl);
            prop_assert_eq!(deadline.is_over(now(later)), later >= rest);
        }
    }
}
