//! The Secret with the installation key: its content, and which keys are valid when.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use media::access::Moment;

use crate::store::{InstallationKey, Keys, OtherKey, Until};

const KEY: &str = "key";
const PREVIOUS: &str = "previous-key";
const ROTATED: &str = "rotated-at";
const GRACE: &str = "grace-seconds";
pub(super) const LENGTH: usize = 32;

/// For this time after a rotation, replicas serve URLs of the new key and give out those of the previous one. Then every replica
/// knows the new key before a client asks it for a URL of that key. Replicas look at the Secret more often.
pub(super) const HANDOVER: Duration = Duration::from_secs(30);

/// The content of the Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySecret {
    key: InstallationKey,
    previous: Option<Previous>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Previous {
    key: InstallationKey,
    rotated: SystemTime,
    /// In seconds.
    grace: u64,
}

/// What of the Secret is not valid, and what is there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found} under {key:?}")]
pub(super) struct NotAKeySecret {
    key: &'static str,
    found: String,
}

/// How far a rotation is. It never goes back, whatever the clock does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// URLs of the new key are served, and not given out.
    Announced,
    /// URLs of the new key are given out, and those of the previous one are served.
    Grace,
    /// There is one key.
    Over,
}

impl KeySecret {
    /// One key.
    pub(super) fn new(key: InstallationKey) -> Self {
        Self { key, previous: None }
    }

    /// Reads the content.
    pub(super) fn parse(secret: &Secret) -> Result<Self, NotAKeySecret> {
        let data = |key: &str| secret.data.as_ref().and_then(|data| data.get(key)).map(|value| value.0.as_slice());
        let read = |key: &'static str| {
            let value = data(key);
            let bytes = value.and_then(|value| <[u8; LENGTH]>::try_from(value).ok());
            bytes.map(InstallationKey::from_bytes).ok_or_else(|| NotAKeySecret {
                key,
                found: value.map_or_else(|| "nothing".to_owned(), |value| format!("{} bytes", value.len())),
            })
        };
        let number = |key: &'static str| {
            let text = data(key).and_then(|value| std::str::from_utf8(value).ok());
            let number = text.and_then(|text| text.trim().parse::<u64>().ok());
            number.ok_or_else(|| NotAKeySecret { key, found: "no number".to_owned() })
        };
        let key = read(KEY)?;
        if data(PREVIOUS).is_none() {
            return Ok(Self::new(key));
        }
        let rotated = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(number(ROTATED)?));
        let rotated = rotated.ok_or_else(|| NotAKeySecret { key: ROTATED, found: "no time".to_owned() })?;
        Ok(Self { key, previous: Some(Previous { key: read(PREVIOUS)?, rotated, grace: number(GRACE)? }) })
    }

    /// The data of the Secret.
    pub(super) fn data(&self) -> std::collections::BTreeMap<String, ByteString> {
        let mut data = vec![(KEY, self.key.as_bytes().to_vec())];
        if let Some(previous) = &self.previous {
            let rotated = previous.rotated.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
            data.push((PREVIOUS, previous.key.as_bytes().to_vec()));
            data.push((ROTATED, rotated.to_string().into_bytes()));
            data.push((GRACE, previous.grace.to_string().into_bytes()));
        }
        data.into_iter().map(|(key, value)| (key.to_owned(), ByteString(value))).collect()
    }

    /// The key of the newest URLs.
    pub fn key(&self) -> &InstallationKey {
        &self.key
    }

    /// Both keys.
    fn keys(&self) -> (&InstallationKey, Option<&InstallationKey>) {
        (&self.key, self.previous.as_ref().map(|previous| &previous.key))
    }

    /// The content after a rotation at `now`.
    pub(super) fn rotated(self, key: InstallationKey, now: SystemTime, grace: u64) -> Self {
        Self { key, previous: Some(Previous { key: self.key, rotated: now, grace }) }
    }

    /// The content without a grace period.
    pub(super) fn without_grace(self) -> Self {
        Self { previous: self.previous.map(|previous| Previous { grace: 0, ..previous }), ..self }
    }

    /// When URLs of the previous key end, if they have not ended at `now`.
    pub fn previous_until(&self, now: SystemTime) -> Option<SystemTime> {
        let previous = self.previous.as_ref()?;
        let end = previous.handover()?.checked_add(Duration::from_secs(previous.grace))?;
        Some(end).filter(|end| *end > now)
    }
}

