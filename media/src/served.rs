//! What the media plane serves: the interface between it and a store.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use imagelib::digest::Digest;
use imagelib::overlay::Overlay;
use tokio::sync::watch;

use crate::UrlForm;
use crate::access::FileAccess;
use crate::base_file::BaseFiles;
use crate::reading::FileReading;

/// A strong entity tag (RFC 9110 §8.8.3): two files have the same tag only if they have the same bytes. Displays with
/// quotes, as in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ETag([u8; 16]);

impl ETag {
    /// Makes the tag of a file from the first 128 bits of its identity.
    pub fn new(identity: &Digest) -> Self {
        let mut tag = [0; 16];
        tag.iter_mut().zip(identity.as_bytes()).for_each(|(to, from)| *to = *from);
        Self(tag)
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{:032x}\"", u128::from_be_bytes(self.0))
    }
}

/// A file behind a capability URL.
#[derive(Debug, Clone)]
pub struct ServedFile {
    /// The file's bytes.
    pub overlay: Arc<Overlay>,
    /// The files of the base. Empty for a file that is all in memory, such as an iPXE script.
    pub base: Arc<BaseFiles>,
    /// The entity tag, which changes with the bytes and with nothing else.
    pub etag: ETag,
    /// The time for `Last-Modified`, in whole seconds; the same on every replica and after every restart. If the file
    /// `changes`, the time may be in the future, and two contents of a URL never have the same time.
    pub last_modified: SystemTime,
    /// Whether the URL may get another content later.
    pub changes: bool,
    /// The name of the host for which the image was first published.
    pub host: Option<Arc<str>>,
    /// `Content-Type`.
    pub media_type: &'static str,
    /// The record of what is read from the file. `None` if nobody needs it.
    pub reading: Option<Arc<FileReading>>,
    /// The limits on the access to the file. `None` if there are none.
    pub access: Option<Box<FileAccess>>,
    /// What the store wants to stay as long as the file or an answer with its bytes is there.
    pub keeps: Option<Arc<dyn Any + Send + Sync>>,
}

/// What the store knows about a URL.
#[derive(Debug, Clone)]
pub enum Lookup {
    /// The URL leads to this file.
    Found(ServedFile),
    /// The token or the file is unknown, or the image was released.
    NotFound,
    /// The URL is unknown, but an image for it may arrive in a moment. The receiver gets a value whenever an image was
    /// published.
    NotYet(watch::Receiver<u64>),
    /// The file cannot be served at the moment, for the given reason, which goes to the log. The client may try again.
    Unavailable(String),
}

/// Finds the files that the media plane serves. The plane calls it once for each request, on the threads that serve, so
/// it must not block.
pub trait Published: Send + Sync + 'static {
    /// Looks up `/i/<token>/<file>`.
    fn find(&self, token: &str, file: &str) -> Lookup;

    /// The form of the URLs.
    fn urls(&self) -> UrlForm {
        UrlForm::Capability
    }

    /// Looks up a path that ends with `name`, in the other forms.
    fn find_name(&self, _name: &str) -> Lookup {
        Lookup::NotFound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_is_the_first_half_of_the_digest_in_quotes() {
        let digest = Digest::of(b"abc");
        assert_eq!(ETag::new(&digest).to_string(), format!("\"{}\"", &digest.to_string()[..32]));
    }
}
