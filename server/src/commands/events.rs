//! Server-sent events (WHATWG HTML, §9.2) as dayone sends them: each has an id and one line of data.

/// The longest line, and the longest event, that the parser keeps. A boot is a few KiB, and the first event of all boots has thousands
/// of them.
const MAX_EVENT_BYTES: usize = 32 << 20;

/// An event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) data: String,
}

/// A parser of events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    unread: Vec<u8>,
    event: Event,
}

impl Events {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
        if self.unread.len() > MAX_EVENT_BYTES && !self.unread.contains(&b'\n') {
            self.unread.clear();
        }
    }

    /// Returns the next complete event.
    pub(crate) fn next(&mut self) -> Option<Event> {
        loop {
            let end = self.unread.iter().position(|byte| *byte == b'\n')?;
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            match line.split_once(':') {
                None if line.is_empty() => {
                    let event = std::mem::take(&mut self.event);
                    if !event.data.is_empty() {
                        return Some(event);
                    }
                }
                Some(("id", value)) => value.trim_start().clone_into(&mut self.event.id),
                Some(("data", value)) if self.event.data.len() + value.len() <= MAX_EVENT_BYTES => {
                    self.event.data.push_str(value.strip_prefix(' ').unwrap_or(value));
                }
                // Ignore unknown fields, comments, which keep connections open, and data without an end.
                Some(_) | None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_without_an_end_is_bounded() {
        let mut events = Events::default();
        let line = format!("data: {}\n", "a".repeat(8 << 20));
        for _ in 0..6 {
            events.add(line.as_bytes());
            assert_eq!(events.next(), None);
        }
        assert!(events.event.data.len() <= MAX_EVENT_BYTES, "{}", events.event.data.len());
    }

    #[test]
    fn events_are_found_however_they_are_cut() {
        let stream = ": still here\n\nevent: boot\nid: 7\ndata: {\"a\": 1}\n\nid: 8\r\ndata: {}\r\n\r\nid: 9\ndata: {";
        let expected = [("7", "{\"a\": 1}"), ("8", "{}")];
        for size in [1, 2, 5, 1000] {
            let mut events = Events::default();
            let mut found = Vec::new();
            for bytes in stream.as_bytes().chunks(size) {
                events.add(bytes);
                found.extend(std::iter::from_fn(|| events.next()));
            }
            let found: Vec<_> = found.iter().map(|event| (event.id.as_str(), event.data.as_str())).collect();
            assert_eq!(found, expected, "{size}");
        }
    }
}
