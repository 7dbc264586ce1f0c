//! The digests of an image's files that have been computed.

use std::collections::BTreeMap;
use std::io;

use imagelib::digest::Digest;
use imagelib::image::FileName;
use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(super) struct FileDigests(Mutex<BTreeMap<FileName, Digest>>);

impl FileDigests {
    /// The digest, if it is known. Does not wait for one that is being computed.
    pub(super) fn known(&self, file: FileName) -> Option<Digest> {
        self.0.try_lock()?.get(&file).copied()
    }

    /// The digest. Computes it if it is not known. Other callers wait meanwhile, so that they do not compute the same.
    pub(super) fn get(&self, file: FileName, compute: impl FnOnce() -> io::Result<Digest>) -> io::Result<Digest> {
        let mut digests = self.0.lock();
        if let Some(known) = digests.get(&file) {
            return Ok(*known);
        }
        let digest = compute()?;
        digests.insert(file, digest);
        Ok(digest)
    }
}
