//! A published image.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use imagelib::digest::Digest;
use imagelib::image::FileName;
use imagelib::layout::Layout;
use imagelib::recipe::{Recipe, RecipeId};
use media::access::ImageAccess;
use media::reading::{ImageReading, Progress, ReadingSnapshot, Since, TakeAfter, TakenRead};
use media::served::{ETag, Lookup, ServedFile};
use media::{MediaToken, MediaUrl};
use parking_lot::{Mutex, RwLock};

use super::definition::BaseName;
use super::open_base::OpenBase;
use super::planned_image::{IPXE_SCRIPT, PlanError, PlannedImage};
use super::record::{Record, RecordedAccess};

/// A published image. Its URL, its bytes and its times never change.
pub struct StoredImage {
    id: RecipeId,
    token: MediaToken,
    /// Without its canonical form, which would take the same memory again.
    recipe: Recipe,
    /// The record, without the limits on the access, which can change.
    record: Record,
    /// The label, in a form that is cheap to clone for each request.
    host: Option<Arc<str>>,
    current: RwLock<Current>,
    digests: Mutex<BTreeMap<FileName, Digest>>,
    reading: ImageReading,
    /// Whether somebody ordered the image again.
    ordered_again: AtomicBool,
}

/// The present state of an image, the base that it depends on, and the limits on the access to it.
struct Current {
    base: Option<Arc<OpenBase>>,
    state: ImageState,
    access: Option<Arc<ImageAccess>>,
}

/// The plan of an image if the image can be served now. Otherwise the reason, for operators: its base is not available.
pub type ImageState = Result<Arc<PlannedImage>, String>;

impl StoredImage {
    /// An image that is not planned yet. `id` is the id of `recipe`.
    pub(super) fn new(
        token: MediaToken,
        id: RecipeId,
        recipe: Recipe,
        record: Record,
        access: Option<ImageAccess>,
    ) -> Self {
        let state = Err("it is not planned yet".to_owned());
        let current = RwLock::new(Current { base: None, state, access: access.map(Arc::new) });
        let record = Record { access: None, ..record };
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
        access: Option<ImageAccess>,
        planned: PlannedImage,
    ) -> Self {
        let image = Self::new(token, id, recipe, record, access);
        image.set(Some(Arc::clone(&planned.base)), Ok(Arc::new(planned)));
        image
    }

    /// The record with the limits as they are now, and what of them is used up.
    pub(super) fn record(&self) -> Record {
        self.record_with(self.access().as_deref())
    }

    /// The record as it is with other limits.
    pub(super) fn record_with(&self, access: Option<&ImageAccess>) -> Record {
        Record { access: access.map(RecordedAccess::of), ..self.record.clone() }
    }

    /// The limits on the access to the image.
    pub fn access(&self) -> Option<Arc<ImageAccess>> {
        self.current.read().access.clone()
    }

    /// Replaces the limits. The caller has locked the image, and written its record.
    pub(super) fn set_access(&self, access: Option<ImageAccess>) {
        self.current.write().access = access.map(Arc::new);
    }

    /// Whether the time to live of the image is over. It is then no longer served, and its record is about to be removed.
    pub fn has_ended(&self) -> bool {
        self.current.read().access.as_ref().is_some_and(|access| access.has_ended())
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
        let known = matches!(&*self.current.read(), Current { base: None, state: Err(reason), .. } if reason == why);
        if !known {
            self.set(None, Err(why.to_owned()));
        }
        !known
    }

    fn set(&self, base: Option<Arc<OpenBase>>, state: ImageState) {
        let mut current = self.current.write();
        (current.base, current.state) = (base, state);
    }

    /// Finds the file with this name in the image's URL.
    pub(super) fn find(&self, file: &str) -> Lookup {
        let current = self.current.read();
        if current.access.as_ref().is_some_and(|access| access.has_ended()) {
            return Lookup::NotFound;
        }
        match &current.state {
            Ok(planned) => match planned.served.get_key_value(file) {
                Some((name, served)) => {
                    let (reading, host) = (Some(self.reading.file(name)), self.host.clone());
                    let access =
                        current.access.as_ref().map(|access| Box::new(access.file(name, served.overlay.size())));
                    Lookup::Found(ServedFile { host, reading, access, ..served.clone() })
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
