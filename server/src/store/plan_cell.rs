//! The plan of an image, which dayone makes on demand and drops some time later.
//!
//! A plan takes more memory than all that an image needs otherwise, and a tenth of a millisecond to make again. So only these stay in
//! memory: the plans that were made last, those of images that clients are reading, and those of answers that are under way.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use media::MediaUrl;
use parking_lot::{Mutex, RwLock};

use super::open_base::OpenBase;
use super::planned_image::{PlanError, PlannedImage};

/// The maximum number of plans in memory of images that nobody reads.
const MAX_PLANS: usize = 256;

/// For how many checks of the bases, of which there is one every five seconds, an image counts as being read after a request. A client
/// that reads an image range by range must not have it planned for each range, however many others do the same.
const READ_FOR: u32 = 12;

/// How many plans dayone looks at, to give them up, when it makes one.
const LOOKED_AT: usize = 2;

/// A plan with more bytes of its own stays for good: to compress them again would take too long for a thread that serves.
const LARGE: u64 = 256 << 10;

/// The plan of an image if the image can be served now. Otherwise the reason, for operators: its base is not available.
pub type ImageState = Result<Arc<PlannedImage>, String>;

/// Whether an image can be served at present, by which plan, and the base that this depends on.
#[derive(Debug, Default)]
pub(super) struct PlanCell {
    present: RwLock<Present>,
    /// The number of the check in whose time a client last requested the image; 0 if none has.
    requested: AtomicU32,
}

#[derive(Debug)]
struct Present {
    base: Option<Arc<OpenBase>>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The bytes over this base have not been compared with the published ones yet.
    Unchecked,
    Possible(Plan),
    Impossible(String),
}

impl Default for Present {
    fn default() -> Self {
        Self { base: None, state: State::Impossible("it is not planned yet".to_owned()) }
    }
}

