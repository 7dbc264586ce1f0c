//! The boots that the command knows, kept up to date by the server's events.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::commands::boots::bars::ReadFile;

/// A boot at a glance.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Watched {
    pub(super) id: String,
    pub(super) host: Option<String>,
    pub(super) bmc: String,
    pub(super) state: String,
    pub(super) counted_as: Option<Counted>,
    pub(super) steps: Vec<Mark>,
    pub(super) reason: String,
    pub(super) reading: Option<Reading>,
}

/// How a host counts, in the order of importance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Counted {
    Failed,
    Unknown,
    Running,
    Queued,
    Booted,
}

/// A step and its state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Mark {
    pub(super) step: String,
    pub(super) state: String,
}

/// What was read of a boot's image.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Reading {
    pub(super) rate: u64,
    pub(super) last_read: Option<String>,
    pub(super) stalled_seconds: Option<u64>,
    pub(super) seconds_left: Option<u64>,
    pub(super) files: Vec<ReadFile>,
}

/// How many hosts are in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) total: usize,
    pub(super) booted: usize,
    pub(super) failed: usize,
    pub(super) unknown: usize,
    running: usize,
    queued: usize,
}

/// All boots that the server has, by their ids.
#[derive(Debug, Default)]
pub(super) struct Board(BTreeMap<String, Watched>);

impl Watched {
    /// The host's name, or else the address of its BMC.
    pub(super) fn name(&self) -> &str {
        self.host.as_deref().unwrap_or(&self.bmc)
    }
}

impl Board {
    /// Takes over a boot that has changed.
    pub(super) fn update(&mut self, boot: Watched) {
        self.0.insert(boot.id.clone(), boot);
    }

    /// Forgets all boots but these.
    pub(super) fn keep(&mut self, ids: &[String]) {
        let ids: std::collections::BTreeSet<&str> = ids.iter().map(String::as_str).collect();
        self.0.retain(|id, _| ids.contains(id.as_str()));
    }

    /// The boots that count for their hosts.
    pub(super) fn counted(&self) -> impl Iterator<Item = (Counted, &Watched)> {
        self.0.values().filter_map(|boot| Some((boot.counted_as?, boot)))
    }

    /// Whether a host is booting, or will.
    pub(super) fn is_booting(&self) -> bool {
        self.counted().any(|(counted, _)| matches!(counted, Counted::Running | Counted::Queued))
    }

    /// How many hosts are in which state.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (counted, _) in self.counted() {
            counts.total += 1;
            *match counted {
                Counted::Booted => &mut counts.booted,
                Counted::Failed => &mut counts.failed,
                Counted::Unknown => &mut counts.unknown,
                Counted::Running => &mut counts.running,
                Counted::Queued => &mut counts.queued,
            } += 1;
        }
        counts
    }
}

impl fmt::Display for Counts {
    /// `31 of 40 booted, 2 failed, 7 running`, as the server's page says.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.total == 0 {
            return f.write_str("No boots");
        }
        write!(f, "{} of {} booted", self.booted, self.total)?;
        let others =
            [(self.failed, "failed"), (self.unknown, "unknown"), (self.running, "running"), (self.queued, "queued")];
        for (count, state) in others.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {state}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(id: &str, counted_as: Option<Counted>) -> Watched {
        let (state, reason, bmc) = (String::new(), String::new(), "https://bmc/".to_owned());
        Watched { id: id.to_owned(), host: None, bmc, state, counted_as, steps: vec![], reason, reading: None }
    }

    #[test]
    fn hosts_are_counted_as_on_the_page() {
        let mut board = Board::default();
        assert_eq!(board.counts().to_string(), "No boots");
        board.update(boot("a", Some(Counted::Running)));
        board.update(boot("b", Some(Counted::Failed)));
        board.update(boot("c", None));
        assert_eq!(
            (board.counts().to_string().as_str(), board.is_booting()),
            ("0 of 2 booted, 1 failed, 1 running", true)
        );
        board.update(boot("a", Some(Counted::Booted)));
        assert_eq!((board.counts().to_string().as_str(), board.is_booting()), ("1 of 2 booted, 1 failed", false));
        board.keep(&["a".to_owned()]);
        assert_eq!(board.counts().to_string(), "1 of 1 booted");
    }
}
