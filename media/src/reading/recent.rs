//! The places where a file was read last. They show what a host reads now, even if it reads a few other places
//! meanwhile.

use std::ops::Range;

/// Maximum number of runs.
const KEPT: usize = 8;
/// Maximum length of a run in bytes.
const MAX_RUN: u64 = 4 << 20;

/// The last runs of bytes that were read. A long run lacks its beginning.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent(Vec<Range<u64>>);

impl Recent {
    pub(super) fn add(&mut self, range: &Range<u64>) {
        let mut run = range.clone();
        if let Some(known) = self.0.iter().position(|run| run.end == range.start) {
            run.start = self.0.remove(known).start;
        } else if self.0.len() >= KEPT {
            self.0.remove(0);
        }
        run.start = run.start.max(run.end.saturating_sub(MAX_RUN));
        self.0.push(run);
    }

    /// The runs, the latest one last.
    pub(super) fn runs(&self) -> &[Range<u64>] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_reads_are_one_run_and_only_the_last_runs_are_kept() {
        let mut recent = Recent::default();
        for start in 0..9 {
            recent.add(&(start << 20..(start + 1) << 20));
            recent.add(&(start + (100 << 20)..start + (100 << 20) + 1));
        }
        assert_eq!(recent.runs(), [5 << 20..9 << 20, 100 << 20..(100 << 20) + 9]);
        for start in 0..KEPT as u64 {
            recent.add(&(start * 10..start * 10 + 1));
        }
        assert_eq!(recent.runs().first(), Some(&(0..1)));
    }
}
