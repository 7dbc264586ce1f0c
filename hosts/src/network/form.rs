//! Forms that say less than NMState, and what of a document they can say.
//!
//! Values are read from the model. What the model has no place for, or a form no words, is found here: a form lists the
//! document's keys that it can say, and every other one is refused at its place. The document is of NMState's schema
//! already: nmstate's own engine has read it.

use std::collections::BTreeSet;

use serde_yaml::{Mapping, Value};

use crate::model::Topology;
use crate::nmstate_document::interfaces::Interface;
use crate::nmstate_document::{is_true, number, quoted, text};
use vocabulary::report::{DocumentPath, Report};

/// The form in which a document is to be said again.
#[derive(Debug)]
pub(super) struct Form {
    /// The code of findings about what it cannot say.
    pub(super) code: &'static str,
    /// What it is called.
    pub(super) name: &'static str,
    /// The keys that it can say, by the mappings that hold them. A mapping that is not here may hold any.
    pub(super) sections: &'static [Section],
    /// Settings of which the reason is not obvious: the key, and why they cannot be said.
    pub(super) reasons: &'static [(&'static str, &'static str)],
    /// Refuses an interface as such. Only where it is true, the keys of the interface need findings of their own.
    pub(super) takes: fn(&Mapping, &DocumentPath, &mut Findings<'_>) -> bool,
}

/// Mappings of a document, and what a form can say of what they hold.
#[derive(Debug)]
pub(super) struct Section {
    /// The keys that lead there, `*` for each element of a list.
    pub(super) at: &'static str,
    /// The keys that it can say, whatever their values, or those that the writers check. Blanks stand between them.
    pub(super) all: &'static str,
    /// The keys of which it can say some values.
    pub(super) some: &'static [(&'static str, Values)],
    /// Why the form cannot say other keys.
    pub(super) why: &'static str,
}

/// The values of a setting that a form can say.
#[derive(Debug)]
pub(super) enum Values {
    /// These words.
    Words(&'static [&'static str]),
    /// The numbers from the first to the second.
    Within(u64, u64),
    /// These, and -1, by which NMState means the usual.
    WithinOrUsual(u64, u64),
}

/// The report, and what earlier steps have said about settings that take no effect anyway.
pub(super) struct Findings<'r> {
    report: &'r mut Report,
    form: &'static Form,
    reported: BTreeSet<DocumentPath>,
}

impl Section {
    pub(super) const fn new(at: &'static str, all: &'static str, some: &'static [(&'static str, Values)]) -> Self {
        Self { at, all, some, why: "they have no such setting" }
    }
}

impl Values {
    /// Why a value cannot be said.
    fn problem(&self, value: &Value) -> Option<String> {
        let (least, greatest) = match self {
            Self::Words(words) => {
                let word = match value {
                    Value::String(word) => word.clone(),
                    Value::Number(number) => number.to_string(),
                    Value::Bool(value) => value.to_string(),
                    _ => String::new(),
                };
                return (!words.contains(&word.as_str()))
                    .then(|| format!("they have no equivalent of {}", quoted(&word)));
            }
            Self::WithinOrUsual(..) if value.as_i64() == Some(-1) || value.as_str() == Some("-1") => return None,
            Self::Within(least, greatest) | Self::WithinOrUsual(least, greatest) => (least, greatest),
        };
        let is_within = number(Some(value)).is_some_and(|number| (least..=greatest).contains(&&number));
        (!is_within).then(|| format!("the number must be between {least} and {greatest}"))
    }
}

impl<'r> Findings<'r> {
    pub(super) fn new(report: &'r mut Report, form: &'static Form) -> Self {
        let effectless = |code| matches!(code, "reported-only" | "not-in-keyfiles");
        let reported = report.findings().iter().filter(|f| effectless(f.code)).map(|f| f.path.clone()).collect();
        Self { report, form, reported }
    }

    /// What stands at `path` cannot be said.
    pub(super) fn refuse(&mut self, path: &DocumentPath, reason: &str) {
        let message = format!("cannot be expressed exactly in {}: {reason}", self.form.name);
        self.report.error(self.form.code, path, message);
    }

    pub(super) fn warn(&mut self, code: &'static str, path: &DocumentPath, message: &str) {
        self.report.warning(code, path, message);
    }

    /// Refuses every key of the document that the form cannot say, and every value.
    pub(super) fn refuse_unsupported(&mut self, document: &Mapping, path: &DocumentPath) {
        self.mapping("", document, path);
    }

    fn mapping(&mut self, at: &str, map: &Mapping, path: &DocumentPath) {
        let Some(section) = self.form.sections.iter().find(|section| section.at == at) else { return };
        // What is not there, or off, has no settings in keyfiles either.
        let is_absent = matches!(text(map, "state"), Some("absent" | "ignore"));
        let is_off = matches!(at, "interfaces.*.ipv4" | "interfaces.*.ipv6") && !is_true(map.get("enabled"));
        if is_absent || is_off || (at == "interfaces.*" && !(self.form.takes)(map, path, self)) {
            return;
        }
        for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            let Some(key) = key.as_str() else { continue };
            let path = path.key(key);
            let some = section.some.iter().find(|(name, _)| *name == key);
            if some.is_none() && !section.all.split_whitespace().any(|name| name == key) {
                self.refuse_key(key, &path, section.why);
                continue;
            }
            if let Some(problem) = some.and_then(|(_, values)| values.problem(value)) {
                self.refuse(&path, &problem);
            }
            let at = if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
            self.value(at, value, &path);
        }
    }

    fn value(&mut self, at: String, value: &Value, path: &DocumentPath) {
        match value {
            Value::Mapping(map) => self.mapping(&at, map, path),
            Value::Sequence(list) => {
                let at = at + ".*";
                for (index, map) in
                    list.iter().enumerate().filter_map(|(index, value)| Some((index, value.as_mapping()?)))
                {
                    self.mapping(&at, map, &path.index(index));
                }
            }
            _ => {}
        }
    }

    /// Refuses what gives an interface two MAC addresses: its own and that of another one.
    pub(super) fn refuse_two_macs(&mut self, entries: &[Interface<'_>], topology: &Topology) {
        for entry in entries {
            let (Some(source), Some(own)) = (text(entry.map, "copy-mac-from"), text(entry.map, "mac-address")) else {
                continue;
            };
            let interface = topology.interfaces.iter().find(|interface| interface.path == entry.path);
            let copied = interface.and_then(|interface| interface.mac);
            if copied.is_none() || copied != own.parse().ok() {
                let reason = format!("the MAC address of {} is ambiguous or not known", quoted(source));
                self.refuse(&entry.path.key("copy-mac-from"), &reason);
            }
        }
    }

    /// Refuses a key, unless it has no effect anyway.
    pub(super) fn refuse_key(&mut self, key: &str, path: &DocumentPath, why: &str) {
        if !self.reported.contains(path) {
            let reason = self.form.reasons.iter().find(|(name, _)| *name == key).map_or(why, |(_, reason)| reason);
            self.refuse(path, reason);
        }
    }
}
