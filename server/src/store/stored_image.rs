//! A published image.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use imagelib::base::{BaseIdentity, Format};
use imagelib::digest::Digest;
use imagelib::image::FileName;
use imagelib::recipe::{PartOrder, RecipeId, SealedRecipe};
use media::MediaToken;
use media::access::{Clock, Deadline, ImageAccess};
use media::served::{ETag, Lookup, ServedFile};
use parking_lot::RwLock;
use tracing::error;

use super::address::Address;
use super::common::Common;
use super::definition::BaseName;
use super::file_digests::FileDigests;
use super::identities::Identities;
use super::layouts::Layouts;
use super::open_base::OpenBase;
use super::packed_recipe::{PackedRecipe, UnpackError};
use super::plan_cell::{ImageState, PlanCell, Plans};
use super::planned_image::{IPXE_SCRIPT, PlanError, PlannedImage};
use super::record::{Record, RecordedAccess};

/// A published image under one installation key. Its URL, its bytes and its times never change.
///
/// While a replaced key is still valid, an image has one value for each of the two keys.
pub struct StoredImage {
    id: RecipeId,
    address: Address,
    recipe: Arc<PackedRecipe>,
    /// The record, without the limits on the access, which can change.
    record: Record,
    /// The label, in a form that is cheap to clone for each request.
    host: Option<Arc<str>>,
    plan: Arc<PlanCell>,
    plans: Arc<Plans>,
    pub(super) layouts: Layouts,
    digests: FileDigests,
    /// What this image has in common with the same image under the other key.
    pub(super) common: Arc<Common>,
    /// The token of this image under the other installation key, of which the record may be.
    counterpart: Option<MediaToken>,
    /// The identities of the bytes, if the record has those of the bytes under the other key.
    adopted: OnceLock<Identities>,
    /// Whether the record on disk has these identities.
    recorded: AtomicBool,
    /// When its URL ends, if its key was replaced.
    ends: RwLock<Option<(Deadline, Clock)>>,
}

impl StoredImage {
    /// An image that is not planned yet. `id` is that of `recipe`. `counterpart` is its token under another installation key,
    /// of which the record may be.
    pub(super) fn new(
        address: Address,
        counterpart: Option<MediaToken>,
        id: RecipeId,
        recipe: PackedRecipe,
        record: Record,
        access: Option<ImageAccess>,
        plans: &Arc<Plans>,
    ) -> Self {
        let common = Common::new(access);
        let record = Record { access: None, ..record };
        let host = record.label.as_deref().map(Arc::from);
        Self::with(address, counterpart, id, Arc::new(recipe), record, host, Arc::new(common), Arc::clone(plans))
    }

    #[allow(clippy::too_many_arguments, reason = "one for each field")]
    fn with(
        address: Address,
        counterpart: Option<MediaToken>,
        id: RecipeId,
        recipe: Arc<PackedRecipe>,
        record: Record,
        host: Option<Arc<str>>,
        common: Arc<Common>,
        plans: Arc<Plans>,
    ) -> Self {
        Self {
            id,
            address,
            recipe,
            record,
            host,
            plan: Arc::default(),
            plans,
            layouts: Layouts::default(),
            digests: FileDigests::default(),
            common,
            counterpart,
            adopted: OnceLock::new(),
            recorded: AtomicBool::new(false),
            ends: RwLock::default(),
        }
    }

    /// An image that was just planned.
    pub(super) fn planned(
        address: Address,
        id: RecipeId,
        recipe: &SealedRecipe,
        record: Record,
        access: Option<ImageAccess>,
        planned: PlannedImage,
        plans: &Arc<Plans>,
    ) -> Self {
        let image = Self::new(address, None, id, PackedRecipe::of(recipe), record, access, plans);
        image.plan.set(planned);
        plans.made(&image.plan);
        image
    }

    /// The same image at the address under another installation key. It is planned over the same base.
    pub(super) fn at(&self, address: Address) -> Self {
        let counterpart = Some(self.address.token);
        let record = Record { files: self.identities().clone(), ..self.record.clone() };
        let (recipe, host, common) = (Arc::clone(&self.recipe), self.host.clone(), Arc::clone(&self.common));
        let image = Self::with(address, counterpart, self.id, recipe, record, host, common, Arc::clone(&self.plans));
        match self.plan.base_and_reason() {
            // What prevents the plan prevents it at the other address, too, which keeps the reason.
            (Some(base), Ok(())) => drop(image.plan_over(&base)),
            (base, Err(reason)) => image.plan.set_reason(base, reason),
            (None, Ok(())) => {}
        }
        image
    }

    /// The record with the limits as they are now, and what of them is used up.
    pub(super) fn record(&self) -> Record {
        self.record_with(self.access().as_deref())
    }

