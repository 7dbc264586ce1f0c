//! Reads on several threads within one [`Budget`], with the same result as one after the other.

use super::Budget;
use crate::parallel;

/// Reads each item and returns the results in order.
///
/// If threads shared the budget, the result would depend on which thread uses it up first. So every part of `at_once` items
/// first gets an equal share, and the threads together never use more memory than the budget allows. Then the parts follow in
/// order. Those whose share was too small, such as that of one large fleet beside many hosts, are read again with all that the
/// parts before them have left.
pub(in crate::input) fn each<T: Sync, R: Send>(
    items: &[T],
    at_once: usize,
    budget: &mut Budget,
    read: impl Fn(&T, &mut Budget) -> R + Sync,
) -> Vec<R> {
    let parts: Vec<&[T]> = items.chunks(at_once.max(1)).collect();
    if parts.len() < 2 {
        return items.iter().map(|item| read(item, budget)).collect();
    }
    let share = budget.share(parts.len());
    let done = parallel::each(&parts, 1, |part| {
        let mut left = share.clone();
        let mut results = Vec::with_capacity(part.len());
        for item in *part {
            results.push(read(item, &mut left));
            if left.ran_out() {
                return None;
            }
        }
        Some((results, left))
    });
    let mut all = Vec::with_capacity(items.len());
    for (part, done) in parts.into_iter().zip(done) {
        // With no less than the share, a reader does the same.
        match done.filter(|_| budget.covers(&share)) {
            Some((mut results, left)) => {
                budget.take_used(&share, &left);
                all.append(&mut results);
            }
            None => all.extend(part.iter().map(|item| read(item, budget))),
        }
    }
    all
}

#[cfg(test)]
mod tests;
