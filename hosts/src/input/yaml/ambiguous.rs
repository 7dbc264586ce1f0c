//! Scalars without quotes that readers of YAML 1.1 and YAML 1.2 read differently, with their places.

use std::collections::BTreeMap;

/// A scalar in a document that other readers may read differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::input) struct Ambiguous {
    text: String,
    /// The steps to it, the last one first.
    steps: Vec<Step>,
}

/// One step on the path to a scalar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl Ambiguous {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), steps: Vec::new() }
    }

    /// Adds a step before the others, when the reader leaves a collection.
    pub(super) fn below(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Divides scalars among the elements of the list at `keys`: each becomes relative to its element.
    pub(in crate::input) fn by_element(all: Vec<Self>, keys: &[&str]) -> BTreeMap<usize, Vec<Self>> {
        let mut found: BTreeMap<usize, Vec<Self>> = BTreeMap::new();
        for mut scalar in all {
            let leads = keys.iter().all(|key| matches!(scalar.steps.pop(), Some(Step::Key(found)) if found == *key));
            if let (true, Some(Step::Index(index))) = (leads, scalar.steps.pop()) {
                found.entry(index).or_default().push(scalar);
            }
        }
        found
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the steps from the top. Merge keys are not part of paths.
    pub(super) fn way(&self) -> Vec<&Step> {
        let mut way = Vec::with_capacity(self.steps.len());
        let mut steps = self.steps.iter().rev().peekable();
        while let Some(step) = steps.next() {
            if matches!(step, Step::Key(key) if key == "<<") {
                steps.next_if(|step| matches!(step, Step::Index(_)));
            } else {
                way.push(step);
            }
        }
        way
    }
}
