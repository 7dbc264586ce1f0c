//! Answers the requests that clients send by the thousand without the machinery that all others need.
//!
//! A BMC that mounts an image sends thousands of requests like this one, and nothing else:
//!
//! ```text
//! GET /i/<token>/boot.iso HTTP/1.1
//! Host: 192.0.2.1
//! Range: bytes=0-65535
//! ```
//!
//! Such a [`DirectRequest`] needs no map of headers, no body and no decision about the connection. [`Conversation`] reads these
//! requests and writes their answers. At the first request that is anything else, it gives the connection to hyper, with the bytes
//! that it has read. hyper therefore still decides everything that is ambiguous or rare, and its answer to a direct request would
//! have the same bytes.

mod conversation;
mod request;
mod rewound;

use bytes::Bytes;
use http::StatusCode;
use http_body::Body;
use http_body_util::Empty;

use super::file_ranges::FileRanges;
use super::peer::Peer;

pub(super) use conversation::{Conversation, Next};
pub use request::DirectRequest;
pub(super) use rewound::Rewound;

/// Who sends a request, and over what.
#[derive(Debug, Clone, Copy)]
pub struct Sender<'a> {
    /// The client.
    pub peer: Peer,
    /// The connection's queue of ranges that the kernel sends by itself, if it has one.
    pub(crate) files: Option<&'a FileRanges>,
}

impl Sender<'_> {
    /// A client over a connection on which every byte is copied.
    pub fn new(peer: Peer) -> Self {
        Self { peer, files: None }
    }
}

/// A direct answer. Its head is complete already.
#[derive(Debug)]
pub struct DirectAnswer<B> {
    /// The status that the head has.
    pub status: StatusCode,
    /// What follows the head. Its length is the head's `Content-Length`.
    pub body: Option<B>,
}

/// What answers direct requests.
pub trait DirectAnswers: Clone + Send + Sync + 'static {
    /// The body of an answer.
    type Body: Body<Data = Bytes> + Unpin + Send;

    /// What is kept between the requests of a connection.
    type Memory: Default + Send;

    /// Appends the head of the answer to `head`, or returns `None`, which gives the request to hyper. Nothing may be recorded of the
    /// request then.
    fn answer(
        &self,
        request: &DirectRequest<'_>,
        sender: Sender<'_>,
        memory: &mut Self::Memory,
        head: &mut Vec<u8>,
    ) -> Option<DirectAnswer<Self::Body>>;
}

/// Answers nothing directly.
impl DirectAnswers for () {
    type Body = Empty<Bytes>;
    type Memory = ();

    fn answer(
        &self,
        _: &DirectRequest<'_>,
        _: Sender<'_>,
        (): &mut (),
        _: &mut Vec<u8>,
    ) -> Option<DirectAnswer<Self::Body>> {
        None
    }
}
