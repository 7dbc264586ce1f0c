//! Fetches one file: from a URL or from a path, until it is complete and verified.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use imagelib::digest::Digest;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::copy::{self, Copied};
use super::download::{Downloaded, Downloader};
use super::error::FetchError;
use super::openpgp::Keyring;
use super::partial_file;
use super::progress::{FetchProgress, FileProgress, Phase};
use crate::store::{BaseSource, Location};

/// How much of a file is read at a time.
const BUFFER: usize = 1 << 20;

/// Fetches files, and verifies their signatures with these keys.
#[derive(Debug, Clone)]
pub(crate) struct Fetcher {
    pub(crate) downloader: Downloader,
    pub(crate) keys: Keyring,
}

/// One file to fetch.
pub(crate) struct Order<'a> {
    /// Where it comes from.
    pub(crate) source: &'a BaseSource,
    /// Where it goes. Nothing is there until the file is complete and verified.
    pub(crate) target: &'a Path,
    /// How far it is.
    pub(crate) file: Arc<FileProgress>,
    /// How far all files are.
    pub(crate) progress: &'a FetchProgress,
    /// Stops it.
    pub(crate) cancelled: &'a CancellationToken,
}

impl Fetcher {
    /// Fetches a file, unless it is there: then it was verified before.
    pub(crate) async fn fetch(&self, order: &Order<'_>) -> Result<(), FetchError> {
        if let Ok(metadata) = fs::metadata(order.target) {
            order.file.set_done(metadata.len());
            order.file.set_total(Some(metadata.len()));
            return Ok(());
        }
        self.fetch_anew(order).await
    }

    /// Fetches a file, and replaces one that is there.
    pub(crate) async fn fetch_anew(&self, order: &Order<'_>) -> Result<(), FetchError> {
        let stopped = order.cancelled.cancelled();
        tokio::select! {
            result = self.fetch_all(order) => result,
            () = stopped => Err(FetchError::Cancelled),
        }
    }

    async fn fetch_all(&self, order: &Order<'_>) -> Result<(), FetchError> {
        // The signature comes first: without it, there is no use in fetching the file.
        let signature = match &order.source.signature {
            Some(location) => Some(self.signature(location).await?),
            None => None,
        };
        let mut may_repeat = true;
        loop {
            order.progress.set_phase(Phase::Fetching);
            let Downloaded { resumed, encoding, media_type } = match self.bytes(order).await {
                // Another attempt would continue after the first bytes, and would not see them.
                Err(error @ FetchError::Packed(_)) => {
                    discard(order.target)?;
                    return Err(error);
                }
                result => result?,
            };
            order.progress.set_phase(Phase::Verifying);
            let verified = self.verify(order, signature.clone()).await;
            match verified {
                Ok(()) => break,
                // Bytes of an earlier call may be damaged, for example by a power failure, or the other server may be wrong about what
                // it continues. Or something between may have answered for the server. This happens once: a server that is always
                // wrong would have dayone fetch the file without end.
                Err(error) if resumed && may_repeat => {
                    may_repeat = false;
                    warn!(file = %order.source.location, %error, "a download that was continued is damaged; dayone fetches the file again");
                    discard(order.target)?;
                }
                Err(error) => {
                    discard(order.target)?;
                    return Err(error.with_description(encoding, media_type));
                }
            }
        }
        let target = order.target.to_owned();
        let synced = tokio::task::spawn_blocking(move || partial_file::sync(&target)).await;
        synced.map_err(io::Error::other).flatten().map_err(FetchError::storage)?;
        // Not on that thread, which goes on when somebody stops fetching: no file may appear after that.
        partial_file::complete(order.target).map_err(FetchError::storage)
    }

    /// Fetches the bytes to the partial file.
    async fn bytes(&self, order: &Order<'_>) -> Result<Downloaded, FetchError> {
        match &order.source.location {
            Location::Url(url) => {
                let trouble = |what| order.progress.set_trouble(what);
                self.downloader.download(url, order.target, &order.file, &trouble).await
            }
            Location::Path(path) => {
                let from = self.downloader.allowed().resolve(path)?;
                let to = partial_file::path(order.target);
                let limit = self.downloader.limit();
                let (file, cancelled) = (Arc::clone(&order.file), order.cancelled.clone());
                let copied = tokio::task::spawn_blocking(move || copy::copy(&from, &to, limit, &file, &cancelled));
                let how = copied.await.map_err(|error| FetchError::storage(io::Error::other(error)))??;
                info!(path = %path.display(), shared = how == Copied::Shared, "copied a file of a base");
                Ok(Downloaded::default())
            }
        }
    }

    async fn signature(&self, location: &Location) -> Result<Vec<u8>, FetchError> {
        match location {
            Location::Url(url) => self.downloader.read_small(url).await,
            Location::Path(path) => {
                let path = self.downloader.allowed().resolve(path)?;
                let read = crate::store::read_limited(&path, 1 << 20);
                read.map_err(|error| FetchError::Source(format!("cannot read {}: {error}", path.display())))
            }
        }
    }

    /// Compares the bytes of the partial file with the signature and the SHA-256.
    async fn verify(&self, order: &Order<'_>, signature: Option<Vec<u8>>) -> Result<(), FetchError> {
        let path = partial_file::path(order.target);
        let expected = order.source.sha256;
        let (keys, cancelled) = (self.keys.clone(), order.cancelled.clone());
        let verified = tokio::task::spawn_blocking(move || {
            let open = || {
                let file = File::open(&path).map_err(FetchError::storage)?;
                Ok::<_, FetchError>(Stoppable { file: BufReader::with_capacity(BUFFER, file), cancelled: &cancelled })
            };
            if let Some(signature) = &signature {
                let signer = keys.verify(signature, open()?)?;
                info!(%signer, "a key that dayone trusts has signed the file");
            }
            let Some(expected) = expected else { return Ok(()) };
            let found = sha256(&mut open()?)?;
            if found == expected {
                return Ok(());
            }
            let length = fs::metadata(&path).map_err(FetchError::storage)?.len();
            Err(FetchError::Digest { expected, found, length })
        });
        verified.await.map_err(|error| FetchError::storage(io::Error::other(error)))?
    }
}

fn discard(target: &Path) -> Result<(), FetchError> {
    partial_file::discard(target).map_err(FetchError::storage)
}

fn sha256(reader: &mut impl Read) -> Result<Digest, FetchError> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match reader.read(&mut buffer).map_err(FetchError::storage)? {
            0 => return Ok(Digest::finish(hasher)),
            count => hasher.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}

/// The SHA-256 of a file.
pub(crate) fn digest_of(path: &Path) -> io::Result<Digest> {
    Digest::of_reader(&mut BufReader::with_capacity(BUFFER, fs::File::open(path)?))
}

/// Stops reading when somebody stops fetching.
struct Stoppable<'a> {
    file: BufReader<File>,
    cancelled: &'a CancellationToken,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancelled.is_cancelled() {
            return Err(io::Error::other("fetching was stopped"));
        }
        self.file.read(buffer)
    }
}