impl Previous {
    /// When replicas begin to give out URLs of the new key.
    fn handover(&self) -> Option<SystemTime> {
        self.rotated.checked_add(HANDOVER)
    }
}

/// Which keys of a Secret are valid when.
#[derive(Debug)]
pub struct KeySchedule {
    secret: KeySecret,
    phase: Phase,
    until: Until,
    /// When this replica begins to give out URLs of the new key at the latest, by the monotonic clock.
    latest: Instant,
}

impl KeySchedule {
    /// The schedule of a Secret, and the keys that are valid at `now`.
    pub fn new(secret: KeySecret, now: Moment) -> (Self, Keys) {
        Self::handed_over_by(now.steady + HANDOVER, secret, now)
    }

    fn handed_over_by(latest: Instant, secret: KeySecret, now: Moment) -> (Self, Keys) {
        let phase = if secret.previous.is_some() { Phase::Announced } else { Phase::Over };
        let mut schedule = Self { secret, phase, until: Until::Ended, latest };
        let keys = schedule.advance(now).unwrap_or_else(|| schedule.keys());
        (schedule, keys)
    }

    /// Takes over what the Secret says now. Returns the keys that are valid from now on, if these are others.
    pub(super) fn update(&mut self, secret: KeySecret, now: Moment) -> Option<Keys> {
        if secret == self.secret {
            return self.advance(now);
        }
        // The end of a grace period is no rotation: the handover does not begin again, even if the clock was set back since.
        let latest = match self.phase {
            _ if secret.keys() != self.secret.keys() => now.steady + HANDOVER,
            Phase::Announced => self.latest,
            Phase::Grace | Phase::Over => now.steady,
        };
        let (schedule, keys) = Self::handed_over_by(latest, secret, now);
        *self = schedule;
        Some(keys)
    }

    /// Lets time pass without a look at the Secret.
    pub(super) fn pass(&mut self, now: Moment) -> Option<Keys> {
        self.advance(now)
    }

    fn advance(&mut self, now: Moment) -> Option<Keys> {
        let before = self.phase;
        if let Some(previous) = &self.secret.previous
            && self.phase == Phase::Announced
            && let Some(handover) = previous.handover()
            // The clock that gave the time of the rotation may be ahead of this one. All replicas have seen the new key by then, because
            // they look at the Secret more often.
            && (now.wall >= handover || now.steady >= self.latest)
        {
            self.phase = Phase::Grace;
            self.until = Until::after(handover, previous.grace, now);
        }
        if self.phase == Phase::Grace && !self.until.is_valid(now) {
            self.phase = Phase::Over;
        }
        (self.phase != before).then(|| self.keys())
    }

    fn keys(&self) -> Keys {
        let other = |key: &InstallationKey, until| Some(OtherKey { key: key.clone(), until, images_until: None });
        let key = self.secret.key.clone();
        match (&self.secret.previous, self.phase) {
            (Some(previous), Phase::Announced) => {
                Keys { current: previous.key.clone(), other: other(&key, Until::Open) }
            }
            (Some(previous), Phase::Grace) => Keys { current: key, other: other(&previous.key, self.until) },
            (Some(_), Phase::Over) | (None, _) => Keys::only(key),
        }
    }
}

impl fmt::Display for KeySchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.phase {
            Phase::Announced => "URLs of the new key are served, and are given out in a moment",
            Phase::Grace => "URLs of the new key are given out, and those of the previous key are still served",
            Phase::Over => "only URLs of the present key are served",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> InstallationKey {
        InstallationKey::from_bytes([byte; LENGTH])
    }

    fn secret(content: &KeySecret) -> Secret {
        Secret { data: Some(content.data()), ..Secret::default() }
    }

    /// The moment so many seconds after another one.
    fn at(wall: SystemTime, steady: Instant, seconds: u64) -> Moment {
        let passed = Duration::from_secs(seconds);
        Moment { wall: wall + passed, steady: steady + passed }
    }

