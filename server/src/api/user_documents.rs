//! The user's documents in a request: one text, or files with their names.

use std::fmt;

use base64::prelude::*;
use bytes::Bytes;
use hosts::input::Text;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

/// Documents: texts, each with the name of its file where the request says one. They may hold secrets.
#[derive(Clone, Default)]
pub(in crate::api) struct UserDocuments(Vec<NamedBytes>);

#[derive(Clone)]
struct NamedBytes {
    name: Option<String>,
    content: Bytes,
}

/// The user's documents: one text in YAML or JSON, or files, which together are one set of documents.
#[derive(ToSchema)]
#[schema(as = Documents)]
#[serde(untagged)]
#[expect(dead_code, reason = "documents what UserDocuments reads")]
pub(in crate::api) enum DocumentsBody {
    /// `NMState`, or `BareMetalHost`s with their Secrets, or any other of the documents that are read, in YAML or JSON.
    Text(String),
    /// Files: also those that are no YAML, such as NetworkManager's own profiles and the tables of fleets.
    Files(Vec<FileSchema>),
}

/// Documents by themselves, in YAML or JSON: `NMState`, or `BareMetalHost`s with their Secrets, or any other of the documents
/// that are read. Several are separated by lines of `---`.
#[derive(ToSchema)]
#[schema(as = YamlDocuments, value_type = Object, example = json!({
    "interfaces": [{
        "name": "eth0", "type": "ethernet", "state": "up",
        "ipv4": {"enabled": true, "address": [{"ip": "192.0.2.20", "prefix-length": 24}]}
    }]
}))]
#[expect(dead_code, reason = "documents what is read as it is")]
pub(in crate::api) struct YamlDocuments(Vec<u8>);

/// Documents by themselves, whatever they are: what is wrong with them is in the answer.
#[derive(ToSchema)]
#[schema(as = AnyDocuments, value_type = Value)]
#[expect(dead_code, reason = "documents what is read as it is")]
pub(in crate::api) struct AnyDocuments(Vec<u8>);

/// A file, with its content as text or as data.
#[derive(ToSchema)]
#[schema(as = DocumentFile)]
#[serde(untagged)]
#[expect(dead_code, reason = "documents what FileBody reads")]
pub(in crate::api) enum FileSchema {
    /// As text.
    Text(TextFile),
    /// As data.
    Data(DataFile),
}

/// A file whose content is text.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DocumentTextFile)]
#[expect(dead_code, reason = "documents what FileBody reads")]
pub(in crate::api) struct TextFile {
    /// What it is called, with the directories that matter: findings name it, and what ends in `.nmconnection` is a
    /// connection profile of NetworkManager.
    #[schema(example = "worker-0/bond0.nmconnection", min_length = 1)]
    name: String,
    /// Its content.
    text: String,
}

/// A file whose content is not text, or compressed.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DocumentDataFile)]
#[expect(dead_code, reason = "documents what FileBody reads")]
pub(in crate::api) struct DataFile {
    /// What it is called, as for a file whose content is text.
    #[schema(example = "racks.csv.gz", min_length = 1)]
    name: String,
    /// Its content in base64 (RFC 4648 §4), which may be compressed with gzip.
    #[schema(format = Byte)]
    data: String,
}

/// A file, as it comes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileBody {
    name: String,
    #[serde(default, deserialize_with = "present")]
    text: Option<String>,
    #[serde(default, deserialize_with = "present")]
    data: Option<String>,
}

/// A text that is there; `null` is none.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

impl UserDocuments {
    /// What there is to read.
    pub(in crate::api) fn texts(&self) -> impl Iterator<Item = Text<'_>> {
        self.0.iter().map(|NamedBytes { name, content }| Text { name: name.as_deref(), text: content })
    }
}

impl<T: Into<Bytes>> From<T> for UserDocuments {
    /// One text without a name.
    fn from(text: T) -> Self {
        Self(vec![NamedBytes { name: None, content: text.into() }])
    }
}

impl FileBody {
    fn read(self) -> Result<NamedBytes, &'static str> {
        let content = match (self.text, self.data) {
            (Some(text), None) => text.into(),
            (None, Some(data)) => match BASE64_STANDARD.decode(data) {
                Ok(data) => data.into(),
                Err(_) => return Err("the data of a file is not base64 (RFC 4648, with padding)"),
            },
            (None, None) | (Some(_), Some(_)) => return Err("a file has text or data, one of them"),
        };
        if self.name.is_empty() || self.name.chars().any(char::is_control) {
            return Err("the name of a file is empty, or holds control characters");
        }
        Ok(NamedBytes { name: Some(self.name), content })
    }
}

impl<'de> Deserialize<'de> for UserDocuments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = UserDocuments;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a list of files")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<UserDocuments, E> {
                Ok(text.to_owned().into())
            }

            fn visit_string<E: Error>(self, text: String) -> Result<UserDocuments, E> {
                Ok(text.into())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut files: A) -> Result<UserDocuments, A::Error> {
                let mut all = Vec::new();
                while let Some(file) = files.next_element::<FileBody>()? {
                    all.push(file.read().map_err(A::Error::custom)?);
                }
                Ok(UserDocuments(all))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::json;

    #[derive(Deserialize)]
    struct Request {
        documents: UserDocuments,
    }

    #[test]
    fn a_text_has_no_name_and_files_have() {
        let read = |json: &str| -> Vec<(Option<String>, Vec<u8>)> {
            let request: Request = json::read(json.as_bytes()).unwrap();
            request.documents.texts().map(|text| (text.name.map(str::to_owned), text.text.to_vec())).collect()
        };
        assert_eq!(read(r#"{"documents": "a: 1\n"}"#), [(None, b"a: 1\n".to_vec())]);
        let files =
            r#"{"documents": [{"name": "a.yaml", "text": "a: 1"}, {"name": "b/c.nmconnection", "data": "/wA="}]}"#;
        assert_eq!(
            read(files),
            [(Some("a.yaml".into()), b"a: 1".to_vec()), (Some("b/c.nmconnection".into()), vec![0xff, 0])]
        );
    }

    #[test]
    fn what_is_wrong_is_said_without_what_it_holds() {
        for (documents, expected) in [
            ("7", "documents: this should be a text, or a list of files"),
            ("[\"hunter2\"]", "documents[0]: this should be struct FileBody"),
            (r#"[{"name": "a"}]"#, "a file has text or data, one of them"),
            (r#"[{"name": "a", "text": "hunter2", "data": "hunter2"}]"#, "a file has text or data, one of them"),
            (r#"[{"name": "a", "data": "hunter2!"}]"#, "the data of a file is not base64"),
            (r#"[{"name": "\n", "text": "hunter2"}]"#, "the name of a file is empty, or holds control characters"),
            (r#"[{"text": "hunter2"}]"#, "documents[0]: missing field `name`"),
        ] {
            let request = json::read::<Request>(format!("{{\"documents\": {documents}}}").as_bytes());
            let problem = request.map(|_| ()).unwrap_err();
            assert!(problem.detail().contains(expected), "{documents}: {}", problem.detail());
            assert!(!problem.detail().contains("hunter2"), "{}", problem.detail());
        }
    }
}
