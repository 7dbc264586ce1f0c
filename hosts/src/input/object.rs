//! A Kubernetes object: what all of them have, and their members by type.

use std::str::FromStr;

use serde_yaml::{Mapping, Value};

use super::document::Document;
use super::flaw::{self, Reported, wrong_type};
use super::octals::{self, Octal};
use super::yaml;
use vocabulary::host::HostError;
use vocabulary::report::{DocumentPath, Report};

/// An object with a name. Its namespace may be left to whoever applies it.
pub(super) struct Object {
    value: Mapping,
    /// `metadata.name`: a DNS subdomain, so that it can stand in a path and in a sentence.
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// `BareMetalHost/worker-0`.
    pub(super) path: DocumentPath,
    octals: Vec<Octal>,
}

impl Object {
    /// Reads the version and the metadata of a document of the kind `kind`.
    pub(super) fn read(
        document: Document,
        kind: &str,
        versions: &[&str],
        report: &mut Report,
    ) -> Result<Self, Reported> {
        let Document { value, position, octals } = document;
        let top = Fields::new(&value, position);
        check_version(&top, kind, versions, report)?;
        let Some(metadata) = top.mapping("metadata", report)? else {
            return Err(top.wrong(
                "metadata",
                "object-name-missing",
                "is missing, and with it the object's name",
                report,
            ));
        };
        let Some(name) = metadata.text("name", report)? else {
            return Err(metadata.wrong("name", "object-name-missing", "is missing", report));
        };
        if !is_object_name(name) {
            let message = format!("is not a valid object name: {name:?} (a-z, 0-9, '-' and '.', 253 at most)");
            return Err(metadata.wrong("name", "object-name-invalid", message, report));
        }
        let namespace = metadata.text("namespace", report)?;
        if let Some(namespace) = namespace.filter(|namespace| !is_object_name(namespace)) {
            let message = format!("is not a valid namespace name: {namespace:?}");
            return Err(metadata.wrong("namespace", "object-name-invalid", message, report));
        }
        let (name, namespace) = (name.to_owned(), namespace.map(ToOwned::to_owned));
        let path = DocumentPath::document(&format!("{kind}/{name}"));
        report.name_place(&path, &top.path);
        Ok(Self { value, name, namespace, path, octals })
    }

    /// Reports the numbers that other readers take for others.
    pub(super) fn check_octals(&self, report: &mut Report) {
        octals::check(&self.value, &self.octals, &self.path, report);
    }

    /// The object's members.
    pub(super) fn fields(&self) -> Fields<'_> {
        Fields::new(&self.value, self.path.clone())
    }

    /// Whether an object that names no other namespace than `namespace` can mean this one. An unnamed namespace is
    /// whichever the objects are applied in.
    pub(super) fn is_reachable_from(&self, namespace: Option<&str>) -> bool {
        match (self.namespace.as_deref(), namespace) {
            (Some(own), Some(theirs)) => own == theirs,
            _ => true,
        }
    }
}

/// Whether a document of the kind `kind` is of one of the versions that are read. They are one shape.
pub(super) fn check_version(
    top: &Fields<'_>,
    kind: &str,
    versions: &[&str],
    report: &mut Report,
) -> Result<(), Reported> {
    let read = versions.join(" or ");
    let message = match top.text("apiVersion", report)? {
        Some(found) if versions.contains(&found) => return Ok(()),
        None => format!("is missing; for a {kind} it is {read}"),
        Some(found) => format!("is {found:?}; for {kind}, dayone reads {read}"),
    };
    Err(top.wrong("apiVersion", "api-version-not-read", message, report))
}

/// RFC 1123 §2.1 in the lower case that Kubernetes demands of names.
pub(crate) fn is_object_name(name: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=253).contains(&name.len())
        && name.split('.').all(|label| {
            !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(inner)
        })
}

/// A mapping and where it stands; its members by type. As in Kubernetes, null and an empty text are absence.
pub(super) struct Fields<'a> {
    pub(super) mapping: &'a Mapping,
    pub(super) path: DocumentPath,
}

impl<'a> Fields<'a> {
    /// The longest text that [`Fields::text`] takes: all that it reads are names.
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
        report.error(code, &self.path.key(key), message);
        Reported
    }

    fn wrong_type(&self, key: &str, value: &Value, wanted: &str, report: &mut Report) -> Reported {
        let (code, message) = wrong_type(value, wanted);
        self.wrong(key, code, message, report)
    }

    /// The short text at `key`.
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

    /// The short text at `key`, which has to be there: `what` it says.
    pub(super) fn required_text(&self, key: &str, what: &str, report: &mut Report) -> Result<&'a str, Reported> {
        match self.text(key, report)? {
            Some(text) => Ok(text),
            None => Err(self.wrong(key, "member-missing", format!("is missing: write {what}"), report)),
        }
    }

    /// What the short text at `key` means.
    pub(super) fn parsed<T: FromStr<Err = HostError>>(
        &self,
        key: &str,
        report: &mut Report,
    ) -> Result<Option<T>, Reported> {
        let Some(text) = self.text(key, report)? else { return Ok(None) };
        text.parse().map(Some).map_err(|error: HostError| self.wrong(key, "invalid-value", error.to_string(), report))
    }

    /// The boolean at `key`. kubectl and `OpenShift`'s installer read YAML 1.1, to which `yes` is one.
    pub(super) fn boolean(&self, key: &str, report: &mut Report) -> Result<Option<bool>, Reported> {
        match self.mapping.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => match other.as_str().and_then(yaml::old_boolean) {
                Some(value) => Ok(Some(value)),
                None => Err(self.wrong_type(key, other, "true or false", report)),
            },
        }
    }

    /// The mapping at `key`.
    pub(super) fn mapping(&self, key: &str, report: &mut Report) -> Result<Option<Fields<'a>>, Reported> {
        match self.mapping.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Mapping(mapping)) => Ok(Some(Fields::new(mapping, self.path.key(key)))),
            Some(other) => Err(self.wrong_type(key, other, "a mapping", report)),
        }
    }

    /// The mapping at `key`, which is passed on as it stands.
    pub(super) fn whole_mapping(&self, key: &str, report: &mut Report) -> Result<Option<Fields<'a>>, Reported> {
        let found = self.mapping(key, report)?;
        if let Some(fields) = &found {
            flaw::report_members(fields.mapping, &fields.path, report)?;
        }
        Ok(found)
    }

    /// The list at `key`, each element with its place; empty where there is none.
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

    /// The mappings in the list at `key`. What is none is reported, and the others are read.
    pub(super) fn mappings(&self, key: &str, report: &mut Report) -> Result<Vec<Fields<'a>>, Reported> {
        let mut all = Vec::new();
        for (item, path) in self.list(key, report)? {
            match item {
                Value::Mapping(mapping) => all.push(Fields::new(mapping, path)),
                other => report_wrong_type(other, &path, "a mapping", report),
            }
        }
        Ok(all)
    }

    /// The texts in the list at `key`, each with its place.
    pub(super) fn texts(&self, key: &str, report: &mut Report) -> Result<Vec<(&'a str, DocumentPath)>, Reported> {
        let mut all = Vec::new();
        for (item, path) in self.list(key, report)? {
            match item {
                Value::String(text) => all.push((text.as_str(), path)),
                other => report_wrong_type(other, &path, "a text", report),
            }
        }
        Ok(all)
    }
}

/// Reports that something else stands at `path` than belongs there.
pub(super) fn report_wrong_type(value: &Value, path: &DocumentPath, wanted: &str, report: &mut Report) {
    let (code, message) = wrong_type(value, wanted);
    report.error(code, path, message);
}
