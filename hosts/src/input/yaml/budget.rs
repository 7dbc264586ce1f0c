//! What is left of the limits of a call.

use super::limits::Limits;
use super::problem::Problem;

/// What is left of the limits of one call. Documents in a stream and documents that these contain as text share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::input) struct Budget {
    limits: Limits,
    values: usize,
    bytes: usize,
    /// Whether a reader ever needed more than was left.
    ran_out: bool,
}

impl Budget {
    pub(in crate::input) fn within(limits: Limits) -> Self {
        Self { limits, values: limits.values, bytes: limits.bytes, ran_out: false }
    }

    pub(in crate::input) fn limits(&self) -> Limits {
        self.limits
    }

    pub(in crate::input) fn take_bytes(&mut self, count: usize) -> Result<(), Problem> {
        self.take((0, count))
    }

    /// Takes one value of this size out of the budget.
    pub(in crate::input) fn take_value(&mut self, bytes: usize) -> Result<(), Problem> {
        self.take((1, bytes))
    }

    /// Takes values and bytes out of the budget. It is an error if it has fewer.
    pub(super) fn take(&mut self, (values, bytes): (usize, usize)) -> Result<(), Problem> {
        let left = self.values.checked_sub(values).zip(self.bytes.checked_sub(bytes));
        self.ran_out |= left.is_none();
        (self.values, self.bytes) = left.ok_or_else(Problem::too_much)?;
        Ok(())
    }

    /// Returns how many values and bytes were taken since the budget was `before`.
    pub(super) fn used_since(&self, before: &Self) -> (usize, usize) {
        (before.values.saturating_sub(self.values), before.bytes.saturating_sub(self.bytes))
    }

    /// Returns an equal share for each of `count` readers.
    pub(super) fn share(&self, count: usize) -> Self {
        Self { values: self.values / count.max(1), bytes: self.bytes / count.max(1), ran_out: false, ..*self }
    }

    /// Takes out what a reader has used of its share. Returns nothing if the reader needed more than the share.
    pub(super) fn take_used(&mut self, share: &Self, left: &Self) -> Option<()> {
        self.take(left.used_since(share)).ok()?;
        (!left.ran_out).then_some(())
    }
}
