//! The documents in a text: a YAML stream, a JSON list or a Kubernetes `List`.

use serde_yaml::{Mapping, Value};

use super::document::Document;
use super::shapes::recognize::{self, Shape};
use super::text::{Text, is_workbook};
use super::yaml::invalid::{self, InvalidValue, kind_of};
use super::yaml::{self, Ambiguous, Budget, Problem};
use vocabulary::report::{DocumentPath, Report, Reported};

/// Reads the documents in `text`, with lists split into their items. It reports what is not a mapping, and leaves it out.
pub(super) fn documents(text: &Text<'_>, budget: &mut Budget, report: &mut Report) -> Result<Vec<Document>, Problem> {
    let content = text.content(budget)?;
    if is_workbook(&content) {
        let message = "is a spreadsheet or another packed file, and has no name that ends in .xlsx or .xlsm; save a table as \
                       .xlsx or .csv";
        return Err(Problem::new("fleet-workbook", message));
    }
    let values = yaml::documents(&content, budget)?;
    let mut documents = Vec::new();
    for (index, document) in values.into_iter().enumerate() {
        split(document, text.document(index + 1), &mut documents, budget, report)?;
    }
    // The only document of a text needs no number. Objects have names of their own.
    if let [Document { value, path, .. }] = documents.as_mut_slice()
        && matches!(
            recognize::shape(value),
            Ok(Shape::Nmstate | Shape::NetworkData | Shape::Inventory | Shape::InstallConfig)
        )
    {
        report.name_document(&text.top(), path);
        *path = text.top();
    }
    Ok(documents)
}

fn split(
    yaml::Document { value, ambiguous }: yaml::Document,
    path: DocumentPath,
    documents: &mut Vec<Document>,
    budget: &mut Budget,
    report: &mut Report,
) -> Result<(), Problem> {
    match value {
        // Otherwise the items of the list would disappear without a finding.
        Value::Mapping(mapping) if is_list(&mapping) && mapping.get("items").and_then(InvalidValue::of).is_some() => {
            let items = mapping.get("items").unwrap_or(&Value::Null);
            let _: Result<(), Reported> = invalid::check(items, &path.key("items"), report);
        }
        Value::Mapping(mut mapping) => match item_kind(&mapping) {
            Some(kind) => {
                let api_version = mapping.get("apiVersion").cloned().unwrap_or_default();
                let (is_typed, kind) = (!kind.is_empty(), Value::from(kind));
                let items = path.key("items");
                let mut ambiguous = Ambiguous::by_element(ambiguous, &["items"]);
                for (index, mut item) in sequence(mapping.remove("items")).into_iter().enumerate() {
                    // The items of a typed list from the API do not repeat their kind and version.
                    if let (Some(item), true) = (item.as_mapping_mut(), is_typed) {
                        inherit(item, "kind", &kind, budget)?;
                        inherit(item, "apiVersion", &api_version, budget)?;
                    }
                    let ambiguous = ambiguous.remove(&index).unwrap_or_default();
                    let item = yaml::Document { value: item, ambiguous };
                    split(item, items.index(index).embedded_document(), documents, budget, report)?;
                }
            }
            None => documents.push(Document { value: mapping, path, ambiguous }),
        },
        Value::Sequence(items) => {
            let mut ambiguous = Ambiguous::by_element(ambiguous, &[]);
            for (index, item) in items.into_iter().enumerate() {
                let ambiguous = ambiguous.remove(&index).unwrap_or_default();
                let item = yaml::Document { value: item, ambiguous };
                split(item, path.index(index).embedded_document(), documents, budget, report)?;
            }
        }
        Value::Null => {}
        marked @ Value::Tagged(_) => {
            let _: Result<(), Reported> = invalid::check(&marked, &path, report);
        }
        other => {
            let message = format!("is {}; a document is a mapping", kind_of(&other));
            report.error("document-not-mapping", &path, message);
        }
    }
    let most = budget.limits().documents;
    if documents.len() + report.findings().len() > most {
        return Err(Problem::new("input-too-large", format!("contains more than {most} documents")));
    }
    Ok(())
}

/// Gives an item of a list a member of the list, if it lacks that. A list may have thousands of items, and the member megabytes.
fn inherit(item: &mut Mapping, key: &str, value: &Value, budget: &mut Budget) -> Result<(), Problem> {
    if !item.contains_key(key) {
        budget.take_copies(yaml::size_of(value))?;
        item.insert(key.into(), value.clone());
    }
    Ok(())
}

/// Whether the kind is a list's, as Kubernetes names them.
fn is_list(mapping: &Mapping) -> bool {
    mapping.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"))
}

/// Returns the default kind of the items of a Kubernetes list: empty for `List` itself.
fn item_kind(mapping: &Mapping) -> Option<String> {
    let kind = mapping.get("kind")?.as_str()?.strip_suffix("List")?;
    mapping.get("items").is_some_and(|items| items.is_sequence() || items.is_null()).then(|| kind.to_owned())
}

fn sequence(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Sequence(items)) => items,
        _ => Vec::new(),
    }
}