    /// The record as it is with other limits.
    pub(super) fn record_with(&self, access: Option<&ImageAccess>) -> Record {
        let files = self.identities().clone();
        Record { access: access.map(RecordedAccess::of), files, ..self.record.clone() }
    }

    /// The id of the image.
    pub fn id(&self) -> RecipeId {
        self.id
    }

    /// The credential in its URLs.
    pub fn token(&self) -> MediaToken {
        self.address.token
    }

    /// The UUID in the URL of a file, if URLs have the form with UUIDs.
    pub(super) fn uuid(&self, file: &str) -> Option<&str> {
        let found = self.address.uuids.iter().find(|(_, name)| name == file);
        found.map(|(uuid, _)| uuid.as_str())
    }

    /// The secrets in its URLs.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Sets when its URL ends, because its installation key was replaced; `None` if its key is the present one.
    pub(super) fn end_address(&self, at: Option<(Deadline, Clock)>) {
        *self.ends.write() = at;
    }

    /// The identities of the bytes of its files, without the iPXE script.
    fn identities(&self) -> &Identities {
        self.adopted.get().unwrap_or(&self.record.files)
    }

    /// Whether its record is of the bytes that it has under an installation key that was replaced.
    pub(super) fn is_to_be_recorded(&self) -> bool {
        self.adopted.get().is_some() && !self.recorded.load(Ordering::Relaxed)
    }

    /// Notes that its record is of the bytes that it has under its own key.
    pub(super) fn adoption_is_recorded(&self) {
        self.recorded.store(true, Ordering::Relaxed);
    }

    /// Whether dayone does not know yet whether the record is of the bytes under this key or under the other one.
    pub(super) fn is_undecided(&self) -> bool {
        self.counterpart.is_some() && self.recipe.holds_its_url && !self.is_available()
    }

    /// The name that its base had when it was published. A data image has none.
    pub fn base_name(&self) -> Option<&BaseName> {
        self.record.base.as_ref()
    }

    /// The user's name for the host that the image was first published for.
    pub fn label(&self) -> Option<&str> {
        self.record.label.as_deref()
    }

    /// The recipe of the image. Unpacks it each time.
    pub fn recipe(&self) -> Result<SealedRecipe, UnpackError> {
        self.recipe.unpack().inspect_err(|error| error!(image = %self.id, %error, "an image is damaged in memory"))
    }

    /// The identity of its base.
    pub fn base(&self) -> BaseIdentity {
        self.recipe.base
    }

    /// Its format.
    pub fn format(&self) -> Format {
        self.recipe.format
    }

    /// Whether it has keyfiles.
    pub fn has_keyfiles(&self) -> bool {
        self.recipe.has_keyfiles
    }

    /// The order of the parts of its recipe.
    pub(super) fn order(&self) -> PartOrder {
        self.recipe.order
    }

    /// When it was first published, in whole seconds.
    pub fn created(&self) -> SystemTime {
        self.record.created
    }

    /// The entity tags of its files, by file name, without the iPXE script.
    pub fn etags(&self) -> impl Iterator<Item = (&str, ETag)> {
        self.identities().iter().map(|(name, identity)| (name, ETag::new(identity)))
    }

