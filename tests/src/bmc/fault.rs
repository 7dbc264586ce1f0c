//! What a test lets go wrong between a client and a BMC.

use std::time::Duration;

/// Something that goes wrong for some requests, for a number of times.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The method; of every request if it is empty.
    pub method: String,
    /// What the path must contain.
    pub path: String,
    /// How many such requests pass before it befalls one.
    pub after: usize,
    /// How many requests it befalls.
    pub times: usize,
    /// What goes wrong.
    pub failure: Failure,
}

/// What goes wrong.
#[derive(Debug, Clone)]
pub enum Failure {
    /// The connection is closed before the answer; the BMC has done nothing.
    Drop,
    /// The connection is closed before the answer; what was asked for is done.
    DropAnswer,
    /// The request is answered with this status and a general error.
    Status(u16),
    /// What was asked for is done so late, and answered then.
    Delay(Duration),
    /// What was asked for is done at once, and the answer is so late.
    DelayAnswer(Duration),
    /// The session is closed before the request is looked at.
    LoseSession,
    /// The answer is a page for browsers.
    NotJson,
}

impl Fault {
    /// For the next `times` requests of this method whose path contains `path`.
    pub fn new(method: &str, path: &str, times: usize, failure: Failure) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), after: 0, times, failure }
    }

    /// For the request with this number, from 0, whatever it is.
    pub fn nth(after: usize, failure: Failure) -> Self {
        Self { after, ..Self::new("", "", 1, failure) }
    }
}

/// The failure that this request meets, if it meets one.
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
