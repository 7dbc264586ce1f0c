//! Reading a document so that nothing is forgotten: whoever takes a member answers for it, and what nobody took is
//! refused.
//!
//! The document is of NMState's schema already: nmstate's own engine has read it.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde_yaml::{Mapping, Value};

use crate::nmstate_document::{is_true, number, quoted};
use vocabulary::report::{DocumentPath, Report};

/// The form in which a document is to be said again.
#[derive(Debug)]
pub(super) struct Form {
    /// The code of findings about what it cannot say.
    pub(super) code: &'static str,
    /// What it is called.
    pub(super) name: &'static str,
    /// Settings of which the reason is not obvious: the key, and why they cannot be said.
    pub(super) reasons: &'static [(&'static str, &'static str)],
}

/// The report, and what earlier steps have said about settings that take no effect anyway.
pub(super) struct Findings<'r> {
    report: &'r mut Report,
    form: &'static Form,
    told: BTreeSet<DocumentPath>,
}

impl<'r> Findings<'r> {
    pub(super) fn new(report: &'r mut Report, form: &'static Form) -> Self {
        let effectless = |code| matches!(code, "reported-only" | "not-in-keyfiles");
        let told = report.findings().iter().filter(|f| effectless(f.code)).map(|f| f.path.clone()).collect();
        Self { report, form, told }
    }

    /// What stands at `path` cannot be said.
    pub(super) fn refuse(&mut self, path: &DocumentPath, reason: &str) {
        let message = format!("cannot be said exactly in {}: {reason}", self.form.name);
        self.report.error(self.form.code, path, message);
    }

    pub(super) fn warn(&mut self, code: &'static str, path: &DocumentPath, message: &str) {
        self.report.warning(code, path, message);
    }
}

/// A mapping of the document, and which of its members have been taken.
pub(super) struct Fields<'a> {
    map: Option<&'a Mapping>,
    path: DocumentPath,
    taken: Vec<&'a str>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(map: &'a Mapping, path: DocumentPath) -> Self {
        Self { map: Some(map), path, taken: Vec::new() }
    }

    pub(super) fn path(&self) -> &DocumentPath {
        &self.path
    }

    /// The path of a member.
    pub(super) fn at(&self, key: &str) -> DocumentPath {
        self.path.key(key)
    }

    /// Whether there is a mapping at all.
    pub(super) fn exists(&self) -> bool {
        self.map.is_some()
    }

    /// A member that is not null.
    pub(super) fn take(&mut self, key: &'a str) -> Option<&'a Value> {
        self.taken.push(key);
        self.map?.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn ignore(&mut self, keys: &[&'a str]) {
        self.taken.extend(keys);
    }

    pub(super) fn text(&mut self, key: &'a str) -> Option<&'a str> {
        self.take(key).and_then(Value::as_str)
    }

    pub(super) fn flag(&mut self, key: &'a str) -> Option<bool> {
        self.take(key).map(|value| is_true(Some(value)))
    }

    /// A number of which what is within `range`.
    pub(super) fn number(
        &mut self,
        key: &'a str,
        range: RangeInclusive<u64>,
        findings: &mut Findings<'_>,
    ) -> Option<u64> {
        let value = self.take(key)?;
        let found = number(Some(value)).filter(|number| range.contains(number));
        if found.is_none() {
            let (least, greatest) = range.into_inner();
            findings.refuse(&self.at(key), &format!("the number must be within {least} and {greatest}"));
        }
        found
    }

    /// [`Self::number`], where NMState writes -1 for the usual.
    pub(super) fn number_or_usual(
        &mut self,
        key: &'a str,
        range: RangeInclusive<u64>,
        findings: &mut Findings<'_>,
    ) -> Option<u64> {
        let usual = |value: &Value| value.as_i64() == Some(-1) || value.as_str() == Some("-1");
        if self.map?.get(key).is_some_and(usual) {
            self.taken.push(key);
            return None;
        }
        self.number(key, range, findings)
    }

    /// What a form calls a word of NMState: the pairs are (NMState's, the form's).
    pub(super) fn word(
        &mut self,
        key: &'a str,
        words: &[(&str, &'static str)],
        findings: &mut Findings<'_>,
    ) -> Option<&'static str> {
        let word = match self.take(key)? {
            Value::String(word) => word.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            _ => String::new(),
        };
        let found = words.iter().find(|(nmstate, _)| *nmstate == word).map(|(_, word)| *word);
        if found.is_none() {
            findings.refuse(&self.at(key), &format!("there is nothing like {}", quoted(&word)));
        }
        found
    }

    /// A member that is a mapping; empty where there is none.
    pub(super) fn section(&mut self, key: &'a str) -> Fields<'a> {
        let map = self.take(key).and_then(Value::as_mapping);
        Self { map, path: self.at(key), taken: Vec::new() }
    }

    /// The elements of a member that is a list.
    pub(super) fn list(&mut self, key: &'a str) -> Vec<(DocumentPath, &'a Value)> {
        let at = self.at(key);
        let list = self.take(key).and_then(Value::as_sequence).into_iter().flatten();
        list.enumerate().map(|(index, value)| (at.index(index), value)).collect()
    }

    /// The elements of a member that is a list of mappings.
    pub(super) fn entries(&mut self, key: &'a str) -> Vec<Fields<'a>> {
        let entries = self.list(key).into_iter();
        entries.filter_map(|(path, value)| Some(Self::of(value.as_mapping()?, path))).collect()
    }

    /// Refuses everything that nobody took.
    pub(super) fn finish(self, findings: &mut Findings<'_>) {
        self.finish_because("they have no setting like it", findings);
    }

    pub(super) fn finish_because(self, why: &str, findings: &mut Findings<'_>) {
        for (key, value) in self.map.into_iter().flatten() {
            let Some(key) = key.as_str().filter(|key| !self.taken.contains(key) && !value.is_null()) else { continue };
            let path = self.path.key(key);
            if findings.told.contains(&path) {
                continue;
            }
            let reason = findings.form.reasons.iter().find(|(name, _)| *name == key).map_or(why, |(_, reason)| reason);
            findings.refuse(&path, reason);
        }
    }
}
