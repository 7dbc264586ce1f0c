//! Reading on several threads within one [`Budget`], with the same outcome as in turn.

use super::yaml::Budget;
use crate::parallel;

/// What `read` makes of each item, in their order, and what is left of the budget; none where in turn it must be decided
/// who gets the last of it.
///
/// Threads cannot share a budget and have the same outcome every time: who comes late finds it used up. So each part of the
/// items, of `at_once` each, has an equal share. Where every share is enough, so is the whole in turn; where one is not,
/// nothing of what was read counts. No more is ever held in memory than the budget allows.
pub(super) fn each<T: Sync, R: Send>(
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
        let made: Vec<R> = part.iter().map(|item| read(item, &mut left)).collect();
        (made, left)
    });
    let mut all = Vec::with_capacity(items.len());
    let mut budget = budget.clone();
    for (mut made, left) in done {
        budget.take_used(&share, &left)?;
        all.append(&mut made);
    }
    Some((all, budget))
}

#[cfg(test)]
mod tests;