#[derive(Debug)]
struct Plan {
    /// The plan, as long as anybody has it.
    anywhere: Weak<PlannedImage>,
    kept: Option<Arc<PlannedImage>>,
    sizes: Box<[(&'static str, u64)]>,
}

impl PlanCell {
    /// The plan. If dayone has forgotten it, `plan` makes it again over its base.
    pub(super) fn state(
        self: &Arc<Self>,
        plans: &Plans,
        plan: impl FnOnce(&Arc<OpenBase>) -> Result<PlannedImage, PlanError>,
    ) -> ImageState {
        if let Some(known) = self.present.read().known() {
            return known;
        }
        let planned = {
            let mut present = self.present.write();
            // Somebody else may have made it meanwhile.
            if let Some(known) = present.known() {
                return known;
            }
            let Some(base) = present.base.clone() else { return Err("it has no base".to_owned()) };
            match plan(&base) {
                Ok(planned) => present.keep(planned),
                // It was possible over the same base before: a mistake in dayone.
                Err(error) => {
                    present.state = State::Impossible(error.to_string());
                    return Err(error.to_string());
                }
            }
        };
        // This cell is no longer locked: `made` may lock the cell of another image, whose thread may lock this one.
        plans.made(self);
        Ok(planned)
    }

    /// Notes that a client requests the image.
    pub(super) fn requested(&self, plans: &Plans) {
        self.requested.store(plans.checks.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Whether a client seems to be reading the image.
    fn is_read(&self, plans: &Plans) -> bool {
        let requested = self.requested.load(Ordering::Relaxed);
        requested != 0 && plans.checks.load(Ordering::Relaxed).wrapping_sub(requested) < READ_FOR
    }

    /// The base and what is known about the plan, without making it.
    pub(super) fn base_and_reason(&self) -> (Option<Arc<OpenBase>>, Result<(), String>) {
        let present = self.present.read();
        let reason = if let State::Impossible(reason) = &present.state { Err(reason.clone()) } else { Ok(()) };
        (present.base.clone(), reason)
    }

    /// The base, if the image has not been planned over it yet.
    pub(super) fn unchecked(&self) -> Option<Arc<OpenBase>> {
        let present = self.present.read();
        present.base.clone().filter(|_| matches!(present.state, State::Unchecked))
    }

    /// Sets the base. The first caller that needs the plan makes it.
    pub(super) fn leave_unchecked(&self, base: &Arc<OpenBase>) {
        *self.present.write() = Present { base: Some(Arc::clone(base)), state: State::Unchecked };
    }

    /// The files that are served and their sizes, in the order of their names; or the reason for none.
    pub(super) fn sizes(&self) -> Result<Box<[(&'static str, u64)]>, String> {
        match &self.present.read().state {
            State::Possible(plan) => Ok(plan.sizes.clone()),
            State::Impossible(reason) => Err(reason.clone()),
            State::Unchecked => Err("it is not planned yet".to_owned()),
        }
    }

    /// Whether the image can be served.
    pub(super) fn is_available(&self) -> bool {
        matches!(self.present.read().state, State::Possible(_))
    }

    /// Whether the image is planned over this base, or dayone found that it cannot be.
    pub(super) fn is_over(&self, base: &Arc<OpenBase>) -> bool {
        let present = self.present.read();
        let is_checked = !matches!(present.state, State::Unchecked);
        is_checked && present.base.as_ref().is_some_and(|present| Arc::ptr_eq(present, base))
    }

    /// The plan, if somebody has it.
    pub(super) fn in_memory(&self) -> Option<Arc<PlannedImage>> {
        match &self.present.read().state {
            State::Possible(plan) => plan.anywhere.upgrade(),
            State::Unchecked | State::Impossible(_) => None,
        }
    }

    /// Sets the plan, and its base.
    pub(super) fn set(&self, planned: PlannedImage) {
        let mut present = self.present.write();
        present.base = Some(Arc::clone(&planned.base));
        present.keep(planned);
    }

    /// Sets the result of a plan over the base that [`unchecked`](Self::unchecked) returned, unless the image has another result or
    /// another base by now.
    pub(super) fn settle(&self, base: &Arc<OpenBase>, planned: Result<PlannedImage, String>) {
        let mut present = self.present.write();
        let is_unchecked = matches!(present.state, State::Unchecked);
        if is_unchecked && present.base.as_ref().is_some_and(|present| Arc::ptr_eq(present, base)) {
            match planned {
                Ok(planned) => drop(present.keep(planned)),
                Err(reason) => present.state = State::Impossible(reason),
            }
        }
    }

    /// No plan over this base is possible, or there is no base.
    pub(super) fn set_reason(&self, base: Option<Arc<OpenBase>>, reason: String) {
        *self.present.write() = Present { base, state: State::Impossible(reason) };
    }

    /// Drops the plan, unless making it again takes long.
    pub(super) fn give_up(&self) {
        let mut present = self.present.write();
        let State::Possible(plan) = &mut present.state else { return };
        let given_up = plan.kept.take_if(|planned| planned.own_bytes() <= LARGE);
        drop(present);
        drop(given_up);
    }
}

impl Present {
    /// The plan or the reason for none; `None` if the plan is to be made again.
    fn known(&self) -> Option<ImageState> {
        match &self.state {
            State::Possible(plan) => plan.anywhere.upgrade().map(Ok),
            State::Impossible(reason) => Some(Err(reason.clone())),
            State::Unchecked => Some(Err("it is not planned yet".to_owned())),
        }
    }

    fn keep(&mut self, planned: PlannedImage) -> Arc<PlannedImage> {
        let planned = Arc::new(planned);
        let sizes = planned.sizes().into_boxed_slice();
        let plan = Plan { anywhere: Arc::downgrade(&planned), kept: Some(Arc::clone(&planned)), sizes };
        self.state = State::Possible(plan);
        planned
    }
}

/// The plans that are in memory, and what all plans have in common.
#[derive(Debug)]
pub(super) struct Plans {
    /// The beginning of images' URLs.
    pub(super) media_url: MediaUrl,
    /// Those that were made last are at the end.
    kept: Mutex<VecDeque<Weak<PlanCell>>>,
    /// The number of the next check of the bases.
    checks: AtomicU32,
}

impl Plans {
    pub(super) fn new(media_url: MediaUrl) -> Self {
        Self { media_url, kept: Mutex::default(), checks: AtomicU32::new(1) }
    }

    /// Notes that a cell has a plan, and drops one that nobody needs if there are too many.
    pub(super) fn made(&self, cell: &Arc<PlanCell>) {
        self.give_up(Some(cell), LOOKED_AT);
    }

    /// Notes that the bases are being checked, and drops the plans of images that are not read any more.
    pub(super) fn checked(&self) {
        self.checks.fetch_add(1, Ordering::Relaxed);
        self.give_up(None, usize::MAX);
    }

    /// Adds a cell, and looks at some plans while there are too many: gives up those of images that nobody reads.
    fn give_up(&self, added: Option<&Arc<PlanCell>>, looked_at: usize) {
        let mut given_up: Vec<Arc<PlanCell>> = Vec::new();
        {
            let mut kept = self.kept.lock();
            kept.extend(added.map(Arc::downgrade));
            for _ in 0..looked_at.min(kept.len()) {
                if kept.len() <= MAX_PLANS {
                    break;
                }
                match kept.pop_front().and_then(|cell| cell.upgrade()) {
                    Some(cell) if cell.is_read(self) => kept.push_back(Arc::downgrade(&cell)),
                    cell => given_up.extend(cell),
                }
            }
        }
        // Cells are locked only now: their threads may be waiting for the list.
        for cell in given_up {
            cell.give_up();
        }
    }
}
