//! Why a file of a base cannot be fetched.

use std::io;

use imagelib::base::Packed;
use imagelib::digest::Digest;

use super::allowed::NotAllowed;
use super::openpgp::SignatureError;

/// Why a file of a base cannot be fetched. The texts are for those who ordered it.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The server may not fetch it.
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// The other server does not answer, or not as it should, also after several attempts.
    #[error("{0}")]
    Unreachable(String),
    /// The other server refuses the request.
    #[error("the server of {url} answers {status}")]
    Status {
        /// Where the file should be, without a query.
        url: String,
        /// The answer.
        status: reqwest::StatusCode,
    },
    /// The file cannot be read, or changes meanwhile.
    #[error("{0}")]
    Source(String),
    /// The file is larger than dayone accepts.
    #[error("the file is larger than {limit} bytes, the limit for a file of a base")]
    TooLarge {
        /// How large it may be.
        limit: u64,
    },
    /// A signature, or a publisher's list, is larger than any.
    #[error("{url} has more than {limit} bytes, and no signature and no list of a publisher has: check the URL")]
    SmallTooLarge {
        /// Where it is, without a query.
        url: String,
        /// How large it may be.
        limit: u64,
    },
    /// The file is the image of a disk in a format of virtual machines.
    #[error(transparent)]
    Packed(Packed),
    /// There is not enough room.
    #[error(
        "there is no room for the file: it needs {needed} more bytes, and {available} are free, of which {reserve} stay free for \
         the records of images; make room and try again"
    )]
    NoSpace {
        /// How many bytes are still to come.
        needed: u64,
        /// How many are free.
        available: u64,
        /// How many of them stay free.
        reserve: u64,
    },
    /// The file cannot be written.
    #[error("cannot write the file: {0}")]
    Storage(#[source] io::Error),
    /// The file has another digest.
    #[error(
        "its SHA-256 is {found}, and should be {expected}: it is another file, or a damaged one; it has {length} bytes"
    )]
    Digest {
        /// What it should be.
        expected: Digest,
        /// What it is.
        found: Digest,
        /// How many bytes the file has.
        length: u64,
    },
    /// The bytes are not the published ones, and the server named an encoding.
    #[error(
        "{error}; the server sent it with {encoding} (Content-Encoding), so it may have compressed the file by itself"
    )]
    Encoded {
        /// The encoding.
        encoding: String,
        /// Why the bytes are wrong.
        error: Box<FetchError>,
    },
    /// The bytes are not the published ones, and the server named a media type, which may be that of a web page.
    #[error("{error}; the server sent it as {media_type} (Content-Type)")]
    Typed {
        /// The media type.
        media_type: String,
        /// Why the bytes are wrong.
        error: Box<FetchError>,
    },
    /// The signature does not show that the bytes are right.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// Somebody has stopped it.
    #[error("fetching was stopped")]
    Cancelled,
}

impl FetchError {
    /// Adds the encoding or the media type that the server named, if the bytes are not the published ones.
    pub(super) fn with_description(self, encoding: Option<String>, media_type: Option<String>) -> Self {
        if !matches!(self, Self::Digest { .. } | Self::Signature(SignatureError::Forged(_))) {
            return self;
        }
        let error = Box::new(self);
        match (encoding, media_type) {
            (Some(encoding), _) => Self::Encoded { encoding, error },
            (None, Some(media_type)) => Self::Typed { media_type, error },
            (None, None) => *error,
        }
    }

    /// The file cannot be written.
    pub(super) fn storage(source: io::Error) -> Self {
        Self::Storage(source)
    }
}
