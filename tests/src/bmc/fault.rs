//! Faults that a test injects between a client and a BMC.

use std::time::Duration;

/// A failure of some requests, a number of times.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The method of the requests. Empty for every method.
    pub method: String,
    /// A part of the requests' path.
    pub path: String,
    /// How many such requests succeed before the first one fails.
    pub after: usize,
    /// How many requests fail.
    pub times: usize,
    /// How a request fails.
    pub failure: Failure,
}

/// How a request fails.
#[derive(Debug, Clone)]
pub enum Failure {
    /// The BMC closes the connection, and has done nothing.
    Drop,
    /// The BMC carries out the request, and closes the connection without an answer.
    DropAnswer,
    /// The BMC answers with this status and a general error.
    Status(u16),
    /// The BMC carries out the request after this time, and answers then.
    Delay(Duration),
    /// The BMC carries out the request at once, and answers after this time.
    DelayAnswer(Duration),
    /// The BMC closes the session before it reads the request.
    LoseSession,
    /// The BMC answers with a page for browsers.
    NotJson,
}

impl Fault {
    /// Returns a fault for the next `times` requests of this method whose path contains `path`.
    pub fn new(method: &str, path: &str, times: usize, failure: Failure) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), after: 0, times, failure }
    }

    /// Returns a fault for the request with this number, counted from 0, of any kind.
    pub fn nth(after: usize, failure: Failure) -> Self {
        Self { after, ..Self::new("", "", 1, failure) }
    }
}

/// Returns the failure of this request, if it fails.
pub(super) fn befalls(faults: &mut [Fault], method: &str, path: &str) -> Option<Failure> {
    let meets = |fault: &&mut Fault| {
        fault.times > 0 && (fault.method.is_empty() || fault.method == method) && path.contains(&fault.path)
    };
    let fault = faults.iter_mut().find(meets)?;
    if let Some(after) = fault.after.checked_sub(1) {
        fault.after = after;
        return None;
    }
    fault.times -= 1;
    Some(fault.failure.clone())
}
