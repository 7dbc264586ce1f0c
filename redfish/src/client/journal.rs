//! What was asked of a BMC, and when: for the record of a boot, and for reports about BMCs.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// Requests that are remembered: the last ones.
const KEPT: usize = 256;
/// Characters of a path that are remembered. No BMC has longer ones.
const MAX_PATH: usize = 200;

/// One request. Without bodies, headers and credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// When it began.
    pub at: SystemTime,
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The answer's status; none when there was no answer.
    pub status: Option<u16>,
    /// How long it took.
    pub took: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Journal(Mutex<VecDeque<RequestRecord>>);

impl Journal {
    pub(super) fn add(&self, mut record: RequestRecord) {
        if let Some((end, _)) = record.path.char_indices().nth(MAX_PATH) {
            record.path.truncate(end);
        }
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() == KEPT {
            records.pop_front();
        }
        records.push_back(record);
    }

    pub(super) fn records(&self) -> Vec<RequestRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
