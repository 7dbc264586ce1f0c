//! How much one call may read.

use super::Problem;
use crate::input::limits::Limits;

/// How much one call may read, all documents together: those in the stream and those that they hold as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::input) struct Budget {
    limits: Limits,
    nodes: usize,
    bytes: usize,
    /// Whether it was ever not enough.
    ran_out: bool,
}

impl Budget {
    pub(in crate::input) fn within(limits: Limits) -> Self {
        Self { limits, nodes: limits.values, bytes: limits.bytes, ran_out: false }
    }

    /// What bounds the parts by themselves.
    pub(in crate::input) fn limits(&self) -> Limits {
        self.limits
    }

    /// Takes `count` bytes out of the budget, or says that it is used up.
    pub(in crate::input) fn take_bytes(&mut self, count: usize) -> Result<(), Problem> {
        let left = self.bytes.checked_sub(count);
        self.ran_out |= left.is_none();
        self.bytes = left.ok_or_else(Problem::too_much)?;
        Ok(())
    }

    /// Takes `count` values out of the budget, or says that it is used up.
    pub(super) fn take_nodes(&mut self, count: usize) -> Result<(), Problem> {
        let left = self.nodes.checked_sub(count);
        self.ran_out |= left.is_none();
        self.nodes = left.ok_or_else(Problem::too_much)?;
        Ok(())
    }

    /// What has been used of it since it was `before`: values and bytes.
    pub(super) fn used_since(&self, before: &Self) -> (usize, usize) {
        (before.nodes.saturating_sub(self.nodes), before.bytes.saturating_sub(self.bytes))
    }

    /// What each of `count` readers may use, so that all together use no more than there is.
    pub(in crate::input) fn share(&self, count: usize) -> Self {
        Self { nodes: self.nodes / count.max(1), bytes: self.bytes / count.max(1), ran_out: false, ..*self }
    }

    /// Takes out what a reader has used of its share, if that was enough for it.
    pub(in crate::input) fn take_used(&mut self, share: &Self, left: &Self) -> Option<()> {
        self.nodes = self.nodes.checked_sub(share.nodes.checked_sub(left.nodes)?)?;
        self.bytes = self.bytes.checked_sub(share.bytes.checked_sub(left.bytes)?)?;
        (!left.ran_out).then_some(())
    }
}
