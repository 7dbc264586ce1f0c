//! How far a listener has come with stopping.

/// The phases of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Serving,
    /// Current requests may end. No further requests are read.
    Draining,
    /// All connections end now.
    Stopped,
}

impl Phase {
    pub(super) fn is_serving(self) -> bool {
        self == Self::Serving
    }
}
