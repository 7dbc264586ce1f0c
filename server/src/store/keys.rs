//! The keys that are valid at the moment.

use std::time::SystemTime;

use imagelib::recipe::RecipeId;
use media::MediaToken;
use media::access::{Clock, Deadline, Moment, Ttl};

use super::key::InstallationKey;
use super::key_file::{KeyFile, PreviousKey};

/// What has happened to the installation key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyChange {
    /// The key was replaced. URLs of the previous key are valid until then; `None`: they are not valid any more.
    Rotated {
        /// The end of the grace period.
        until: Option<SystemTime>,
    },
    /// dayone has removed the previous key.
    PreviousRemoved,
}

/// The keys that are valid at the moment.
#[derive(Debug, Clone)]
pub struct Keys {
    /// The key of the URLs that dayone gives out.
    pub current: InstallationKey,
    /// Another key whose URLs dayone serves, too.
    pub other: Option<OtherKey>,
}

/// A key whose URLs dayone serves and does not give out: the previous one, or the next one.
#[derive(Debug, Clone)]
pub struct OtherKey {
    /// The key.
    pub key: InstallationKey,
    /// Until when its URLs are valid.
    pub until: Until,
    /// The last time of publication of images that have a URL of this key. `None`: all images have one.
    pub images_until: Option<SystemTime>,
}

/// Until when the URLs of a key are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Not any more. dayone needs the key for what it has encrypted with it.
    Ended,
    /// Until then.
    At(Deadline),
    /// Without an end, as far as dayone knows.
    Open,
}

impl Until {
    /// For this many seconds after `since`, as seen from `now`.
    pub fn after(since: SystemTime, seconds: u64, now: Moment) -> Self {
        Ttl::try_from(seconds).map_or(Self::Ended, |ttl| Self::At(Deadline::new(ttl, since, now)))
    }

    /// The end by the time of day.
    pub(super) fn wall(self) -> Option<SystemTime> {
        match self {
            Self::At(deadline) => Some(deadline.wall()),
            Self::Ended | Self::Open => None,
        }
    }

    /// Whether the URLs are valid at `now`.
    pub fn is_valid(self, now: Moment) -> bool {
        match self {
            Self::Ended => false,
            Self::At(deadline) => !deadline.is_over(now),
            Self::Open => true,
        }
    }
}

impl Keys {
    /// One key.
    pub fn only(current: InstallationKey) -> Self {
        Self { current, other: None }
    }

    /// The keys of a file whose present key this server has taken over.
    pub(super) fn of(file: &KeyFile, now: Moment) -> Self {
        let other = |previous: &PreviousKey| {
            let taken = previous.taken_over;
            OtherKey {
                key: previous.key.clone(),
                until: taken.map_or(Until::Ended, |taken| Until::after(taken.at, previous.grace, now)),
                images_until: taken.map(|taken| taken.images_until),
            }
        };
        Self { current: file.current.clone(), other: file.previous.as_ref().map(other) }
    }

    /// What has happened if these keys were just taken over.
    pub(super) fn rotated(&self) -> KeyChange {
        KeyChange::Rotated { until: self.other.as_ref().and_then(|other| other.until.wall()) }
    }

    /// The token in the URLs of an image under the other key, whether these are valid or not.
    pub(super) fn other_token(&self, id: &RecipeId) -> Option<MediaToken> {
        self.other.as_ref().map(|other| other.key.token(id))
    }

    /// The other key, if an image that was published at this time has a valid URL of it.
    pub(super) fn other_for(&self, created: SystemTime, clock: &Clock) -> Option<&OtherKey> {
        let published = |other: &&OtherKey| other.images_until.is_none_or(|until| created <= until);
        self.other.as_ref().filter(|other| other.until.is_valid(clock.now())).filter(published)
    }
}
