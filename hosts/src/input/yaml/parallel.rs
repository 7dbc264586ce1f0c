//! Reads on several threads within one [`Budget`], with the same result as one after the other.

use super::Budget;
use crate::parallel;

/// Reads each item and returns the results in order, with what is left of the budget. Returns nothing if the caller must
/// read the items one after the other.
///
/// If threads shared the budget, the result would depend on which thread uses it up first. So every part of `at_once` items
/// gets an equal share. If every share is enough, the whole budget is enough, too. If one share is too small, all results are
/// dropped. The threads together never use more memory than the budget allows.
pub(in crate::input) fn each<T: Sync, R: Send>(
    items: &[T],
    at_once: usize,
    budget: &Budget,
    read: impl Fn(&T, &mut Budget) -> R + Sync,
) -> Option<(Vec<R>, Budget)> {
    let parts: Vec<&[T]> = items.chunks(at_once).collect();
    if parts.len() < 2 {
        return None;
    }
    let share = budget.share(parts.len());
    let done = parallel::each(&parts, 1, |part| {
        let mut left = share.clone();
        let results: Vec<R> = part.iter().map(|item| read(item, &mut left)).collect();
        (results, left)
    });
    let mut all = Vec::with_capacity(items.len());
    let mut budget = budget.clone();
    for (mut results, left) in done {
        budget.take_used(&share, &left)?;
        all.append(&mut results);
    }
    Some((all, budget))
}

#[cfg(test)]
mod tests;
