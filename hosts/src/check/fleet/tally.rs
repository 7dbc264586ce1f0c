//! What the hosts of a group say of one thing: whether all but one say the same.

/// How many hosts say something, before one of them is unlike the others.
const LEAST: usize = 4;

/// The values that hosts give to one thing, as long as there are no more than two of them.
#[derive(Debug)]
pub(super) struct Tally<V, P> {
    values: Vec<Counted<V, P>>,
    /// Whether there are more than two.
    differ: bool,
}

#[derive(Debug)]
struct Counted<V, P> {
    value: V,
    hosts: usize,
    /// The first host that gives it, and where.
    first: (usize, P),
}

/// The one host that is unlike all others.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outlier<'t, V, P> {
    /// The number of the host.
    pub(super) host: usize,
    /// Where it says its own.
    pub(super) place: &'t P,
    pub(super) own: &'t V,
    /// What all others say, and how many they are.
    pub(super) common: &'t V,
    pub(super) others: usize,
}

impl<V, P> Default for Tally<V, P> {
    fn default() -> Self {
        Self { values: Vec::new(), differ: false }
    }
}

impl<V: PartialEq, P> Tally<V, P> {
    /// Counts what a host says, each host once.
    pub(super) fn add(&mut self, value: V, host: usize, place: P) {
        if self.differ {
            return;
        }
        if let Some(known) = self.values.iter_mut().find(|known| known.value == value) {
            known.hosts += 1;
        } else if self.values.len() == 2 {
            self.differ = true;
        } else {
            self.values.push(Counted { value, hosts: 1, first: (host, place) });
        }
    }

    /// The one host that says something else than all others, where there are enough of them.
    pub(super) fn outlier(&self) -> Option<Outlier<'_, V, P>> {
        let (one, common) = match self.values.as_slice() {
            [a, b] if a.hosts == 1 => (a, b),
            [a, b] if b.hosts == 1 => (b, a),
            _ => return None,
        };
        (!self.differ && common.hosts + 1 >= LEAST).then_some(Outlier {
            host: one.first.0,
            place: &one.first.1,
            own: &one.value,
            common: &common.value,
            others: common.hosts,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// There is an outlier exactly where one host says one thing, and at least three others all say another.
        #[test]
        fn one_against_all_others(values in prop::collection::vec(0..3_u8, 0..9)) {
            let mut tally = Tally::default();
            let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
            for (host, value) in values.iter().enumerate() {
                tally.add(*value, host, host);
                *counts.entry(*value).or_default() += 1;
            }
            let lonely = counts.iter().find(|(_, count)| **count == 1 && counts.len() == 2 && values.len() >= 4);
            let wanted = lonely.map(|(value, _)| values.iter().position(|own| own == value).unwrap());
            prop_assert_eq!(tally.outlier().map(|outlier| outlier.host), wanted);
            if let Some(outlier) = tally.outlier() {
                prop_assert_eq!(outlier.others, values.len() - 1);
                prop_assert_eq!((*outlier.place, *outlier.own), (outlier.host, values[outlier.host]));
            }
        }
    }
}
