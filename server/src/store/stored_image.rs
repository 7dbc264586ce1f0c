//! A published image.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use imagelib::digest::Digest;
use imagelib::image::{FileName, Image, ImageError};
use imagelib::layout::Layout;
use imagelib::overlay::{Content, Overlay, OverlayError, Segment, Sizes};
use imagelib::recipe::{Recipe, RecipeId, RootfsLocation, RootfsUrl, RootfsUrlError};
use media::reading::{ImageReading, Progress, ReadingSnapshot, Since, TakeAfter, TakenRead};
use media::served::{ETag, Lookup, ServedFile};
use media::{MediaToken, MediaUrl, MediaUrlError};
use parking_lot::{Mutex, RwLock};

use super::definition::BaseName;
use super::ipxe;
use super::layouts::Layouts;
use super::open_base::OpenBase;
use super::record::Record;

/// The iPXE script's name in an image's URL.
pub const IPXE_SCRIPT: &str = "boot.ipxe";

/// A published image. Its URL, its bytes and its times never change.
pub struct StoredImage {
    id: RecipeId,
    token: MediaToken,
    /// Without its canonical form, which would take the same memory again.
    recipe: Recipe,
    record: Record,
    /// The label, in a form that is cheap to clone for each request.
    host: Option<Arc<str>>,
    current: RwLock<Current>,
    digests: Mutex<BTreeMap<FileName, Digest>>,
    reading: ImageReading,
    /// Whether somebody ordered the image again.
    ordered_again: AtomicBool,
}

/// The present state of an image, and the base that it depends on.
struct Current {
    base: Option<Arc<OpenBase>>,
    state: ImageState,
}

/// The plan of an image if the image can be served now. Otherwise the reason, for operators: its base is not available.
pub type ImageState = Result<Arc<PlannedImage>, String>;

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

/// Why planning an image failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlanError {
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A mistake in dayone.
    #[error("the image does not fit its base: {0}")]
    Overlay(#[from] OverlayError),
    /// A mistake in dayone.
    #[error("the image needs a file that its base does not have")]
    NoFile,
    /// The media URL in the recipe is not valid.
    #[error("the URL of the root file system: {0}")]
    MediaUrl(MediaUrlError),
    /// The URL of the root file system cannot be a kernel argument.
    #[error(transparent)]
    RootfsUrl(#[from] RootfsUrlError),
    /// Another version of dayone published the image with other bytes.
    #[error(
        "with this version of dayone, the image would have other bytes than when it was published; run the version that \
         published it, or release the image and publish it again"
    )]
    OtherBytes,
}

