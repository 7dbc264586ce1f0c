//! Documents, and the Kubernetes objects among them.

use std::collections::BTreeMap;

use serde_yaml::Mapping;

use super::fields::Fields;
use super::yaml::{Ambiguous, merge_order, octals};
use vocabulary::report::{DocumentPath, Report, Reported};

/// A document, and its place in the user's texts.
pub(super) struct Document {
    pub(super) value: Mapping,
    /// `document 2`, or `document 1: items[3]`.
    pub(super) path: DocumentPath,
    /// What other readers read differently.
    pub(super) ambiguous: Vec<Ambiguous>,
}

impl Document {
    pub(super) fn fields(&self) -> Fields<'_> {
        Fields::new(&self.value, self.path.clone())
    }

    /// Warns of numbers that other readers read differently.
    pub(super) fn check_octals(&self, report: &mut Report) {
        octals::check(&self.value, &self.ambiguous, &self.path, report);
    }

    /// Warns of members to which a merge key behind them gives other values for kubectl and others.
    pub(super) fn check_merges(&self, report: &mut Report) {
        merge_order::check(&self.value, &self.ambiguous, &self.path, report);
    }
}

/// A Kubernetes object with a name.
pub(super) struct Object {
    /// The document. Its path is the object's name: `BareMetalHost/worker-0`, with the namespace if an earlier object has the name in
    /// another namespace.
    pub(super) document: Document,
    /// `metadata.name`: a DNS subdomain, so that it fits into paths and sentences.
    pub(super) name: String,
    /// `metadata.namespace`. Users may leave it to the command that applies the object.
    pub(super) namespace: Option<String>,
}

/// The paths of the objects of an input, each with the namespace of the first object with this kind and name.
#[derive(Default)]
pub(super) struct ObjectPaths(BTreeMap<DocumentPath, Option<String>>);

impl ObjectPaths {
    /// Returns the path of an object. Objects of different namespaces have different paths, so that every finding leads to its own object.
    fn of(&mut self, kind: &str, name: &str, namespace: Option<&str>) -> DocumentPath {
        let object = format!("{kind}/{name}");
        let path = DocumentPath::document(&object);
        match self.0.get(&path) {
            Some(first) if first.as_deref() != namespace => {
                let namespace = namespace.map_or("no namespace".to_owned(), |own| format!("namespace {own}"));
                DocumentPath::document(&format!("{object} ({namespace})"))
            }
            Some(_) => path,
            None => {
                self.0.insert(path.clone(), namespace.map(str::to_owned));
                path
            }
        }
    }
}

impl Object {
    /// Reads the version and the metadata of a document of the kind `kind`.
    pub(super) fn read(
        mut document: Document,
        kind: &str,
        versions: &[&str],
        paths: &mut ObjectPaths,
        report: &mut Report,
    ) -> Result<Self, Reported> {
        let top = document.fields();
        check_version(&top, kind, versions, report)?;
        let Some(metadata) = top.mapping("metadata", report)? else {
            let message = "is missing, and with it the object's name";
            return Err(top.wrong("metadata", "object-name-missing", message, report));
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
        let path = paths.of(kind, &name, namespace.as_deref());
        report.name_document(&path, &top.path);
        document.path = path;
        Ok(Self { document, name, namespace })
    }

    pub(super) fn path(&self) -> &DocumentPath {
        &self.document.path
    }

    pub(super) fn fields(&self) -> Fields<'_> {
        self.document.fields()
    }

    /// Returns the mapping `spec`, which every object that dayone reads must have.
    pub(super) fn spec(&self, report: &mut Report) -> Result<Fields<'_>, Reported> {
        let top = self.fields();
        top.mapping("spec", report)?.ok_or_else(|| top.wrong("spec", "spec-missing", "is missing", report))
    }

    /// Whether an object in `namespace` can refer to this one. An object without a namespace can be in any.
    pub(super) fn is_reachable_from(&self, namespace: Option<&str>) -> bool {
        match (self.namespace.as_deref(), namespace) {
            (Some(own), Some(theirs)) => own == theirs,
            _ => true,
        }
    }
}

/// Checks that a document of the kind `kind` has one of the supported versions.
pub(super) fn check_version(
    top: &Fields<'_>,
    kind: &str,
    versions: &[&str],
    report: &mut Report,
) -> Result<(), Reported> {
    let supported = versions.join(" or ");
    let message = match top.text("apiVersion", report)? {
        Some(found) if versions.contains(&found) => return Ok(()),
        None => format!("is missing; for a {kind} it is {supported}"),
        Some(found) => format!("is {found:?}; for {kind}, dayone reads {supported}"),
    };
    Err(top.wrong("apiVersion", "api-version-not-read", message, report))
}

/// Whether a text is a DNS subdomain (RFC 1123 §2.1) in lower case, as Kubernetes requires it of names.
pub(crate) fn is_object_name(name: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=253).contains(&name.len())
        && name.split('.').all(|label| {
            !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(inner)
        })
}
