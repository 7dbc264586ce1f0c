//! The documents in a text: of a YAML stream, of a JSON list, of a Kubernetes `List`.

use serde_yaml::{Mapping, Value};

use super::document::Document;
use super::flaw::{self, Flaw, Reported, kind_of};
use super::shape::{self, Shape};
use super::text::Text;
use super::yaml::{self, Budget, Problem};
use vocabulary::report::{DocumentPath, Report};

/// The documents in `text`, lists taken apart. What is no mapping is reported and left out.
pub(super) fn documents(text: &Text<'_>, budget: &mut Budget, report: &mut Report) -> Result<Vec<Document>, Problem> {
    let values = yaml::documents(&text.content(budget)?, budget)?;
    let mut documents = Vec::new();
    for (index, document) in values.into_iter().enumerate() {
        take_apart(document, text.document(index + 1), &mut documents, budget.limits().documents, report)?;
    }
    // A document that has its text to itself needs no number, unless it has a name of its own.
    if let [Document { value, position, .. }] = documents.as_mut_slice()
        && matches!(shape::of(value), Ok(Shape::Nmstate | Shape::NetworkData | Shape::Inventory | Shape::InstallConfig))
    {
        report.name_place(&text.top(), position);
        *position = text.top();
    }
    Ok(documents)
}

fn take_apart(
    yaml::Document { value, octals }: yaml::Document,
    position: DocumentPath,
    documents: &mut Vec<Document>,
    most: usize,
    report: &mut Report,
) -> Result<(), Problem> {
    match value {
        // What the list holds would be left out without a word.
        Value::Mapping(mapping) if is_list(&mapping) && mapping.get("items").and_then(Flaw::of).is_some() => {
            let items = mapping.get("items").unwrap_or(&Value::Null);
            let _: Result<(), Reported> = flaw::report(items, &position.key("items"), report);
        }
        Value::Mapping(mut mapping) => match item_kind(&mapping) {
            Some(kind) => {
                let api_version = mapping.get("apiVersion").cloned();
                let items = position.key("items");
                for (index, mut item) in sequence(mapping.remove("items")).into_iter().enumerate() {
                    // The items of a typed list from the API itself do not repeat what they are.
                    if let (Some(item), false) = (item.as_mapping_mut(), kind.is_empty()) {
                        item.entry("kind".into()).or_insert_with(|| kind.as_str().into());
                        item.entry("apiVersion".into()).or_insert_with(|| api_version.clone().unwrap_or_default());
                    }
                    let octals = octals.iter().filter_map(|octal| octal.inside(&["items"], index)).collect();
                    let item = yaml::Document { value: item, octals };
                    take_apart(item, items.index(index).embedded_document(), documents, most, report)?;
                }
            }
            None => documents.push(Document { value: mapping, position, octals }),
        },
        Value::Sequence(items) => {
            for (index, item) in items.into_iter().enumerate() {
                let octals = octals.iter().filter_map(|octal| octal.inside(&[], index)).collect();
                let item = yaml::Document { value: item, octals };
                take_apart(item, position.index(index).embedded_document(), documents, most, report)?;
            }
        }
        Value::Null => {}
        flawed @ Value::Tagged(_) => {
            let _: Result<(), Reported> = flaw::report(&flawed, &position, report);
        }
        other => {
            let message = format!("is {}; a document is a mapping", kind_of(&other));
            report.error("document-not-mapping", &position, message);
        }
    }
    if documents.len() + report.findings().len() > most {
        return Err(Problem::new("input-too-large", format!("contains more than {most} documents")));
    }
    Ok(())
}

/// Whether its kind is that of a list, as Kubernetes names them.
fn is_list(mapping: &Mapping) -> bool {
    mapping.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"))
}

/// For a Kubernetes list, the kind that its items have if they do not say: empty for `List` itself.
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
