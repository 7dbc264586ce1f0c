//! The store keeps bases and published images: all the state that the server has.
//!
//! `dayone serve` keeps it in a data directory. If Kubernetes or another directory keeps the documents for the images, the
//! store has nothing on disk ([`Store::in_memory`]), and images belong to owners. The files in the data directory:
//!
//! | path | content |
//! | --- | --- |
//! | `lock` | the lock of the server that uses the directory |
//! | `key` | 32 random bytes, from which the tokens in all URLs derive; during a rotation, also the previous key |
//! | `images/<id>.json` | one record per published image: its recipe, the time of publication, the identity of its bytes |
//! | `boots/<id>.json` | one record per boot: what dayone did to which BMC, and what it must undo |
//! | `bases/<number>.json` | one record per base that was added while the server ran: its name, where its files come from |
//! | `base-files/` | the files of these bases, and what dayone has fetched of them so far |
//! | `base-digests.json` | digests of bases, so that a restart does not read them again; you may delete it at any time |
//! | `base-states-SHA256` | hash states within the base of this digest, so that digests of images need not read all of it; the same |
//! | `damaged/` | records that could not be read; dayone never deletes them |
//!
//! With [`DataKeys`], the records, `key` and what is in `damaged/` are encrypted.
//!
//! The store acknowledges an image when its record is on disk. It computes everything else about the image again at every
//! start, and compares it with the identity of the bytes in the record.

mod access;
mod added_bases;
mod address;
mod base_changes;
pub(crate) mod base_record;
mod base_source;
mod base_use;
mod bases;
mod boots;
mod common;
mod data_keys;
mod definition;
mod digest_cache;
mod directory;
mod durable;
mod error;
mod file_digests;
mod group_commit;
mod identities;
mod image_locks;
mod image_use;
mod images;
mod in_memory;
pub mod ipxe;
mod key;
mod key_command;
mod key_file;
mod key_rotation;
mod keys;
mod last_layouts;
mod layouts;
mod new_image;
mod on_disk;
mod open_base;
mod owned_images;
mod owners;
mod packed_recipe;
mod persistence;
mod plan_cell;
mod planned_image;
mod planning;
mod publish;
mod publish_group;
mod published;
pub(crate) mod record;
pub(crate) mod record_cipher;
mod record_files;
mod records;
mod reencrypt;
mod registered_base;
mod released;
mod reserve;
mod rotation;
mod running;
mod storage;
mod stored_image;
mod watch;

use std::fmt;
use std::sync::Arc;

use imagelib::image::{self, ImageError};
use imagelib::recipe::{Recipe, RecipeId, SealedRecipe};
use media::access::Clock;
use media::{MediaToken, MediaUrl, UrlForm};
use parking_lot::{Mutex, RwLock};

pub use base_changes::{AddBaseError, FinishBaseError, Finished, RemoveBaseError};
pub use base_record::{BaseRecord, BaseRecordState, BaseVersion};
pub use base_source::{BaseSource, BaseSourceFields, Location, SourceError};
pub use base_use::BaseUse;
pub(crate) use bases::check_names;
pub(crate) use boots::BootFile;
pub use data_keys::{DataKeys, DataKeysError, DecryptError};
pub use definition::{BASE_FIELDS, BaseDefinition, BaseName, BasePaths, DefinitionError, is_url};
pub use directory::DirectoryError;
pub(crate) use directory::read_limited;
pub use error::{OpenError, StoreError, Unavailable};
pub use in_memory::InMemory;
pub use key::{InstallationKey, KeyError};
pub use key_command::{KeyCommandError, KeyState, PreviousState, end_grace, key_state, rotate_key};
pub use keys::{KeyChange, Keys, OtherKey, Until};
pub use new_image::NewImage;
pub use open_base::{OpenBase, OpenBaseError, OpenBaseFile};
pub use plan_cell::ImageState;
pub use planned_image::{IPXE_SCRIPT, PlannedImage};
pub use planning::ReplacedBase;
pub use publish::Publication;
pub use registered_base::{BaseState, RegisteredBase};
pub use released::ReleasedImage;
pub use storage::StorageTrouble;
pub use stored_image::StoredImage;
pub use watch::Watch;

