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

/// A question, with its body as it came. `Q` is what the query says of documents that come by themselves, such as the name
/// of the host.
pub(super) struct Asked<Q> {
    pub(super) headers: HeaderMap,
    content: Content,
    beside: Q,
    pub(super) body: Bytes,
}

impl<Q: Default + PartialEq> Asked<Q> {
    /// Reads a question: documents by themselves with what `beside` takes from the query, or a request in JSON.
    pub(super) async fn receive(
        query: Option<&str>,
        request: Request,
        beside: impl FnOnce(&mut Parameters) -> Result<Q, Problem>,
    ) -> Result<Self, Problem> {
        let given = query;
        let mut query = Parameters::new(given);
        let beside = beside(&mut query)?;
        query.finish()?;
        let (head, body) = request.into_parts();
        let content = content::of(&head.headers, false)?;
        if content == Content::Request && beside != Q::default() {
            let names = Parameters::new(given).names().join(", ");
            let detail =
                format!("{names}: a request in JSON has it in its body; documents in JSON go as application/yaml");
            return Err(Problem::new(ProblemKind::WrongParameter, detail));
        }
        let body = body::read(body).await?;
        Ok(Self { headers: head.headers, content, beside, body })
    }

    /// Bytes of the body.
    pub(super) fn size(&self) -> usize {
        self.body.len()
    }

    /// The documents and what is said beside them; `read` says where in a request they are.
    pub(super) fn understood<R: DeserializeOwned>(
        self,
        read: impl FnOnce(R) -> Result<(UserDocuments, Q), Problem>,
    ) -> Result<(UserDocuments, Q), Problem> {
        match self.content {
            Content::Documents => Ok((self.body.into(), self.beside)),
            Content::Request => read(json::read(&self.body)?),
        }
    }
}