impl StoredImage {
    /// An image that is not planned yet. `id` is the id of `recipe`.
    pub(super) fn new(token: MediaToken, id: RecipeId, recipe: Recipe, record: Record) -> Self {
        let state = Err("it is not planned yet".to_owned());
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

    /// An image that was just planned.
    pub(super) fn planned(
        token: MediaToken,
        id: RecipeId,
        recipe: Recipe,
        record: Record,
        planned: PlannedImage,
    ) -> Self {
        let image = Self::new(token, id, recipe, record);
        image.set(Some(Arc::clone(&planned.base)), Ok(Arc::new(planned)));
        image
    }

    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    /// Notes that somebody else relies on the image now. The caller has locked the image.
    pub(super) fn order_again(&self) {
        self.ordered_again.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_ordered_again(&self) -> bool {
        self.ordered_again.load(Ordering::Relaxed)
    }

    /// The id of the image.
    pub fn id(&self) -> RecipeId {
        self.id
    }

    /// The credential in its URLs.
    pub fn token(&self) -> MediaToken {
        self.token
    }

    /// The name that its base had when it was published. A data image has none.
    pub fn base_name(&self) -> Option<&BaseName> {
        self.record.base.as_ref()
    }

    /// The user's name for the host that the image was first published for.
    pub fn label(&self) -> Option<&str> {
        self.record.label.as_deref()
    }

    /// The recipe of the image.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// When it was first published, in whole seconds.
    pub fn created(&self) -> SystemTime {
        self.record.created
    }

    /// The entity tags of its files, by file name, without the iPXE script.
    pub fn etags(&self) -> impl Iterator<Item = (&str, ETag)> {
        self.record.files.iter().map(|(name, identity)| (name.as_str(), ETag::new(identity)))
    }

    /// The names of its files, without the iPXE script.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.record.files.keys().map(String::as_str)
    }

    /// The name of its main file.
    pub(super) fn main_file(&self) -> Option<&str> {
        FileName::MAIN.iter().map(|name| name.as_str()).find(|name| self.record.files.contains_key(*name))
    }

    /// Whether it can be served at the moment.
    pub fn state(&self) -> ImageState {
        self.current.read().state.clone()
    }

    /// The plan, if the image can be served at the moment.
    pub fn available(&self) -> Option<Arc<PlannedImage>> {
        self.state().ok()
    }

    /// Whether the image is planned over this base.
    pub(super) fn is_over(&self, base: &Arc<OpenBase>) -> bool {
        self.current.read().base.as_ref().is_some_and(|current| Arc::ptr_eq(current, base))
    }

    /// Plans it again over a base with its identity, and checks that its bytes are the same as when it was published.
    pub(super) fn plan_over(&self, base: &Arc<OpenBase>, media_url: &MediaUrl) -> Result<(), PlanError> {
        let planned = PlannedImage::plan(&self.recipe, base, &self.token, self.record.created, media_url);
        let same = planned.and_then(|planned| {
            if planned.identities() == self.record.files { Ok(planned) } else { Err(PlanError::OtherBytes) }
        });
        let (state, result) = match same {
            Ok(planned) => (Ok(Arc::new(planned)), Ok(())),
            Err(error) => (Err(error.to_string()), Err(error)),
        };
        self.set(Some(Arc::clone(base)), state);
        result
    }

    /// The record of what was read since the image was published, the server was started, or a boot of it began. Cheap.
    pub fn reading(&self) -> ReadingSnapshot {
        let files = self.available().map(|planned| planned.sizes()).unwrap_or_default();
        self.reading.snapshot(files)
    }

    /// Clears the record of what was read, because a boot begins.
    pub fn restart_reading(&self) {
        self.reading.restart();
    }

    /// Takes what clients have read and nobody has taken yet, for the audit log; and how many reads were dropped.
    pub fn take_reads(&self, after: TakeAfter) -> (Vec<TakenRead>, u64) {
        self.reading.take_reads(after)
    }

    /// What was read of a file since `moment`, or without one, since the server was started or a boot began.
    pub fn read_since(&self, file: &str, moment: Option<Instant>) -> Since {
        self.reading.since(file, moment)
    }

    /// How much was read, by the files in the image. The first call reads directories of the image.
    pub fn progress(&self) -> Progress {
        self.progress_of(&self.reading())
    }

    /// [`progress`](Self::progress) at the time of this snapshot.
    pub fn progress_of(&self, snapshot: &ReadingSnapshot) -> Progress {
        let planned = self.available();
        Progress::new(snapshot, |file| match &planned {
            Some(planned) => planned.layout(file.name),
            None => Arc::new(Layout::whole(file.name, None, file.size)),
        })
    }

    /// How many answers with bytes of the image are under way.
    pub(super) fn transfers(&self) -> usize {
        self.available().map_or(0, |planned| planned.transfers())
    }

    /// Takes the image out of service, because no base has its identity. Returns whether that is a change.
    pub(super) fn lose_base(&self, why: &str) -> bool {
        let known = matches!(&*self.current.read(), Current { base: None, state: Err(reason) } if reason == why);
        if !known {
            self.set(None, Err(why.to_owned()));
        }
        !known
    }

    fn set(&self, base: Option<Arc<OpenBase>>, state: ImageState) {
        *self.current.write() = Current { base, state };
    }

    /// Finds the file with this name in the image's URL.
    pub(super) fn find(&self, file: &str) -> Lookup {
        match &self.current.read().state {
            Ok(planned) => match planned.served.get_key_value(file) {
                Some((name, served)) => {
                    let (reading, host) = (Some(self.reading.file(name)), self.host.clone());
                    Lookup::Found(ServedFile { host, reading, ..served.clone() })
                }
                None => Lookup::NotFound,
            },
            Err(reason) if self.record.files.contains_key(file) || file == IPXE_SCRIPT => {
                Lookup::Unavailable(reason.clone())
            }
            Err(_) => Lookup::NotFound,
        }
    }

    /// The SHA-256 of a file of the image. Reads the base from the first changed byte on, and remembers the result.
    pub fn digest(&self, file: FileName) -> io::Result<Digest> {
        // The lock is held while reading, so that other callers wait instead of reading the same.
        let mut digests = self.digests.lock();
        if let Some(known) = digests.get(&file) {
            return Ok(*known);
        }
        let planned = self.state().map_err(io::Error::other)?;
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

/// The URL of the image's own `rootfs.img`, for a recipe whose host fetches it from the media plane.
fn rootfs_url(recipe: &Recipe, token: &MediaToken) -> Result<Option<RootfsUrl>, PlanError> {
    let Some(RootfsLocation::MediaPlane(media_url)) = &recipe.rootfs else { return Ok(None) };
    let media_url: MediaUrl = media_url.parse().map_err(PlanError::MediaUrl)?;
    Ok(Some(media_url.file(&token.as_str(), FileName::Rootfs.as_str()).parse()?))
}

impl PlannedImage {
    /// Plans an image, and prepares the files that are served.
    pub(super) fn plan(
        recipe: &Recipe,
        base: &Arc<OpenBase>,
        token: &MediaToken,
        created: SystemTime,
        media_url: &MediaUrl,
    ) -> Result<Self, PlanError> {
        let rootfs_url = rootfs_url(recipe, token)?;
        let image = Image::plan_at(recipe, &base.base, base.identity, rootfs_url.as_ref())?;
        let served_file = |overlay: Overlay, identity: &Digest, media_type| ServedFile {
            base: Arc::new(base.files_of(&overlay)),
            overlay: Arc::new(overlay),
            etag: ETag::new(identity),
            last_modified: created,
            changes: false,
            host: None,
            media_type,
            reading: None,
        };
        let mut served = BTreeMap::new();
        for (name, part) in &image.files {
            let identity = base.identity_of(part).ok_or(PlanError::NoFile)?;
            served.insert(name.as_str(), served_file(part.clone(), &identity, "application/octet-stream"));
        }
        if let Some(script) = ipxe::script(&image, |file| media_url.file(&token.as_str(), file.as_str())) {
            let identity = Digest::of(script.as_bytes());
            let content = Segment::Own(Content::Bytes(Bytes::from(script)));
            let overlay = Overlay::concatenated(&Sizes::new(), vec![content])?;
            served.insert(IPXE_SCRIPT, served_file(overlay, &identity, "text/plain; charset=utf-8"));
        }
        Ok(Self { base: Arc::clone(base), image, served, layouts: Layouts::default() })
    }

    /// The identities of the bytes of each file.
    pub(super) fn identities(&self) -> BTreeMap<String, Digest> {
        let files = self.image.files.iter();
        files.filter_map(|(name, part)| Some((name.to_string(), self.base.identity_of(part)?))).collect()
    }

    /// The served files in the order of their names, with their sizes.
    fn sizes(&self) -> Vec<(&'static str, u64)> {
        self.served.iter().map(|(name, file)| (*name, file.overlay.size())).collect()
    }

    /// How many answers with bytes of the image are under way: each of them holds the files of the base.
    fn transfers(&self) -> usize {
        self.served.values().map(|file| Arc::strong_count(&file.base).saturating_sub(1)).sum()
    }

    pub(super) fn size(&self, file: &str) -> u64 {
        self.served.get(file).map_or(0, |file| file.overlay.size())
    }

    /// The layout of a file of the image. The first call reads the directories in the image.
    pub fn layout(&self, file: &str) -> Arc<Layout> {
        self.layouts.get(&self.image, &self.base, file, self.size(file))
    }

    /// Whether the image has an iPXE script.
    pub fn has_ipxe_script(&self) -> bool {
        self.served.contains_key(IPXE_SCRIPT)
    }
}
