//! Watches of an API server: every change, in order.

use std::io::{BufRead as _, BufReader};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::Client;

/// After how many seconds a watch ends by itself: nothing can interrupt it.
const SECONDS: u64 = 180;

impl Client {
    /// Calls `seen` with every event of a list from now on, beginning with the objects that are there. `path` may have a
    /// query.
    pub fn watch(&self, path: &str, mut seen: impl FnMut(&Value) + Send + 'static) {
        let separator = if path.contains('?') { '&' } else { '?' };
        let watched = format!("{path}{separator}watch=true&timeoutSeconds={SECONDS}");
        let answer = self.open(&watched, Duration::from_secs(SECONDS + 10));
        assert_eq!(answer.status(), 200, "{watched}");
        thread::spawn(move || {
            let lines = BufReader::new(answer).lines().map_while(Result::ok);
            lines.filter_map(|line| serde_json::from_str(&line).ok()).for_each(|event: Value| seen(&event));
        });
    }
}
