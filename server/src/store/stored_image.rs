//! A published image.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use imagelib::digest::Digest;
use imagelib::image::{FileName, Image, ImageError};
use imagelib::layout::Layout;
use imagelib::overlay::{Content, Overlay, OverlayError, Segment, Sizes};
use imagelib::recipe::{Recipe, RecipeId, RootfsLocation, RootfsUrl, RootfsUrlError};
use media::reading::{ImageReading, Progress, ReadingSnapshot, Since};
use media::served::{ETag, Lookup, ServedFile};
use media::{MediaToken, MediaUrl, MediaUrlError};

use super::definition::BaseName;
use super::ipxe;
use super::layouts::Layouts;
use super::open_base::OpenBase;
use super::record::Record;

/// The iPXE script's name in an image's URL.
pub const IPXE_SCRIPT: &str = "boot.ipxe";

/// An image that was published and not released. Its address, its bytes and its times never change.
pub struct StoredImage {
    id: RecipeId,
    token: MediaToken,
    /// Without its canonical form, which would be in memory a second time.
    recipe: Recipe,
    record: Record,
    /// Its label, as requests need it.
    host: Option<Arc<str>>,
    current: RwLock<Current>,
    digests: Mutex<BTreeMap<FileName, Digest>>,
    reading: ImageReading,
    /// Whether the image was ordered a second time.
    ordered_again: AtomicBool,
}

/// What an image is at the moment, and the base that this follows from.
struct Current {
    base: Option<Arc<OpenBase>>,
    state: ImageState,
}

/// Whether an image can be served.
#[derive(Debug, Clone)]
pub enum ImageState {
    /// It can.
    Available(Arc<PlannedImage>),
    /// It cannot, for now: its base is not there.
    Unavailable {
        /// Why, for operators.
        reason: String,
    },
}

/// An image over an open base.
#[derive(Debug)]
pub struct PlannedImage {
    /// The base.
    pub base: Arc<OpenBase>,
    /// The plan.
    pub image: Image,
    served: BTreeMap<&'static str, ServedFile>,
    layouts: Layouts,
}

/// Why a recipe does not give the image that it should.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlanError {
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A mistake in dayone.
    #[error("the image does not fit its base: {0}")]
    Overlay(#[from] OverlayError),
    /// Another mistake in dayone.
    #[error("the image needs a file that its base does not have")]
    NoFile,
    /// The recipe's address of the media plane is none.
    #[error("the address of the root file system: {0}")]
    MediaUrl(MediaUrlError),
    /// The address of the root file system cannot be a kernel argument.
    #[error(transparent)]
    RootfsUrl(#[from] RootfsUrlError),
    /// Planned by another version, which made other bytes of it.
    #[error(
        "this version of dayone would make other bytes of it than it was published with; run the version that \
         published it, or release the image and publish it again"
    )]
    OtherBytes,
}

impl StoredImage {
    /// An image that is not planned yet. `id` is the identity of `recipe`.
    pub(super) fn new(token: MediaToken, id: RecipeId, recipe: Recipe, record: Record) -> Self {
        let state = ImageState::Unavailable { reason: "it is not planned yet".to_owned() };
        let current = RwLock::new(Current { base: None, state });
        Self {
            id,
            token,
            recipe,
            host: record.label.as_deref().map(Arc::from),
            record,
            current,
            digests: Mutex::default(),
            reading: ImageReading::default(),
            ordered_again: AtomicBool::new(false),
        }
    }

    /// An image that was planned just now.
    pub(super) fn planned(
        token: MediaToken,
        id: RecipeId,
        recipe: Recipe,
        record: Record,
        planned: PlannedImage,
    ) -> Self {
        let image = Self::new(token, id, recipe, record);
        image.set(Some(Arc::clone(&planned.base)), ImageState::Available(Arc::new(planned)));
        image
    }

    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    /// Notes that somebody else relies on it now. Within the image's turn.
    pub(super) fn order_again(&self) {
        self.ordered_again.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_ordered_again(&self) -> bool {
        self.ordered_again.load(Ordering::Relaxed)
    }

    /// The identity of its recipe.
    pub fn id(&self) -> RecipeId {
        self.id
    }

    /// The credential in its URLs.
    pub fn token(&self) -> MediaToken {
        self.token
    }

    /// What its base was called when it was published; a data image has none.
    pub fn base_name(&self) -> Option<&BaseName> {
        self.record.base.as_ref()
    }

    /// What the user calls the host that it was published for first.
    pub fn label(&self) -> Option<&str> {
        self.record.label.as_deref()
    }

    /// What it is made from.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// When it was published first, in whole seconds.
    pub fn created(&self) -> SystemTime {
        self.record.created
    }

    /// The entity tags of its files, by their names; that of the iPXE script is not among them.
    pub fn etags(&self) -> impl Iterator<Item = (&str, ETag)> {
        self.record.files.iter().map(|(name, identity)| (name.as_str(), ETag::new(identity)))
    }

    /// The names of its files; that of the iPXE script is not among them.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.record.files.keys().map(String::as_str)
    }

