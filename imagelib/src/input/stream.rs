//! The documents in a text: of a YAML stream, of a JSON list, of a Kubernetes `List`.

use serde_yaml::{Mapping, Value};

use super::Text;
use super::yaml::{self, Budget, Problem};
use crate::report::{DocumentPath, Report};

/// The longest text that is read: a thousand hosts with their Secrets, at 4 KB each.
const MAX_BYTES: usize = 4 << 20;
/// How many documents are read. A host with its Secrets is three.
const MAX_DOCUMENTS: usize = 20_000;

/// A document and where it stands.
pub(super) struct Document {
    pub(super) value: Mapping,
    /// `document 2`, `document 1: items[3]`.
    pub(super) position: DocumentPath,
}

/// The documents in `text`, lists taken apart. What is no mapping is reported and left out.
pub(super) fn documents(text: &Text<'_>, budget: &mut Budget, report: &mut Report) -> Result<Vec<Document>, Problem> {
    if text.text.len() > MAX_BYTES {
        let message = format!("is {} bytes long; at most {MAX_BYTES} are read", text.text.len());
        return Err(Problem::new("input-too-large", message));
    }
    let values = yaml::documents(text.text, budget)?;
    let mut documents = Vec::new();
    for (index, value) in values.into_iter().enumerate() {
        take_apart(value, text.document(index + 1), &mut documents, report)?;
    }
    Ok(documents)
}

fn take_apart(
    value: Value,
    position: DocumentPath,
    documents: &mut Vec<Document>,
    report: &mut Report,
) -> Result<(), Problem> {
    match value {
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
                    take_apart(item, items.index(index).embedded_document(), documents, report)?;
                }
            }
            None => documents.push(Document { value: mapping, position }),
        },
        Value::Sequence(items) => {
            for (index, item) in items.into_iter().enumerate() {
                take_apart(item, position.index(index).embedded_document(), documents, report)?;
            }
        }
        Value::Null => {}
        other => {
            let message = format!("is {}; a document is a mapping", kind_of(&other));
            report.error("document-not-mapping", &position, message);
        }
    }
    if documents.len() + report.findings().len() > MAX_DOCUMENTS {
        return Err(Problem::new("input-too-large", format!("holds more than {MAX_DOCUMENTS} documents")));
    }
    Ok(())
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

/// What sort of value it is, in the words of a sentence.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "true or false without quotes",
        Value::Number(_) => "a number without quotes",
        Value::String(_) => "a text",
        Value::Sequence(_) => "a list",
        Value::Mapping(_) => "a mapping",
        Value::Tagged(_) => "a value with a tag",
    }
}
