//! What a question about documents is about: the documents, and which of the hosts in them.

use axum::extract::Request;
use bytes::Bytes;
use http::HeaderMap;
use serde::de::DeserializeOwned;

use super::content::{self, Content};
use super::parameters::Parameters;
use super::problem::{Problem, ProblemKind};
use super::user_documents::UserDocuments;
use super::{body, json};

/// A question, with its body as it came.
pub(super) struct Asked {
    pub(super) headers: HeaderMap,
    content: Content,
    /// Beside documents that come by themselves.
    host: Option<String>,
    pub(super) body: Bytes,
}

impl Asked {
    /// Reads a question: documents by themselves with `host` in the query, or a request in JSON.
    pub(super) async fn receive(query: Option<&str>, request: Request) -> Result<Self, Problem> {
        let mut query = Parameters::new(query);
        let host: Option<String> = query.one("host")?;
        query.finish()?;
        let (head, body) = request.into_parts();
        let content = content::of(&head.headers, false)?;
        if content == Content::Request && host.is_some() {
            let detail = "host: a request in JSON has it in its body; documents in JSON go as application/yaml";
            return Err(Problem::new(ProblemKind::WrongParameter, detail));
        }
        let body = body::read(body).await?;
        Ok(Self { headers: head.headers, content, host, body })
    }

    /// Bytes of the body.
    pub(super) fn size(&self) -> usize {
        self.body.len()
    }

    /// The documents and the name of the host; `read` says where in a request they are.
    pub(super) fn understood<R: DeserializeOwned>(
        self,
        read: impl FnOnce(R) -> Result<(UserDocuments, Option<String>), Problem>,
    ) -> Result<(UserDocuments, Option<String>), Problem> {
        match self.content {
            Content::Documents => Ok((self.body.into(), self.host)),
            Content::Request => read(json::read(&self.body)?),
        }
    }
}
