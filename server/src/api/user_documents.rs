//! The user's documents in a request: one text, or files with their names.

use std::fmt;

use base64::prelude::*;
use bytes::Bytes;
use hosts::input::Text;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::problem::{Problem, ProblemKind};

/// How long the name of a file may be, in bytes. Each finding and each row of a table repeats it.
const MAX_NAME_BYTES: usize = 1024;

/// Documents, each with the name of its file if the request has one. They may hold secrets.
#[derive(Clone, Default)]
pub(in crate::api) struct UserDocuments(Vec<NamedBytes>);

#[derive(Clone)]
struct NamedBytes {
    name: Option<String>,
    content: Bytes,
}

/// The user's documents: one text in YAML or JSON, or files, which are one set of documents.
#[derive(ToSchema)]
#[schema(as = Documents)]
#[serde(untagged)]
#[expect(dead_code, reason = "documents what UserDocuments reads")]
pub(in crate::api) enum DocumentsBody {
    /// `NMState`, or `BareMetalHost`s with their Secrets, or any other supported documents, in YAML or JSON.
    Text(String),
    /// Files; they may also be NetworkManager's own profiles or tables of fleets, which are not YAML.
    Files(Vec<FileSchema>),
}

/// Documents in YAML or JSON: `NMState`, or `BareMetalHost`s with their Secrets, or any other supported documents. Separate
/// several documents by lines of `---`.
#[derive(ToSchema)]
#[schema(
    as = YamlDocuments,
    value_type = String,
    format = Binary,
    example = "interfaces:\n- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}\n"
)]
#[expect(dead_code, reason = "describes a body that is read unchanged")]
pub(in crate::api) struct YamlDocuments(Vec<u8>);

/// Documents of any kind. If they have mistakes, the answer has findings.
#[derive(ToSchema)]
#[schema(as = AnyDocuments, value_type = String, format = Binary)]
#[expect(dead_code, reason = "describes a body that is read unchanged")]
pub(in crate::api) struct AnyDocuments(Vec<u8>);

/// An Excel workbook (.xlsx) with a table of hosts, and a sheet `HostFleet` with the document of the fleet.
#[derive(ToSchema)]
#[schema(as = WorkbookDocuments, value_type = String, format = Binary)]
#[expect(dead_code, reason = "describes a body that is read unchanged")]
pub(in crate::api) struct WorkbookDocuments(Vec<u8>);

/// A file, with its content as text or as data.
#[derive(ToSchema)]
#[schema(as = DocumentFile)]
#[serde(untagged)]
#[expect(dead_code, reason = "documents what FileBody reads")]
pub(in crate::api) enum FileSchema {
    /// With text.
    Text(TextFile),
    /// With data.
    Data(DataFile),
}

/// A file whose content is text.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DocumentTextFile)]
#[expect(dead_code, reason = "documents what FileBody reads")]
pub(in crate::api) struct TextFile {
    /// The file name, with the directories that matter. Findings have it, and a name that ends in `.nmconnection` is the name of
    /// a connection profile of NetworkManager.
    #[schema(example = "worker-0/bond0.nmconnection", min_length = 1)]
    name: String,
    /// The content.
    text: String,
}

/// A file whose content is compressed, or not text.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DocumentDataFile)]
#[expect(dead_code, reason = "documents what FileBody reads")]
pub(in crate::api) struct DataFile {
    /// The file name, as for a file whose content is text.
    #[schema(example = "racks.csv.gz", min_length = 1)]
    name: String,
    /// The content in base64 (RFC 4648 §4); it may be compressed with gzip.
    #[schema(format = Byte)]
    data: String,
}

/// A file in a request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileBody {
    name: String,
    #[serde(default, deserialize_with = "present")]
    text: Option<String>,
    #[serde(default, deserialize_with = "present")]
    data: Option<String>,
}

/// Reads a text. `null` is not a text, unlike with `Option`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

