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

/// A [`RequestRecord`] in less memory: each of thousands of clients keeps dozens.
#[derive(Debug)]
pub(super) struct Kept {
    at: SystemTime,
    method: &'static str,
    path: Box<str>,
    status: Option<u16>,
    took: Duration,
}

impl Kept {
    pub(super) fn new(at: SystemTime, method: &'static str, path: &str, status: Option<u16>, took: Duration) -> Self {
        let path = path.char_indices().nth(MAX_PATH).and_then(|(end, _)| path.get(..end)).unwrap_or(path).into();
        Self { at, method, path, status, took }
    }
}

impl From<&Kept> for RequestRecord {
    fn from(kept: &Kept) -> Self {
        let Kept { at, method, path, status, took } = kept;
        Self { at: *at, method: (*method).to_owned(), path: path.to_string(), status: *status, took: *took }
    }
}

#[derive(Debug, Default)]
pub(super) struct Journal(Mutex<VecDeque<Kept>>);

impl Journal {
    pub(super) fn add(&self, record: Kept) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() == KEPT {
            records.pop_front();
        }
        records.push_back(record);
    }

    pub(super) fn records(&self) -> Vec<RequestRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(RequestRecord::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_records_come_back_as_they_were_added() {
        let journal = Journal::default();
        let methods = ["GET", "POST", "PATCH", "DELETE"];
        let method = |number: u64| methods[usize::try_from(number).unwrap() % methods.len()];
        let record = |number: u64| RequestRecord {
            at: SystemTime::UNIX_EPOCH + Duration::from_secs(number),
            method: method(number).to_owned(),
            path: format!("/redfish/v1/{number}"),
            status: number.is_multiple_of(2).then_some(200),
            took: Duration::from_millis(number),
        };
        let last = KEPT as u64 + 3;
        for number in 0..last {
            let RequestRecord { at, path, status, took, .. } = record(number);
            journal.add(Kept::new(at, method(number), &path, status, took));
        }
        assert_eq!(journal.records(), (3..last).map(record).collect::<Vec<_>>());
    }

    #[test]
    fn a_path_is_cut_at_its_maximum_length() {
        let journal = Journal::default();
        let (at, took) = (SystemTime::UNIX_EPOCH, Duration::ZERO);
        let path = "é".repeat(MAX_PATH + 1);
        journal.add(Kept::new(at, "GET", &path, None, took));
        assert_eq!(journal.records()[0].path, "é".repeat(MAX_PATH));
    }
}
