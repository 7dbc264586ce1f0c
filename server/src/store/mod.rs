//! Bases and images on disk: all the state that the server has.
//!
//! In the data directory:
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

pub mod base_file;
mod boots;
mod definition;
mod digest_cache;
mod directory;
mod error;
mod images;
pub mod ipxe;
mod key;
mod layouts;
mod open_base;
mod record;
mod records;
mod registered_base;
pub mod served;
mod stored_image;
mod token;
mod turns;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use imagelib::base::BaseIdentity;
use imagelib::digest::Digest;
use imagelib::image::FileName;
use imagelib::recipe::{Recipe, RecipeId};
use tracing::{error, info, warn};

pub use definition::{BaseDefinition, BaseName, BasePaths, DefinitionError};
pub use directory::DirectoryError;
pub use error::{OpenError, StoreError, Unavailable};
pub use key::{InstallationKey, KeyError};
pub use open_base::{OpenBase, OpenBaseError, OpenBaseFile};
pub use registered_base::{BaseState, RegisteredBase};
pub use stored_image::{IPXE_SCRIPT, ImageState, PlannedImage, StoredImage};
pub use token::{MediaToken, NotAToken};
pub use watch::Watch;

use crate::media_url::MediaUrl;
use digest_cache::DigestCache;
use directory::DataDirectory;
use images::Images;
use open_base::Fresh;
use record::Record;
use served::{Lookup, Published};
use stored_image::PlanError;
use turns::Turns;

/// Whether publishing made something new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Publication {
    /// The image was not there before.
    Created,
    /// The same image was published already.
    Existing,
}

/// The configured bases and the published images.
///
/// All methods but `find`, `base`, `bases`, `image` and `images` wait for the disk: call them where waiting is allowed.
pub struct Store {
    directory: DataDirectory,
    key: InstallationKey,
    media_url: MediaUrl,
    bases: BTreeMap<BaseName, Arc<RegisteredBase>>,
    /// What data images are made over.
    nothing: Arc<OpenBase>,
    digests: DigestCache,
    images: Images,
    turns: Turns,
    rechecking: Mutex<()>,
}

impl Store {
    /// Takes a data directory into use, opens the bases and brings all published images back.
    ///
    /// `media_url` is what images' URLs begin with. A base that cannot be used is an error where no image was ever
    /// published: then it is a mistake in the configuration. Later the server starts without it, so that the other
    /// bases' images are served, and looks for it again at every [`recheck`](Self::recheck).
    pub fn open(data_dir: &Path, bases: Vec<BaseDefinition>, media_url: MediaUrl) -> Result<Self, OpenError> {
        let mut names = BTreeSet::new();
        if let Some(twice) = bases.iter().find(|base| !names.insert(&base.name)) {
            return Err(DefinitionError::NameTwice(twice.name.clone()).into());
        }
        let directory = DataDirectory::open(data_dir)?;
        let records = records::load(&directory)?;
        let key = open_key(&directory, records.is_empty())?;
        let digests = DigestCache::open(directory.base_digests());
        let mut registered = BTreeMap::new();
        for definition in bases {
            let name = definition.name.clone();
            let state = match OpenBase::open(&definition, &digests, Fresh::Accept) {
                Ok(open) => {
                    info!(base = %name, identity = %open.identity, "base is available");
                    BaseState::Available(Arc::new(open))
                }
                Err(source) if records.is_empty() => return Err(OpenError::Base { name, source }),
                Err(error) => {
                    error!(base = %name, %error, "base is not available; images over it answer 503 until it is");
                    BaseState::Unavailable { reason: error.to_string() }
                }
            };
            registered.insert(name, Arc::new(RegisteredBase::new(definition, state)));
        }
        let images = Images::default();
        for (id, loaded) in records.found {
            let token = key.token(&id);
            match loaded {
                Ok(record) => images.insert(Arc::new(StoredImage::new(token, record))),
                Err(reason) => images.insert_unreadable(id, token, reason),
            }
        }
        let store = Self {
            directory,
            key,
            media_url,
            bases: registered,
            nothing: Arc::new(OpenBase::nothing()),
            digests,
            images,
            turns: Turns::default(),
            rechecking: Mutex::default(),
        };
        store.plan_images();
        info!(images = store.images().len(), "images are published");
        Ok(store)
    }

    /// The configured bases, by name.
    pub fn bases(&self) -> Vec<Arc<RegisteredBase>> {
        self.bases.values().cloned().collect()
    }

