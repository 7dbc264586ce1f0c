//! The members of mappings, by type.

use std::str::FromStr;

use serde_yaml::{Mapping, Value};

use super::yaml;
use super::yaml::invalid::{self, wrong_type};
use vocabulary::host::{HostError, NmstateDocument};
use vocabulary::report::{DocumentPath, Report, Reported};

/// A fact, with its place in the documents.
pub(super) type Placed<T> = Option<(T, DocumentPath)>;

/// A mapping and its path. As in Kubernetes, null and an empty text mean that a member is absent.
pub(super) struct Fields<'a> {
    pub(super) mapping: &'a Mapping,
    pub(super) path: DocumentPath,
}

impl<'a> Fields<'a> {
    /// The longest text that [`Fields::text`] accepts. All these texts are names.
    const TEXT: usize = 253;

    pub(super) fn new(mapping: &'a Mapping, path: DocumentPath) -> Self {
        Self { mapping, path }
    }

    /// Reports an error about the member `key`.
    pub(super) fn wrong(
        &self,
        key: &str,
        code: &'static str,
        message: impl Into<String>,
        report: &mut Report,
    ) -> Reported {
        report.refuse(code, &self.path.key(key), message)
    }

    fn wrong_type(&self, key: &str, value: &Value, wanted: &str, report: &mut Report) -> Reported {
        refuse_type(value, &self.path.key(key), wanted, report)
    }

    /// Adds the path of the member `key` to its value.
    pub(super) fn placed<T>(&self, key: &str, value: Option<T>) -> Placed<T> {
        value.map(|value| (value, self.path.key(key)))
    }

    /// Returns the short text at `key`.
    pub(super) fn text(&self, key: &str, report: &mut Report) -> Result<Option<&'a str>, Reported> {
        match self.mapping.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) if text.len() > Self::TEXT => {
                let message = format!("is {} bytes long; at most {} are allowed", text.len(), Self::TEXT);
                Err(self.wrong(key, "text-too-long", message, report))
            }
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong_type(key, other, "a text", report)),
        }
    }

    /// Returns the short text at `key` of the mapping at `outer`, such as `metadata.name`.
    pub(super) fn text_in(&self, outer: &str, key: &str, report: &mut Report) -> Result<Option<&'a str>, Reported> {
        self.mapping(outer, report)?.map_or(Ok(None), |inner| inner.text(key, report))
    }

    /// Returns the short text at `key`. If it is missing, the error says what belongs there.
    pub(super) fn required_text(&self, key: &str, what: &str, report: &mut Report) -> Result<&'a str, Reported> {
        let text = self.text(key, report)?;
        text.ok_or_else(|| self.wrong(key, "member-missing", format!("is missing: {what}"), report))
    }

    /// Parses the short text at `key`.
    pub(super) fn parsed<T: FromStr<Err = HostError>>(
        &self,
        key: &str,
        report: &mut Report,
    ) -> Result<Option<T>, Reported> {
        let Some(text) = self.text(key, report)? else { return Ok(None) };
        text.parse().map(Some).map_err(|error: HostError| self.wrong(key, "invalid-value", error.to_string(), report))
    }

    /// Returns the boolean at `key`. kubectl and `OpenShift`'s installer read YAML 1.1, in which `yes` is one.
    pub(super) fn boolean(&self, key: &str, report: &mut Report) -> Result<Option<bool>, Reported> {
        match self.mapping.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(other) => match boolean(other) {
                Some(value) => Ok(Some(value)),
                None => Err(self.wrong_type(key, other, "true or false", report)),
            },
        }
    }

    /// Returns the mapping at `key`.
    pub(super) fn mapping(&self, key: &str, report: &mut Report) -> Result<Option<Fields<'a>>, Reported> {
        match self.mapping.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Mapping(mapping)) => Ok(Some(Fields::new(mapping, self.path.key(key)))),
            Some(other) => Err(self.wrong_type(key, other, "a mapping", report)),
        }
    }

    /// Returns the mapping at `key`, checked as a whole because it will be passed on unchanged.
    pub(super) fn whole_mapping(&self, key: &str, report: &mut Report) -> Result<Option<Fields<'a>>, Reported> {
        let found = self.mapping(key, report)?;
        if let Some(fields) = &found {
            invalid::check_members(fields.mapping, &fields.path, report)?;
        }
        Ok(found)
    }

    /// Returns the NMState at `key`.
    pub(super) fn nmstate(&self, key: &str, report: &mut Report) -> Result<Option<NmstateDocument>, Reported> {
        let found = self.whole_mapping(key, report)?;
        Ok(found.map(|fields| NmstateDocument::new(Value::Mapping(fields.mapping.clone()), fields.path)))
    }

    /// Returns the elements of the list at `key`, each with its path.
    fn list(&self, key: &str, report: &mut Report) -> Result<Vec<(&'a Value, DocumentPath)>, Reported> {
        match self.mapping.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Sequence(items)) => {
                let path = self.path.key(key);
                Ok(items.iter().enumerate().map(|(index, item)| (item, path.index(index))).collect())
            }
            Some(other) => Err(self.wrong_type(key, other, "a list", report)),
        }
    }

    /// Returns the mappings in the list at `key`. Other elements are reported and left out.
    pub(super) fn mappings(&self, key: &str, report: &mut Report) -> Result<Vec<Fields<'a>>, Reported> {
        let mut all = Vec::new();
        for (item, path) in self.list(key, report)? {
            match item {
                Value::Mapping(mapping) => all.push(Fields::new(mapping, path)),
                other => {
                    refuse_type(other, &path, "a mapping", report);
                }
            }
        }
        Ok(all)
    }

    /// Returns the texts in the list at `key`, each with its path. Other elements are reported and left out.
    pub(super) fn texts(&self, key: &str, report: &mut Report) -> Result<Vec<(&'a str, DocumentPath)>, Reported> {
        let mut all = Vec::new();
        for (item, path) in self.list(key, report)? {
            match item {
                Value::String(text) => all.push((text.as_str(), path)),
                other => {
                    refuse_type(other, &path, "a text", report);
                }
            }
        }
        Ok(all)
    }
}

/// Returns the boolean that a value is in YAML 1.1 or 1.2.
pub(super) fn boolean(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| value.as_str().and_then(yaml::old_boolean))
}

/// Reports that `value` is at `path` instead of `wanted`.
pub(super) fn refuse_type(value: &Value, path: &DocumentPath, wanted: &str, report: &mut Report) -> Reported {
    let (code, message) = wrong_type(value, wanted);
    report.refuse(code, path, message)
}