    /// The name of the file that it is all about.
    pub(super) fn main_file(&self) -> Option<&str> {
        FileName::MAIN.iter().map(|name| name.as_str()).find(|name| self.record.files.contains_key(*name))
    }

    /// Whether it can be served at the moment.
    pub fn state(&self) -> ImageState {
        self.current().state.clone()
    }

    /// The plan, where the image can be served at the moment.
    pub fn available(&self) -> Option<Arc<PlannedImage>> {
        match self.state() {
            ImageState::Available(planned) => Some(planned),
            ImageState::Unavailable { .. } => None,
        }
    }

    /// Whether its state follows from this base.
    pub(super) fn is_over(&self, base: &Arc<OpenBase>) -> bool {
        self.current().base.as_ref().is_some_and(|current| Arc::ptr_eq(current, base))
    }

    /// Plans it again over a base with its identity, and makes sure that its bytes are those of when it was published.
    pub(super) fn plan_over(&self, base: &Arc<OpenBase>, media_url: &MediaUrl) -> Result<(), PlanError> {
        let planned = PlannedImage::plan(&self.recipe, base, &self.token, self.record.created, media_url);
        let same = planned.and_then(|planned| {
            if planned.identities() == self.record.files { Ok(planned) } else { Err(PlanError::OtherBytes) }
        });
        let (state, result) = match same {
            Ok(planned) => (ImageState::Available(Arc::new(planned)), Ok(())),
            Err(error) => (ImageState::Unavailable { reason: error.to_string() }, Err(error)),
        };
        self.set(Some(Arc::clone(base)), state);
        result
    }

    /// What of it was read since it was published, the server was started, or a boot of it began. Cheap.
    pub fn reading(&self) -> ReadingSnapshot {
        let files = self.available().map(|planned| planned.sizes()).unwrap_or_default();
        self.reading.snapshot(files)
    }

    /// Forgets what was read so far: a boot of it begins.
    pub fn restart_reading(&self) {
        self.reading.restart();
    }

    /// What of a file of it was read since `moment`; without one, since the server was started or a boot of it began.
    pub fn read_since(&self, file: &str, moment: Option<Instant>) -> Since {
        self.reading.since(file, moment)
    }

    /// How far its reading has come, by the files on it. The first time, directories of the image are read for it.
    pub fn progress(&self) -> Progress {
        self.progress_of(&self.reading())
    }

    /// [`progress`](Self::progress), of what was read by then.
    pub fn progress_of(&self, snapshot: &ReadingSnapshot) -> Progress {
        let planned = self.available();
        Progress::new(snapshot, |file| match &planned {
            Some(planned) => planned.layout(file.name),
            None => Arc::new(Layout::whole(file.name, None, file.size)),
        })
    }

    /// Takes it out of service, since no base has its identity. Whether that is news.
    pub(super) fn without_base(&self, why: &str) -> bool {
        let known = matches!(&*self.current(), Current { base: None, state: ImageState::Unavailable { reason } } if reason == why);
        if !known {
            self.set(None, ImageState::Unavailable { reason: why.to_owned() });
        }
        !known
    }

