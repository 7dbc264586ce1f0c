//! What a request's body is: a request in JSON of ours, or the user's documents as they are.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

use super::problem::{Problem, ProblemKind};

/// The content types of documents. The last is what curl sends with `--data-binary` if nothing else is said.
const DOCUMENTS: [&str; 5] =
    ["application/yaml", "text/yaml", "application/x-yaml", "text/plain", "application/x-www-form-urlencoded"];

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A request in JSON.
    Request,
    /// The user's documents.
    Documents,
}

/// What the body of a request is, by its content type; JSON is either, and then `documents` says which. A body without
/// a content type is taken for documents, since some clients send none.
pub(super) fn of(headers: &HeaderMap, documents: bool) -> Result<Content, Problem> {
    let media_type = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
    let essence = media_type.map(|value| value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    match essence.as_deref() {
        Some("application/json") => Ok(if documents { Content::Documents } else { Content::Request }),
        None => Ok(Content::Documents),
        Some(essence) if DOCUMENTS.contains(&essence) => Ok(Content::Documents),
        Some(_) => {
            let detail = "send application/json for a request, or application/yaml for documents";
            Err(Problem::new(ProblemKind::UnsupportedMediaType, detail))
        }
    }
}

/// Says of documents that were refused what curl may have done to them: `-d @file` takes the line breaks out.
pub(super) fn hint(problem: Problem, headers: &HeaderMap, documents: &[u8]) -> Problem {
    let form = headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/x-www-form"));
    if problem.kind() == ProblemKind::DocumentsRefused && form && !documents.contains(&b'\n') {
        return problem.with_more("the documents have no line breaks; with curl, use --data-binary, not -d");
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_a_request_or_documents() {
        let content = |media_type: &str, documents| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, media_type.parse().unwrap());
            of(&headers, documents).ok()
        };
        assert_eq!(content("application/json; charset=utf-8", false), Some(Content::Request));
        assert_eq!(content("Application/JSON", true), Some(Content::Documents));
        for media_type in DOCUMENTS {
            assert_eq!(content(media_type, false), Some(Content::Documents));
        }
        assert_eq!(of(&HeaderMap::new(), true).ok(), Some(Content::Documents));
        for media_type in ["multipart/form-data; boundary=x", "application/octet-stream", "", "application/jsonx"] {
            assert_eq!(content(media_type, true), None, "{media_type}");
        }
    }
}