    /// The names of its files, without the iPXE script.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.record.files.names()
    }

    /// The name of its main file.
    pub fn main_file(&self) -> Option<&str> {
        FileName::MAIN.iter().map(|name| name.as_str()).find(|name| self.record.files.has(name))
    }

    /// The plan, or why the image cannot be served at the moment.
    pub fn state(&self) -> ImageState {
        self.check();
        self.plan.state(&self.plans, |base| self.plan_at(&self.address.token, base))
    }

    /// The plan, if the image can be served at the moment.
    pub fn available(&self) -> Option<Arc<PlannedImage>> {
        self.state().ok()
    }

    /// Whether the image can be served at the moment. Does not need the plan.
    pub fn is_available(&self) -> bool {
        self.check();
        self.plan.is_available()
    }

    /// The files that are served and their sizes, in the order of their names, or why there are none. Does not need the plan.
    pub fn sizes(&self) -> Result<Box<[(&'static str, u64)]>, String> {
        self.check();
        self.plan.sizes()
    }

    /// Plans the image if it has not been planned over its base yet.
    fn check(&self) {
        let Some(base) = self.plan.unchecked() else { return };
        let planned = self.plan_as_published(&base).map_err(|error| error.to_string());
        self.plan.settle(&base, planned);
        self.plans.made(&self.plan);
    }

    /// Whether no base has its identity. Does not need the plan.
    pub(super) fn lacks_base(&self) -> bool {
        self.plan.base_and_reason().0.is_none()
    }

    /// Whether the image is planned over this base.
    pub(super) fn is_over(&self, base: &Arc<OpenBase>) -> bool {
        self.plan.is_over(base)
    }

    fn plan_at(&self, token: &MediaToken, base: &Arc<OpenBase>) -> Result<PlannedImage, PlanError> {
        PlannedImage::plan(self.recipe.unpack()?.recipe(), base, token, self.record.created, &self.plans.media_url)
    }

    /// Takes a base with its identity. The first caller that needs the plan makes it. While an installation key is being replaced, plans
    /// the image at once: its bytes tell then which key the record is for.
    pub(super) fn plan_later(&self, base: &Arc<OpenBase>) -> Result<(), PlanError> {
        if self.counterpart.is_some() {
            return self.plan_over(base);
        }
        self.plan.leave_unchecked(base);
        Ok(())
    }

    /// Plans it again over a base with its identity, and checks that its bytes are the same as when it was published.
    pub(super) fn plan_over(&self, base: &Arc<OpenBase>) -> Result<(), PlanError> {
        match self.plan_as_published(base) {
            Ok(planned) => {
                self.plan.set(planned);
                // No caller needs the plan yet, and there may be ten thousand images.
                self.plan.give_up();
                Ok(())
            }
            Err(error) => {
                self.plan.set_reason(Some(Arc::clone(base)), error.to_string());
                Err(error)
            }
        }
    }

    /// Plans the image, and checks that its bytes are the same as when it was published.
    ///
    /// An image that holds its own URL has other bytes under each installation key. If the record is of those under the other
    /// key, dayone makes these, too, and compares them.
    fn plan_as_published(&self, base: &Arc<OpenBase>) -> Result<PlannedImage, PlanError> {
        let same = self.plan_at(&self.address.token, base).and_then(|planned| {
            let identities = planned.identities();
            if identities == *self.identities() {
                return Ok(planned);
            }
            let counterpart = self.counterpart.as_ref().filter(|_| self.recipe.holds_its_url);
            let recorded =
                counterpart.map(|token| self.plan_at(token, base).map(|planned| planned.identities())).transpose()?;
            if recorded.as_ref() != Some(self.identities()) || self.adopted.set(identities).is_err() {
                return Err(PlanError::OtherBytes { holds_its_url: self.recipe.holds_its_url });
            }
            Ok(planned)
        });
        same.inspect_err(|error| error!(image = %self.id, %error, "image is not served"))
    }

    /// How many answers with bytes of the image are under way.
    pub(super) fn transfers(&self) -> usize {
        self.plan.in_memory().map_or(0, |planned| planned.transfers())
    }

    /// Takes the image out of service, because no base has its identity. Returns whether that is a change.
    pub(super) fn lose_base(&self, why: &str) -> bool {
        let known = matches!(self.plan.base_and_reason(), (None, Err(reason)) if reason == why);
        if !known {
            self.plan.set_reason(None, why.to_owned());
        }
        !known
    }

    /// Whether the grace period of the replaced installation key is over.
    fn address_has_ended(&self) -> bool {
        self.ends.read().as_ref().is_some_and(|(deadline, clock)| deadline.is_over(clock.now()))
    }

    /// Finds the file with this name in the image's URL.
    pub(super) fn find(&self, file: &str) -> Lookup {
        let access = self.access();
        if access.as_ref().is_some_and(|access| access.has_ended()) || self.address_has_ended() {
            return Lookup::NotFound;
        }
        self.plan.requested(&self.plans);
        match self.state() {
            Ok(planned) => match planned.served(file) {
                Some((name, served)) => {
                    let (reading, host) = (Some(self.common.reading.file(name)), self.host.clone());
                    let access = access.map(|access| Box::new(access.file(name, served.overlay.size())));
                    let served = served.clone();
                    Lookup::Found(ServedFile { host, reading, access, keeps: Some(planned), ..served })
                }
                None => Lookup::NotFound,
            },
            Err(reason) if self.record.files.has(file) || file == IPXE_SCRIPT => Lookup::Unavailable(reason),
            Err(_) => Lookup::NotFound,
        }
    }

    /// The SHA-256 of a file of the image, if it is known. Never waits.
    pub fn known_digest(&self, file: FileName) -> Option<Digest> {
        self.digests.known(file)
    }

    /// The SHA-256 of a file of the image. Reads the base from the first changed byte on, and remembers the result.
    pub fn digest(&self, file: FileName) -> io::Result<Digest> {
        self.digests.get(file, || {
            let planned = self.state().map_err(io::Error::other)?;
            let missing = || io::Error::new(io::ErrorKind::NotFound, format!("the image has no file {file}"));
            planned.base.digest_of(planned.image.files.get(&file).ok_or_else(missing)?)
        })
    }
}

impl std::fmt::Debug for StoredImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredImage").field("id", &self.id).field("token", &self.address.token).finish_non_exhaustive()
    }
}