impl UserDocuments {
    /// Returns the documents of a request that may have either `documents` or `nmstate`.
    pub(in crate::api) fn either(
        documents: Option<Self>,
        nmstate: Option<Box<RawValue>>,
    ) -> Result<Option<Self>, Problem> {
        match (documents, nmstate) {
            (documents, None) => Ok(documents),
            (None, Some(nmstate)) => Ok(Some(String::from(Box::<str>::from(nmstate)).into())),
            (Some(_), Some(_)) => {
                let detail = "the request has both documents and nmstate; give one of them";
                Err(Problem::new(ProblemKind::MalformedRequest, detail))
            }
        }
    }

    /// Makes documents of an Excel workbook.
    pub(in crate::api) fn workbook(content: Bytes) -> Self {
        Self(vec![NamedBytes { name: Some("workbook.xlsx".to_owned()), content }])
    }

    /// Returns how many bytes dayone has to convert, as far as that can be told without reading the documents.
    pub(in crate::api) fn amount(&self) -> usize {
        hosts::input::amount(self.texts())
    }

    /// Returns the texts of the documents.
    pub(in crate::api) fn texts(&self) -> impl Iterator<Item = Text<'_>> {
        self.0.iter().map(|NamedBytes { name, content }| Text { name: name.as_deref(), text: content })
    }
}

impl<T: Into<Bytes>> From<T> for UserDocuments {
    /// Makes documents of one text without a name.
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
            (None, None) | (Some(_), Some(_)) => return Err("a file has either text or data"),
        };
        if self.name.is_empty() || self.name.chars().any(char::is_control) {
            return Err("the name of a file is empty or has control characters");
        }
        if self.name.len() > MAX_NAME_BYTES {
            return Err("the name of a file has more than 1024 bytes");
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
    use imagelib::compression::Compression;

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
    fn files_count_with_what_they_unpack_to() {
        let packed = BASE64_STANDARD.encode(Compression::Gzip.compress(&b"# nothing\n".repeat(10_000)).unwrap());
        let files = format!(
            r##"{{"documents": [{{"name": "a.yaml", "text": "# a"}}, {{"name": "b.yaml.gz", "data": "{packed}"}}]}}"##
        );
        assert!(files.len() < 10_000);
        let request: Request = json::read(files.as_bytes()).unwrap();
        assert_eq!(request.documents.amount(), 100_003);
    }

    #[test]
    fn the_name_of_a_file_is_not_long() {
        for (length, expected) in [(MAX_NAME_BYTES, true), (MAX_NAME_BYTES + 1, false)] {
            let name = "a".repeat(length);
            let request = format!(r#"{{"documents": [{{"name": "{name}", "text": ""}}]}}"#);
            let read: Result<Request, Problem> = json::read(request.as_bytes());
            assert_eq!(read.is_ok(), expected, "{length}");
        }
    }

    #[test]
    fn errors_do_not_quote_the_content() {
        for (documents, expected) in [
            ("7", "documents: this should be a text, or a list of files"),
            ("[\"hunter2\"]", "documents[0]: this should be an object"),
            (r#"[{"name": "a"}]"#, "a file has either text or data"),
            (r#"[{"name": "a", "text": "hunter2", "data": "hunter2"}]"#, "a file has either text or data"),
            (r#"[{"name": "a", "data": "hunter2!"}]"#, "the data of a file is not base64"),
            (r#"[{"name": "\n", "text": "hunter2"}]"#, "the name of a file is empty or has control characters"),
            (r#"[{"text": "hunter2"}]"#, "documents[0]: missing field `name`"),
        ] {
            let request = json::read::<Request>(format!("{{\"documents\": {documents}}}").as_bytes());
            let problem = request.map(|_| ()).unwrap_err();
            assert!(problem.detail().contains(expected), "{documents}: {}", problem.detail());
            assert!(!problem.detail().contains("hunter2"), "{}", problem.detail());
        }
    }
}