use added_bases::AddedBases;
use bases::Bases;
use digest_cache::DigestCache;
use image_locks::ImageLocks;
use images::Images;
use key_file::KeyFile;
use owners::Owners;
use persistence::Persistence;
use plan_cell::Plans;
use released::Released;

use crate::site_key::SiteKeyPair;

/// The bases and the published images.
///
/// All methods but `find`, `base`, `bases`, `image`, `images`, `unreleased_images`, `keep_released` and `take_released` may wait for the disk:
/// do not call them in asynchronous code.
pub struct Store {
    persistence: Persistence,
    keys: RwLock<Arc<Keys>>,
    /// The file of the key at the last look.
    key_file: Mutex<Option<KeyFile>>,
    /// What has happened to the key since somebody last asked for that.
    key_change: Mutex<Option<KeyChange>>,
    plans: Arc<Plans>,
    urls: UrlForm,
    bases: Bases,
    added: AddedBases,
    /// The base of data images.
    empty_base: Arc<OpenBase>,
    digests: Arc<DigestCache>,
    images: Images,
    released: Released,
    owners: Owners,
    /// Counts publications, if clients may ask for an image a moment before this replica publishes it.
    publications: Option<tokio::sync::watch::Sender<u64>>,
    locks: ImageLocks,
    rechecking: Mutex<()>,
    /// The clock by which images end.
    clock: Clock,
    /// The key that signs the addons of images.
    site_key: Option<Arc<SiteKeyPair>>,
}

impl Store {
    /// A store without published images.
    fn new(
        persistence: Persistence,
        keys: Keys,
        media_url: MediaUrl,
        urls: UrlForm,
        bases: Bases,
        digests: DigestCache,
    ) -> Self {
        Self {
            persistence,
            keys: RwLock::new(Arc::new(keys)),
            key_file: Mutex::default(),
            key_change: Mutex::default(),
            plans: Arc::new(Plans::new(media_url)),
            urls,
            bases,
            added: AddedBases::default(),
            empty_base: Arc::new(OpenBase::empty()),
            digests: Arc::new(digests),
            images: Images::default(),
            released: Released::default(),
            owners: Owners::new(owners::LINGERING),
            publications: None,
            locks: ImageLocks::default(),
            rechecking: Mutex::default(),
            clock: Clock::default(),
            site_key: None,
        }
    }

    /// The same store with a key that signs the addons of images.
    #[must_use]
    pub fn with_site_key(self, site_key: Option<Arc<SiteKeyPair>>) -> Self {
        Self { site_key, ..self }
    }

    /// Signs the addons of the image that a recipe gives over a base, if it has any, and completes the recipe.
    pub fn seal(&self, recipe: Recipe, base: &OpenBase) -> Result<SealedRecipe, ImageError> {
        let signed = match self.site_key.as_deref() {
            Some(key) => image::sign(recipe, &base.base, key)?,
            None => recipe,
        };
        Ok(signed.seal())
    }

    /// The present bases, by name.
    pub fn bases(&self) -> Vec<Arc<RegisteredBase>> {
        self.bases.all()
    }

    /// The present base of this name.
    pub fn base(&self, name: &str) -> Option<Arc<RegisteredBase>> {
        self.bases.get(name)
    }

    /// The base without files, which is the base of data images.
    pub fn empty_base(&self) -> Arc<OpenBase> {
        Arc::clone(&self.empty_base)
    }

    /// All published images, ordered by identity, without those whose time to live is over.
    pub fn images(&self) -> Vec<Arc<StoredImage>> {
        let mut images = self.images.all();
        images.retain(|image| !image.has_ended());
        images
    }

    /// The published image of this identity, unless its time to live is over.
    pub fn image(&self, id: &RecipeId) -> Option<Arc<StoredImage>> {
        self.images.get(id).filter(|image| !image.has_ended())
    }

    /// The token with which the host of an image calls home. `image` is the id of the image without that token.
    pub fn call_home_token(&self, image: &RecipeId) -> MediaToken {
        self.keys().current.call_home_token(image)
    }

    /// Why the last use of the data directory failed; `None` if it succeeded.
    pub fn storage_trouble(&self) -> Option<StorageTrouble> {
        self.persistence.directory().ok()?.trouble()
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("persistence", &self.persistence).finish_non_exhaustive()
    }
}