    fn set(&self, base: Option<Arc<OpenBase>>, state: ImageState) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Current { base, state };
    }

    fn current(&self) -> RwLockReadGuard<'_, Current> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a file name in its URL stands for.
    pub(super) fn find(&self, file: &str) -> Lookup {
        match &self.current().state {
            ImageState::Available(planned) => match planned.served.get_key_value(file) {
                Some((name, served)) => {
                    let (reading, host) = (Some(self.reading.file(name)), self.host.clone());
                    Lookup::Found(ServedFile { host, reading, ..served.clone() })
                }
                None => Lookup::NotFound,
            },
            ImageState::Unavailable { reason } if self.record.files.contains_key(file) || file == IPXE_SCRIPT => {
                Lookup::Unavailable(reason.clone())
            }
            ImageState::Unavailable { .. } => Lookup::NotFound,
        }
    }

    /// See [`Store::digest`](super::Store::digest).
    pub(super) fn digest(&self, file: FileName) -> io::Result<Digest> {
        // Held while reading: who asks for the same at the same time waits instead of reading the same.
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = digests.get(&file) {
            return Ok(*known);
        }
        let planned = match self.state() {
            ImageState::Available(planned) => planned,
            ImageState::Unavailable { reason } => return Err(io::Error::other(reason)),
        };
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("the image has no file {file}"));
        let part = planned.image.files.get(&file).ok_or_else(missing)?;
        let digest = planned.base.digest_of(part)?;
        digests.insert(file, digest);
        Ok(digest)
    }
}

impl std::fmt::Debug for StoredImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredImage").field("id", &self.id).field("token", &self.token).finish_non_exhaustive()
    }
}

/// Where the image's own `rootfs.img` is served, for a recipe that says that it is fetched from there.
fn rootfs_url(recipe: &Recipe, token: &MediaToken) -> Result<Option<RootfsUrl>, PlanError> {
    let Some(RootfsLocation::MediaPlane(media_url)) = &recipe.rootfs else { return Ok(None) };
    let media_url: MediaUrl = media_url.parse().map_err(PlanError::MediaUrl)?;
    Ok(Some(media_url.file(&token.as_str(), FileName::Rootfs.as_str()).parse()?))
}

impl PlannedImage {
    /// Plans an image and makes what is served of it.
    pub(super) fn plan(
        recipe: &Recipe,
        base: &Arc<OpenBase>,
        token: &MediaToken,
        created: SystemTime,
        media_url: &MediaUrl,
    ) -> Result<Self, PlanError> {
        let rootfs_url = rootfs_url(recipe, token)?;
        let image = Image::plan_at(recipe, &base.base, base.identity, rootfs_url.as_ref())?;
        let mut served = BTreeMap::new();
        for (name, part) in &image.files {
            let identity = base.identity_of(part).ok_or(PlanError::NoFile)?;
            served.insert(
                name.as_str(),
                ServedFile {
                    overlay: Arc::new(part.clone()),
                    base: Arc::new(base.files_of(part)),
                    etag: ETag::new(&identity),
                    last_modified: created,
                    changes: false,
                    host: None,
                    media_type: "application/octet-stream",
                    reading: None,
                },
            );
        }
        if let Some(script) = ipxe::script(&image, |file| media_url.file(&token.as_str(), file.as_str())) {
            let etag = ETag::new(&Digest::of(script.as_bytes()));
            let content = Segment::Own(Content::Bytes(Bytes::from(script)));
            served.insert(
                IPXE_SCRIPT,
                ServedFile {
                    overlay: Arc::new(Overlay::concatenated(&Sizes::new(), vec![content])?),
                    base: Arc::default(),
                    etag,
                    last_modified: created,
                    changes: false,
                    host: None,
                    media_type: "text/plain; charset=utf-8",
                    reading: None,
                },
            );
        }
        Ok(Self { base: Arc::clone(base), image, served, layouts: Layouts::default() })
    }

    /// What the bytes of each file are, in short.
    pub(super) fn identities(&self) -> BTreeMap<String, Digest> {
        let files = self.image.files.iter();
        files.filter_map(|(name, part)| Some((name.to_string(), self.base.identity_of(part)?))).collect()
    }

    /// The files that are served, in the order of their names, with their sizes.
    fn sizes(&self) -> Vec<(&'static str, u64)> {
        self.served.iter().map(|(name, file)| (*name, file.overlay.size())).collect()
    }

    pub(super) fn size(&self, file: &str) -> u64 {
        self.served.get(file).map_or(0, |file| file.overlay.size())
    }

    /// Where the files of the system lie in a file of the image. The first time, its directories are read for it.
    pub fn layout(&self, file: &str) -> Arc<Layout> {
        self.layouts.get(&self.image, &self.base, file, self.size(file))
    }

    /// Whether there is an iPXE script that boots it.
    pub fn has_ipxe_script(&self) -> bool {
        self.served.contains_key(IPXE_SCRIPT)
    }
}
