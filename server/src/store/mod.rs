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
mod record;
mod records;
mod registered_base;
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
use imagelib::recipe::{Recipe, RecipeId};
use media::served::{Lookup, Published};
use media::{MediaToken, MediaUrl, MediaUuid, NotAToken, UrlForm};
use tracing::{error, info, warn};

pub use definition::{BaseDefinition, BaseName, BasePaths, DefinitionError, is_url};
pub use directory::DirectoryError;
pub use error::{OpenError, StoreError, Unavailable};
pub use in_memory::InMemory;
pub use key::{InstallationKey, KeyError};
pub use open_base::{OpenBase, OpenBaseError, OpenBaseFile};
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
use record::Record;
use stored_image::PlanError;
use turns::{Turn, Turns};

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

    /// Publishes the image that `recipe` describes over the base `base`. When this returns, the image is served, and
    /// outlives a power failure. `label` is what the user calls the host; an image that is published already keeps the
    /// label that it has.
    pub fn publish(
        &self,
        base: &str,
        recipe: Recipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        let (open, name) = self.usable_base(base, &recipe)?;
        self.publish_over(&open, Some(name), recipe, label)
    }

    /// The base `base`, if it can be used for the recipe at the moment.
    fn usable_base(&self, base: &str, recipe: &Recipe) -> Result<(Arc<OpenBase>, BaseName), StoreError> {
        let registered = self.bases.get(base).ok_or_else(|| StoreError::UnknownBase(base.to_owned()))?;
        let name = registered.name().clone();
        let unavailable = |reason| StoreError::BaseUnavailable { name: name.clone(), reason: Unavailable(reason) };
        let open = match registered.state() {
            BaseState::Available(open) => open,
            BaseState::Unavailable { reason } => return Err(unavailable(reason)),
        };
        open.check_in_time().map_err(|error| unavailable(error.to_string()))?;
        if recipe.base != open.identity {
            return Err(StoreError::BaseReplaced(name));
        }
        Ok((open, name))
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
        let (id, _turn) = self.turn_of(&recipe);
        self.publish_in_turn(id, open, base, recipe, label)
    }

    /// The identity of the image that a recipe gives, or has given already: an image that an earlier version of dayone
    /// published from the same content in another order is that image.
    pub fn identity_of(&self, recipe: &Recipe) -> RecipeId {
        self.images.identity_of(recipe)
    }

    /// Waits for the turn to work on the image of a recipe.
    fn turn_of(&self, recipe: &Recipe) -> (RecipeId, Turn<'_>) {
        loop {
            let id = self.identity_of(recipe);
            let turn = self.turns.wait(id);
            // It may have been released meanwhile.
            if self.identity_of(recipe) == id {
                return (id, turn);
            }
        }
    }

    /// While it is the caller's turn to work on the image.
    fn publish_in_turn(
        &self,
        id: RecipeId,
        open: &Arc<OpenBase>,
        base: Option<BaseName>,
        recipe: Recipe,
        label: Option<String>,
    ) -> Result<(Arc<StoredImage>, Publication), StoreError> {
        if let Some(image) = self.images.get(&id) {
            if image.available().is_none() {
                image.plan_over(open, &self.media_url).map_err(|error| refusal(&id, error))?;
            }
            self.persistence.confirm(image.record())?;
            image.order_again();
            return Ok((image, Publication::Existing));
        }
        if self.images.is_unreadable(&id) {
            return Err(StoreError::Unreadable);
        }
        let (token, created) = (self.key.token(&id), self.persistence.time_of_publication());
        let planned = PlannedImage::plan(&recipe, open, &token, created, &self.media_url);
        let planned = planned.map_err(|error| refusal(&id, error))?;
        let record = Record { created, base, label, files: planned.identities(), recipe };
        self.persistence.keep(&record)?;
        let image = Arc::new(StoredImage::planned(token, record, planned));
        self.insert(Arc::clone(&image));
        if let Some(arrivals) = &self.arrivals {
            arrivals.send_modify(|count| *count = count.wrapping_add(1));
        }
        info!(image = %id, token = token.shown(), base = image.base_name().map(BaseName::as_str), "image is published");
        Ok((image, Publication::Created))
    }

    /// Forgets an image for good: its URL stands for nothing from now on. False: there is no such image.
    pub fn release(&self, id: &RecipeId) -> Result<bool, StoreError> {
        let _turn = self.turns.wait(*id);
        self.release_in_turn(id)
    }

    /// Takes back images that were just published for a request which failed afterwards. An image that somebody has
    /// ordered again meanwhile stays.
    pub fn withdraw(&self, images: &[Arc<StoredImage>]) {
        for image in images {
            let _turn = self.turns.wait(image.id());
            if !image.is_ordered_again()
                && let Err(error) = self.release_in_turn(&image.id())
            {
                error!(image = %image.id(), %error, "the image of a request that failed cannot be released");
            }
        }
    }

    /// Why the data directory cannot be used, as of the last time that anybody tried; none where it can.
    pub fn storage_trouble(&self) -> Option<StorageTrouble> {
        self.persistence.trouble()
    }

    fn release_in_turn(&self, id: &RecipeId) -> Result<bool, StoreError> {
        let image = self.images.get(id);
        let known = image.is_some() || self.images.is_unreadable(id);
        if known {
            self.persistence.forget(id)?;
            self.images.remove(id, image.map(|image| self.uuids(&image)).unwrap_or_default());
            info!(image = %id, "image is released");
        }
        Ok(known)
    }

    fn insert(&self, image: Arc<StoredImage>) {
        let uuids = self.uuids(&image);
        self.images.insert(image, uuids);
    }

    /// The UUIDs of the files of an image, where their URLs have them.
    fn uuids(&self, image: &StoredImage) -> Vec<(MediaUuid, String)> {
        let files = image.files().filter(|_| self.urls == UrlForm::Uuid);
        files.map(|file| (self.key.uuid(&image.id(), file), file.to_owned())).collect()
    }

    /// The SHA-256 of a file of an image. Reads the base from the first byte on that was changed, and remembers the
    /// answer.
    pub fn digest(&self, image: &StoredImage, file: FileName) -> io::Result<Digest> {
        image.digest(file)
    }

    /// Brings every image in line with the bases that are there now.
    fn plan_images(&self) {
        let (mut without_base, mut example) = (0_u64, None);
        for image in self.images.all() {
            let base = self.base_of(&image);
            match base {
                Some(base) if !image.is_over(&base) => {
                    if let Err(error) = image.plan_over(&base, &self.media_url) {
                        error!(image = %image.id(), %error, "image is not served");
                    }
                }
                Some(_) => {}
                None => {
                    let reason = self.bases.reason_for_none(&image);
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

    /// The open base of an image.
    fn base_of(&self, image: &StoredImage) -> Option<Arc<OpenBase>> {
        let identity = image.recipe().base;
        let data = (self.nothing.identity == identity).then(|| self.nothing());
        data.or_else(|| self.bases.of_identity(&identity, image.base_name()))
    }

    /// What is looked for, or that it is not there yet where an image may arrive at any moment.
    fn arriving(&self, find: impl Fn() -> Option<Lookup>) -> Lookup {
        if let Some(found) = find() {
            return found;
        }
        let Some(arrivals) = &self.arrivals else { return Lookup::NotFound };
        // Looking again after subscribing misses nothing that is published in between.
        let arrivals = arrivals.subscribe();
        find().unwrap_or(Lookup::NotYet(arrivals))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("persistence", &self.persistence).finish_non_exhaustive()
    }
}

impl Published for Store {
    fn find(&self, token: &str, file: &str) -> Lookup {
        match token.parse() {
            Ok(token) => self.arriving(|| self.images.find(&token, file)),
            Err(NotAToken) => Lookup::NotFound,
        }
    }

    fn urls(&self) -> UrlForm {
        self.urls
    }

    fn find_name(&self, name: &str) -> Lookup {
        match (self.urls, name.parse()) {
            (UrlForm::Uuid, Ok(uuid)) => self.arriving(|| self.images.find_uuid(&uuid)),
            (UrlForm::Named, _) => self.find_owned(name),
            (UrlForm::Capability | UrlForm::Uuid, _) => Lookup::NotFound,
        }
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