    /// The configured base of this name.
    pub fn base(&self, name: &str) -> Option<Arc<RegisteredBase>> {
        self.bases.get(name).cloned()
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

    /// Publishes the image that `recipe` describes over the base `base`. When this returns, the image is served, and
    /// outlives a power failure. `label` is what the user calls the host; an image that is published already keeps the
    /// label that it has.
    pub fn publish(
        &self,
        base: &str,
        recipe: Recipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        let registered = self.bases.get(base).ok_or_else(|| StoreError::UnknownBase(base.to_owned()))?;
        let name = registered.name().clone();
        let unavailable = |reason| StoreError::BaseUnavailable { name: name.clone(), reason: Unavailable(reason) };
        let open = match registered.state() {
            BaseState::Available(open) => open,
            BaseState::Unavailable { reason } => return Err(unavailable(reason)),
        };
        open.check().map_err(|error| unavailable(error.to_string()))?;
        if recipe.base != open.identity {
            return Err(StoreError::BaseReplaced(name));
        }
        self.publish_over(&open, Some(name), recipe, label)
    }

    /// Publishes the data image that `recipe` describes, as [`publish`](Self::publish) does images over bases.
    pub fn publish_data(
        &self,
        recipe: Recipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        self.publish_over(&self.nothing, None, recipe, label)
    }

    fn publish_over(
        &self,
        open: &Arc<OpenBase>,
        base: Option<BaseName>,
        recipe: Recipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        let id = recipe.id();
        let _turn = self.turns.wait(id);
        if let Some(image) = self.images.get(&id) {
            if image.available().is_none() {
                image.plan_over(open, &self.media_url).map_err(|error| refusal(&id, error))?;
            }
            return Ok((image, Publication::Existing));
        }
        if self.images.is_unreadable(&id) {
            return Err(StoreError::Unreadable);
        }
        let (token, created) = (self.key.token(&id), now());
        let planned = PlannedImage::plan(&recipe, open, &token, created, &self.media_url);
        let planned = planned.map_err(|error| refusal(&id, error))?;
        let record = Record { created, base, label, files: planned.identities(), recipe };
        let json = record.to_json().map_err(|error| internal(&error))?;
        // What is acknowledged can be read back, or it is not acknowledged.
        Record::from_json(&json, &id).map_err(|error| internal(&error))?;
        directory::write(&self.record(&id), &json).map_err(StoreError::Write)?;
        let image = Arc::new(StoredImage::planned(token, record, planned));
        self.images.insert(Arc::clone(&image));
        info!(image = %id, ?token, base = image.base_name().map(BaseName::as_str), "image is published");
        Ok((image, Publication::Created))
    }

    /// Forgets an image for good: its URL stands for nothing from now on. False: there is no such image.
    pub fn release(&self, id: &RecipeId) -> Result<bool, StoreError> {
        let _turn = self.turns.wait(*id);
        let known = self.images.get(id).is_some() || self.images.is_unreadable(id);
        if known {
            directory::remove(&self.record(id)).map_err(StoreError::Write)?;
            self.images.remove(id);
            info!(image = %id, "image is released");
        }
        Ok(known)
    }

    /// The SHA-256 of a file of an image. Reads the base from the first byte on that was changed, and remembers the
    /// answer.
    pub fn digest(&self, image: &StoredImage, file: FileName) -> io::Result<Digest> {
        image.digest(file)
    }

    fn record(&self, id: &RecipeId) -> PathBuf {
        self.directory.images().join(records::file_name(id))
    }

    /// The open base of this identity: that of the name if it has it, or any other.
    fn base_of(&self, identity: &BaseIdentity, name: Option<&BaseName>) -> Option<Arc<OpenBase>> {
        let named = name.and_then(|name| self.bases.get(name)).into_iter();
        let open = named.chain(self.bases.values()).filter_map(|base| base.available());
        open.chain([self.nothing()]).find(|open| open.identity == *identity)
    }

    /// Brings every image in line with the bases that are there now.
    fn plan_images(&self) {
        let (mut without_base, mut example) = (0_u64, None);
        for image in self.images.all() {
            let base = self.base_of(&image.recipe().base, image.base_name());
            match base {
                Some(base) if !image.is_over(&base) => {
                    if let Err(error) = image.plan_over(&base, &self.media_url) {
                        error!(image = %image.id(), %error, "image is not served");
                    }
                }
                Some(_) => {}
                None => {
                    let reason = self.reason_for_no_base(&image);
                    if image.without_base(&reason) {
                        without_base += 1;
                        example = Some(reason);
                    }
                }
            }
        }
        if let Some(example) = example {
            warn!(images = without_base, example, "images answer 503: their base is not there");
        }
    }

    fn reason_for_no_base(&self, image: &StoredImage) -> String {
        let identity = image.recipe().base;
        let Some(name) = image.base_name() else { return format!("it was published over the base {identity}") };
        let why = match self.bases.get(name).map(|base| base.state()) {
            None => "which is not configured".to_owned(),
            Some(BaseState::Unavailable { reason }) => format!("which is not available: {reason}"),
            Some(BaseState::Available(other)) => format!("which is another image now (identity {})", other.identity),
        };
        format!("it was published over the base '{name}' (identity {identity}), {why}")
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Published for Store {
    fn find(&self, token: &str, file: &str) -> Lookup {
        match token.parse() {
            Ok(token) => self.images.find(&token, file),
            Err(NotAToken) => Lookup::NotFound,
        }
    }
}

fn open_key(directory: &DataDirectory, may_create: bool) -> Result<InstallationKey, OpenError> {
    let path = directory.key();
    let failed = |source| OpenError::Key { path: path.clone(), source };
    match InstallationKey::read(&path).map_err(failed)? {
        Some(key) => Ok(key),
        None if may_create => InstallationKey::create(&path).map_err(failed),
        None => Err(OpenError::KeyMissing { path, images: directory.images() }),
    }
}

fn refusal(id: &RecipeId, error: PlanError) -> StoreError {
    match error {
        PlanError::Image(error) => StoreError::Image(error),
        PlanError::OtherBytes => {
            error!(image = %id, %error, "image is not served");
            StoreError::OtherBytes
        }
        PlanError::Overlay(_) | PlanError::NoFile | PlanError::MediaUrl(_) | PlanError::RootfsUrl(_) => {
            internal(&error)
        }
    }
}

fn internal(error: &dyn std::error::Error) -> StoreError {
    StoreError::Internal(Unavailable(error.to_string()))
}

/// In whole seconds, since HTTP's dates have no fractions.
fn now() -> SystemTime {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}
