//! When which answers are right: what the test does to the server, and since when.

use std::sync::atomic::{AtomicU64, Ordering};

/// Something that begins and ends, and is seen by those who were busy meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// Odd while it is open.
    count: AtomicU64,
}

impl Window {
    pub(crate) fn open(&self) {
        assert_eq!(self.count.fetch_add(1, Ordering::SeqCst) % 2, 0, "it is open already");
    }

    pub(crate) fn close(&self) {
        assert_eq!(self.count.fetch_add(1, Ordering::SeqCst) % 2, 1, "it is not open");
    }

    pub(crate) fn look(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Whether it was open at any moment since `before`.
    pub(crate) fn was_open_since(&self, before: u64) -> bool {
        before % 2 == 1 || self.look() != before
    }
}

/// Everything that excuses an answer.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    /// The server is dead, or may open no file: connections break.
    pub(crate) down: Window,
    /// The file of a configured base is another one: its images answer 503, and transfers of them end.
    pub(crate) bases: [Window; 2],
}

/// The state of all windows at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    down: u64,
    bases: [u64; 2],
}

impl Windows {
    pub(crate) fn look(&self) -> Look {
        Look { down: self.down.look(), bases: self.bases.each_ref().map(Window::look) }
    }

    pub(crate) fn was_down_since(&self, before: Look) -> bool {
        self.down.was_open_since(before.down)
    }

    /// Whether the base of an image was disturbed since then.
    pub(crate) fn was_disturbed_since(&self, before: Look, base: Option<usize>) -> bool {
        let window = base.and_then(|base| Some((self.bases.get(base)?, before.bases.get(base)?)));
        window.is_some_and(|(window, before)| window.was_open_since(*before))
    }
}
