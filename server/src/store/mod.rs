//! Bases and published images: all the state that the server has.
//!
//! `dayone serve` keeps it in a data directory. Where Kubernetes or another directory keeps what images are made from,
//! nothing is on disk ([`Store::in_memory`]), and images belong to owners. In the data directory:
//!
//! | path | what |
//! | --- | --- |
//! | `lock` | locked by the server that uses the directory |
//! | `key` | 32 random bytes, from which the tokens in all URLs are made |
//! | `images/<id>.json` | one record for each published image: its recipe, when it was published, what its bytes were |
//! | `boots/<id>.json` | one record for each boot: what was done to which BMC, and what is to be undone |
//! | `base-digests.json` | digests of bases, so that a restart does not read them again; may be deleted at any time |
//! | `damaged/` | records that could not be read, moved there and never deleted |
//!
//! An image is acknowledged when its record is on the disk. Everything else about it is computed again at every start,
//! and compared with what the record says its bytes were.

mod bases;
mod boots;
mod definition;
mod digest_cache;
mod directory;
mod error;
mod holders;
mod images;
mod in_memory;
pub mod ipxe;
mod key;
mod layouts;
mod on_disk;
mod open_base;
mod owned_images;
mod persistence;
mod planning;
mod publish;
mod published;
mod record;
mod records;
mod registered_base;
mod release;
mod replaced;
mod storage;
mod stored_image;
mod turns;
mod watch;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use imagelib::digest::Digest;
use imagelib::image::FileName;
use imagelib::recipe::RecipeId;
use media::{MediaToken, MediaUrl, UrlForm};

pub use definition::{BaseDefinition, BaseName, BasePaths, DefinitionError, is_url};
pub use directory::DirectoryError;
pub use error::{OpenError, StoreError, Unavailable};
pub use in_memory::InMemory;
pub use key::{InstallationKey, KeyError};
pub use open_base::{OpenBase, OpenBaseError, OpenBaseFile};
pub use publish::Publication;
pub use registered_base::{BaseState, RegisteredBase};
pub use replaced::ReplacedBase;
pub use storage::StorageTrouble;
pub use stored_image::{IPXE_SCRIPT, ImageState, PlannedImage, StoredImage};
pub use watch::Watch;

use bases::Bases;
use digest_cache::DigestCache;
use holders::Holders;
use images::Images;
use persistence::Persistence;
use turns::Turns;

/// The configured bases and the published images.
///
/// All methods but `find`, `base`, `bases`, `image` and `images` wait for the disk: call them where waiting is allowed.
pub struct Store {
    persistence: Persistence,
    key: InstallationKey,
    media_url: MediaUrl,
    urls: UrlForm,
    bases: Bases,
    /// What data images are made over.
    nothing: Arc<OpenBase>,
    digests: Arc<DigestCache>,
    images: Images,
    holders: Holders,
    /// Counts what is published, where somebody may ask for it a moment before.
    arrivals: Option<tokio::sync::watch::Sender<u64>>,
    turns: Turns,
    rechecking: Mutex<()>,
}

/// In what stores differ.
struct Parts {
    persistence: Persistence,
    key: InstallationKey,
    media_url: MediaUrl,
    urls: UrlForm,
    bases: Bases,
    digests: DigestCache,
    lingering: Duration,
    arrivals: Option<tokio::sync::watch::Sender<u64>>,
}

impl Store {
    /// A store in which nothing is published yet.
    fn assemble(parts: Parts) -> Self {
        let Parts { persistence, key, media_url, urls, bases, digests, lingering, arrivals } = parts;
        Self {
            persistence,
            key,
            media_url,
            urls,
            bases,
            nothing: Arc::new(OpenBase::nothing()),
            digests: Arc::new(digests),
            images: Images::default(),
            holders: Holders::new(lingering),
            arrivals,
            turns: Turns::default(),
            rechecking: Mutex::default(),
        }
    }

    /// The configured bases, by name.
    pub fn bases(&self) -> Vec<Arc<RegisteredBase>> {
        self.bases.all()
    }

    /// The configured base of this name.
    pub fn base(&self, name: &str) -> Option<Arc<RegisteredBase>> {
        self.bases.get(name)
    }

    /// The base of no files, over which data images are made.
    pub fn nothing(&self) -> Arc<OpenBase> {
        Arc::clone(&self.nothing)
    }

    /// All published images, ordered by identity.
    pub fn images(&self) -> Vec<Arc<StoredImage>> {
        self.images.all()
    }

    /// The published image of this identity.
    pub fn image(&self, id: &RecipeId) -> Option<Arc<StoredImage>> {
        self.images.get(id)
    }

    /// The token by which the host of an image calls home, where `image` is the image without it.
    pub fn call_home_token(&self, image: &RecipeId) -> MediaToken {
        self.key.call_home_token(image)
    }

    /// Why the data directory cannot be used, as of the last time that anybody tried; none where it can.
    pub fn storage_trouble(&self) -> Option<StorageTrouble> {
        self.persistence.trouble()
    }

    /// The SHA-256 of a file of an image. Reads the base from the first byte on that was changed, and remembers the
    /// answer.
    pub fn digest(&self, image: &StoredImage, file: FileName) -> io::Result<Digest> {
        image.digest(file)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("persistence", &self.persistence).finish_non_exhaustive()
    }
}
