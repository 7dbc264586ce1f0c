//! The bases in a settings file: `{name, iso}` or `{name, kernel, initrd, …}`, or the text of `--base`.

use vocabulary::report::LineColumn;

use super::similar::nearest;
use super::yaml::{Content, Node};
use crate::store::{BASE_FIELDS, BaseDefinition};

/// Why a base in a file is not valid.
#[derive(Debug)]
pub(super) struct WrongBase {
    pub(super) code: &'static str,
    pub(super) at: LineColumn,
    pub(super) message: String,
    pub(super) fix: String,
}

/// Reads a base.
pub(super) fn read(node: &Node) -> Result<BaseDefinition, WrongBase> {
    let wrong = |code, at, message: String, fix: &str| WrongBase { code, at, message, fix: fix.to_owned() };
    let members = match &node.content {
        Content::Scalar(text) => {
            let parsed = text.parse();
            return parsed
                .map_err(|error: crate::store::DefinitionError| wrong("wrong-base", node.at, error.to_string(), ""));
        }
        Content::Mapping(members) => members,
        Content::Null | Content::List(_) => {
            let fix = "write - name: NAME, and below it iso: PATH";
            return Err(wrong("wrong-type", node.at, "a base needs a name and its files".to_owned(), fix));
        }
    };
    let mut fields = serde_yaml::Mapping::new();
    for (key, value) in members {
        if !BASE_FIELDS.contains(&key.name.as_str()) {
            let near = nearest(&key.name.replace('_', "-"), BASE_FIELDS);
            let fix = match near {
                Some(near) => format!("did you mean {near}?"),
                None => format!("a base can have {}", BASE_FIELDS.join(", ")),
            };
            return Err(wrong("unknown-setting", key.at, format!("a base has no {:?}", key.name), &fix));
        }
        let text = match &value.content {
            Content::Scalar(text) => text.clone(),
            Content::Null => continue,
            Content::List(_) | Content::Mapping(_) => {
                let message = format!("{} of a base needs one value", key.name);
                return Err(wrong("wrong-type", value.at, message, "write a text"));
            }
        };
        if fields.insert(key.name.clone().into(), text.into()).is_some() {
            return Err(wrong("set-twice", key.at, format!("{} is set twice", key.name), "remove one of them"));
        }
    }
    serde_yaml::from_value(fields.into())
        .map_err(|error| wrong("wrong-base", node.at, error.to_string(), "docs/bases.md describes the forms"))
}
