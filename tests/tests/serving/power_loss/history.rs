//! What clients asked for, and when the server acknowledged it.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use imagelib::digest::Digest;

/// What a client wants to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    Absent,
    /// An image, with the bytes of its files.
    Image {
        files: Vec<(String, Vec<u8>)>,
    },
    /// The base of this name, with a file of this digest.
    Base(Digest),
    /// Anything of this name: a boot, or a base that is still being fetched.
    Present,
}

/// What it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The token of an image.
    Image(String),
    /// The name of a base that new images can be made from.
    Base(String),
    /// The name of a base that is there, or is being fetched.
    BaseRequest(String),
    /// The id of a boot.
    Boot(String),
}

/// One request.
#[derive(Debug, Clone)]
struct Act {
    subject: Subject,
    wanted: Wanted,
    asked: f64,
    acknowledged: f64,
}

#[derive(Debug, Default)]
pub(crate) struct History(Mutex<Vec<Act>>);

pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

impl History {
    /// Notes a request that was sent at `asked` and is acknowledged now.
    pub(crate) fn acknowledged(&self, asked: f64, subject: Subject, wanted: Wanted) {
        self.acknowledged_at(asked, now(), subject, wanted);
    }

    /// Notes a request that was sent at `asked` and acknowledged at `acknowledged`.
    pub(crate) fn acknowledged_at(&self, asked: f64, acknowledged: f64, subject: Subject, wanted: Wanted) {
        self.0.lock().unwrap().push(Act { subject, wanted, asked, acknowledged });
    }

    /// Notes a request that was sent now, and that nobody waits for.
    pub(crate) fn asked(&self, subject: Subject, wanted: Wanted) {
        self.0.lock().unwrap().push(Act { subject, wanted, asked: now(), acknowledged: f64::INFINITY });
    }

    /// How many requests and answers there had been by then.
    pub(crate) fn count(&self, time: f64) -> usize {
        let acts = self.0.lock().unwrap();
        acts.iter().map(|act| usize::from(act.asked < time) + usize::from(act.acknowledged < time)).sum()
    }

    /// What must be there after a power failure at a time, for each subject that anybody asked for by then; several values if
    /// the server had not answered the last request.
    pub(crate) fn at(&self, time: f64) -> Vec<(Subject, Vec<Wanted>)> {
        let mut expected: Vec<(Subject, Vec<Wanted>)> = Vec::new();
        for act in self.0.lock().unwrap().iter().filter(|act| act.asked < time) {
            let known = expected.iter().position(|(subject, _)| *subject == act.subject);
            let at = known.unwrap_or_else(|| {
                expected.push((act.subject.clone(), vec![Wanted::Absent]));
                expected.len() - 1
            });
            let possible = &mut expected[at].1;
            if act.acknowledged < time {
                possible.clear();
            }
            possible.push(act.wanted.clone());
        }
        expected
    }
}
