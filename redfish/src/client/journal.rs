//! Records the requests to a BMC, for reports about it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// How many requests are kept.
const KEPT: usize = 256;
/// Maximum length of a recorded path, in characters. BMCs have no longer ones.
const MAX_PATH: usize = 200;

/// One request, without bodies, headers and credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// When the request began.
    pub at: SystemTime,
    /// `GET`, `POST`, `PATCH` or `DELETE`.
    pub method: String,
    /// The path, with secrets masked.
    pub path: String,
    /// The HTTP status of the answer. `None` if there was no answer.
    pub status: Option<u16>,
    /// The time from the request to the end of the answer.
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
