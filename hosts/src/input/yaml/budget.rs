//! What is left of the limits of a call.

use serde_yaml::{Mapping, Value};

use super::limits::Limits;
use super::problem::Problem;

/// What is left of the limits of one call. Documents in a stream, documents that these contain as text, and what dayone makes of them
/// share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::input) struct Budget {
    limits: Limits,
    /// How many values and bytes may still be read.
    read: (usize, usize),
    /// How many values and bytes may still be made of what was read.
    copied: (usize, usize),
    /// Whether a reader ever needed more than was left.
    ran_out: bool,
}

impl Budget {
    pub(in crate::input) fn within(limits: Limits) -> Self {
        let (read, copied) = ((limits.values, limits.bytes), (limits.copied_values, limits.copied_bytes));
        Self { limits, read, copied, ran_out: false }
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
    pub(super) fn take(&mut self, size: (usize, usize)) -> Result<(), Problem> {
        let left = less(self.read, size);
        self.ran_out |= left.is_none();
        self.read = left.ok_or_else(Problem::too_much)?;
        Ok(())
    }

    /// Takes values and bytes out of the budget that are made of what was read: a template and a table of a few kilobytes become
    /// thousands of hosts. It is an error if the budget has fewer.
    pub(in crate::input) fn take_copies(&mut self, size: (usize, usize)) -> Result<(), Problem> {
        let left = less(self.copied, size);
        self.ran_out |= left.is_none();
        self.copied = left.ok_or_else(Problem::too_much)?;
        Ok(())
    }

    /// Returns how many values and bytes were read since the budget was `before`.
    pub(super) fn used_since(&self, before: &Self) -> (usize, usize) {
        used(before.read, self.read)
    }

    /// Returns an equal share for each of `count` readers.
    pub(super) fn share(&self, count: usize) -> Self {
        let share = |(values, bytes): (usize, usize)| (values / count.max(1), bytes / count.max(1));
        Self { read: share(self.read), copied: share(self.copied), ran_out: false, ..*self }
    }

    /// Whether a reader needed more than was left.
    pub(super) fn ran_out(&self) -> bool {
        self.ran_out
    }

    /// Whether at least a share is left.
    pub(super) fn covers(&self, share: &Self) -> bool {
        less(self.read, share.read).is_some() && less(self.copied, share.copied).is_some()
    }

    /// Takes out what a reader has used of a share that the budget [covers](Self::covers).
    pub(super) fn take_used(&mut self, share: &Self, left: &Self) {
        self.read = less(self.read, used(share.read, left.read)).unwrap_or_default();
        self.copied = less(self.copied, used(share.copied, left.copied)).unwrap_or_default();
    }
}

fn less(left: (usize, usize), size: (usize, usize)) -> Option<(usize, usize)> {
    left.0.checked_sub(size.0).zip(left.1.checked_sub(size.1))
}

fn used(before: (usize, usize), left: (usize, usize)) -> (usize, usize) {
    (before.0.saturating_sub(left.0), before.1.saturating_sub(left.1))
}

/// Returns how many values there are in a value, itself included, and how many bytes of text.
pub(in crate::input) fn size_of(value: &Value) -> (usize, usize) {
    match value {
        Value::Sequence(items) => total(items.iter().map(size_of)),
        Value::Mapping(members) => size_of_members(members),
        other => (1, length(other)),
    }
}

/// [`size_of`] for a mapping.
pub(in crate::input) fn size_of_members(members: &Mapping) -> (usize, usize) {
    total(members.iter().map(|(key, value)| {
        let (values, text) = size_of(value);
        (values, text + length(key))
    }))
}

/// Returns the size of a collection whose members have these sizes.
pub(in crate::input) fn total(sizes: impl Iterator<Item = (usize, usize)>) -> (usize, usize) {
    sizes.fold((1, 0), |(values, text), size| (values.saturating_add(size.0), text.saturating_add(size.1)))
}

fn length(text: &Value) -> usize {
    text.as_str().map_or(0, str::len)
}