    /// What a replica gives out, and what else it serves.
    fn shown(keys: &Keys) -> (u8, Option<u8>) {
        (keys.current.as_bytes()[0], keys.other.as_ref().map(|other| other.key.as_bytes()[0]))
    }

    #[test]
    fn the_content_is_read_as_it_is_written() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let one = KeySecret::new(key(1));
        assert_eq!(KeySecret::parse(&secret(&one)), Ok(one.clone()));
        let two = one.rotated(key(2), now, 3600);
        assert_eq!(KeySecret::parse(&secret(&two)), Ok(two.clone()));
        assert_eq!(two.previous_until(now), Some(now + HANDOVER + Duration::from_hours(1)));
        let mut damaged = secret(&two);
        damaged.data.as_mut().unwrap().insert(GRACE.to_owned(), ByteString(b"soon".to_vec()));
        assert_eq!(KeySecret::parse(&damaged).unwrap_err().to_string(), "no number under \"grace-seconds\"");
    }

    #[test]
    fn every_replica_serves_the_new_urls_before_one_gives_them_out() {
        let (wall, steady) = (SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000), Instant::now());
        let after = |seconds| at(wall, steady, seconds);
        let (mut schedule, keys) = KeySchedule::new(KeySecret::new(key(1)), after(0));
        assert_eq!(shown(&keys), (1, None));
        let rotated = KeySecret::new(key(1)).rotated(key(2), wall, 60);
        let mut update = |seconds| schedule.update(rotated.clone(), after(seconds)).as_ref().map(shown);
        assert_eq!(update(1), Some((1, Some(2))));
        assert_eq!(update(29), None);
        assert_eq!(update(30), Some((2, Some(1))));
        assert_eq!(update(1), None, "a clock that was set back takes nothing back");
        assert_eq!(update(89), None);
        assert_eq!(update(90), Some((2, None)));
        assert_eq!(update(500), None);
        // A replica that starts later.
        assert_eq!(shown(&KeySchedule::new(rotated.clone(), after(40)).1), (2, Some(1)));
        assert_eq!(shown(&KeySchedule::new(rotated.clone(), after(400)).1), (2, None));
        // The operator ends the grace period.
        let (mut schedule, _) = KeySchedule::new(rotated.clone(), after(40));
        assert_eq!(schedule.update(rotated.without_grace(), after(41)).as_ref().map(shown), Some((2, None)));
    }

    #[test]
    fn a_clock_that_is_ahead_delays_neither_the_new_urls_nor_the_end_of_the_previous_ones() {
        let (wall, steady) = (SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000), Instant::now());
        let after = |seconds| at(wall, steady, seconds);
        let rotated = KeySecret::new(key(1)).rotated(key(2), wall + Duration::from_hours(24), 60);
        let begin = || KeySchedule::new(KeySecret::new(key(1)), after(0)).0;
        let mut schedule = begin();
        let mut update = |seconds| schedule.update(rotated.clone(), after(seconds)).as_ref().map(shown);
        assert_eq!(update(1), Some((1, Some(2))));
        assert_eq!(update(30), None);
        assert_eq!(update(31), Some((2, Some(1))));
        assert_eq!(update(90), None);
        assert_eq!(update(91), Some((2, None)));
        let mut schedule = begin();
        schedule.update(rotated.clone(), after(1));
        schedule.update(rotated.clone(), after(31));
        let ended = schedule.update(rotated.without_grace(), after(32));
        assert_eq!(ended.as_ref().map(shown), Some((2, None)), "the previous key is not given out again");
        // Nor by a replica that has started late, and whose clock is set back then.
        let rotated = KeySecret::new(key(1)).rotated(key(2), wall, 60);
        let (mut schedule, _) = KeySchedule::new(rotated.clone(), after(40));
        let set_back = Moment { wall: wall - Duration::from_hours(1), ..after(45) };
        let ended = schedule.update(rotated.without_grace(), set_back);
        assert_eq!(ended.as_ref().map(shown), Some((2, None)));
    }
}
