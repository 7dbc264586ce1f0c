//! What the media plane is given to serve, whoever keeps it.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use imagelib::digest::Digest;
use imagelib::overlay::Overlay;
use tokio::sync::watch;

use crate::UrlForm;
use crate::base_file::BaseFiles;
use crate::reading::FileReading;

/// A strong entity tag (RFC 9110 §8.8.3): equal for equal bytes only. Printed as it stands in the header, quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ETag([u8; 16]);

impl ETag {
    /// The tag of what `identity` is the identity of: its first 128 bits.
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
    /// Its bytes.
    pub overlay: Arc<Overlay>,
    /// What the overlay lies over; nothing for a file that is all in memory, such as an iPXE script.
    pub base: Arc<BaseFiles>,
    /// Changes with the bytes and with nothing else.
    pub etag: ETag,
    /// Whole seconds, the same on every replica and after every restart. Where the file `changes`, it may be in the
    /// future, and no two contents of a URL have the same one.
    pub last_modified: SystemTime,
    /// Whether the URL may stand for another file later.
    pub changes: bool,
    /// What the user calls the host that the image was published for first.
    pub host: Option<Arc<str>>,
    /// `Content-Type`.
    pub media_type: &'static str,
    /// Where it is noted what of it is read, if anybody wants to know.
    pub reading: Option<Arc<FileReading>>,
}

/// What is known of a URL.
#[derive(Debug, Clone)]
pub enum Lookup {
    /// It stands for this file.
    Found(ServedFile),
    /// It stands for nothing: the token or the file is unknown, or was released.
    NotFound,
    /// It stands for nothing now, and may stand for an image in a moment: each value that is received says that one was
    /// published since.
    NotYet(watch::Receiver<u64>),
    /// It stands for a file that cannot be served at the moment, and why, for the log. The client may come again.
    Unavailable(String),
}

/// Where the media plane finds its files. Called once for each request, on the threads that serve: it must not wait.
pub trait Published: Send + Sync + 'static {
    /// What `/i/<token>/<file>` stands for.
    fn find(&self, token: &str, file: &str) -> Lookup;

    /// What the URLs look like.
    fn urls(&self) -> UrlForm {
        UrlForm::Capability
    }

    /// What a path that ends in `name` stands for, in the other forms.
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
