//! The plan of an image, which dayone makes when somebody asks for it and forgets some time later.
//!
//! A plan takes more memory than all that an image needs otherwise, and a tenth of a millisecond to make again. So only the plans that
//! were made last stay in memory, and those of answers that are under way.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use media::MediaUrl;
use parking_lot::{Mutex, RwLock};

use super::open_base::OpenBase;
use super::planned_image::{PlanError, PlannedImage};

/// How many plans stay in memory.
const MOST: usize = 1024;

/// A plan with more bytes of its own stays for good: to compress them again would take too long for a thread that serves.
const LARGE: u64 = 256 << 10;

/// The plan of an image if the image can be served now. Otherwise the reason, for operators: its base is not available.
pub type ImageState = Result<Arc<PlannedImage>, String>;

/// Whether an image can be served at present, by which plan, and the base that this depends on.
#[derive(Debug, Default)]
pub(super) struct PlanCell(RwLock<Present>);

#[derive(Debug)]
struct Present {
    base: Option<Arc<OpenBase>>,
    state: Result<Plan, String>,
}

impl Default for Present {
    fn default() -> Self {
        Self { base: None, state: Err("it is not planned yet".to_owned()) }
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
        if let Some(known) = self.0.read().known() {
            return known;
        }
        let planned = {
            let mut present = self.0.write();
            // Somebody else may have made it meanwhile.
            if let Some(known) = present.known() {
                return known;
            }
            let Some(base) = present.base.clone() else { return Err("it has no base".to_owned()) };
            match plan(&base) {
                Ok(planned) => present.keep(planned),
                // It was possible over the same base before: a mistake in dayone.
                Err(error) => {
                    present.state = Err(error.to_string());
                    return Err(error.to_string());
                }
            }
        };
        // The cell is not locked any more: others may give up its plan, while this gives up theirs.
        plans.made(self);
        Ok(planned)
    }

    /// The base and what is known about the plan, without making it.
    pub(super) fn base_and_reason(&self) -> (Option<Arc<OpenBase>>, Result<(), String>) {
        let present = self.0.read();
        (present.base.clone(), present.state.as_ref().map(|_| ()).map_err(Clone::clone))
    }

    /// The files that are served and their sizes, in the order of their names; or the reason for none.
    pub(super) fn sizes(&self) -> Result<Box<[(&'static str, u64)]>, String> {
        self.0.read().state.as_ref().map(|plan| plan.sizes.clone()).map_err(Clone::clone)
    }

    /// Whether the image can be served.
    pub(super) fn is_available(&self) -> bool {
        self.0.read().state.is_ok()
    }

    /// Whether the image is planned over this base, or dayone found that it cannot be.
    pub(super) fn is_over(&self, base: &Arc<OpenBase>) -> bool {
        self.0.read().base.as_ref().is_some_and(|present| Arc::ptr_eq(present, base))
    }

    /// The plan, if somebody has it.
    pub(super) fn in_memory(&self) -> Option<Arc<PlannedImage>> {
        self.0.read().state.as_ref().ok()?.anywhere.upgrade()
    }

    /// A plan over this base is possible, or the reason against it.
    pub(super) fn set(&self, base: Option<Arc<OpenBase>>, state: Result<PlannedImage, String>) {
        let mut present = self.0.write();
        present.base = base;
        match state {
            Ok(planned) => drop(present.keep(planned)),
            Err(reason) => present.state = Err(reason),
        }
        drop(present);
    }

    /// Forgets the plan, unless it takes long to make it again.
    pub(super) fn give_up(&self) {
        let mut present = self.0.write();
        let Ok(plan) = &mut present.state else { return };
        let given_up = plan.kept.take_if(|planned| planned.own_bytes() <= LARGE);
        drop(present);
        drop(given_up);
    }
}

impl Present {
    /// The plan or the reason for none; `None` if the plan is to be made again.
    fn known(&self) -> Option<ImageState> {
        match &self.state {
            Ok(plan) => plan.anywhere.upgrade().map(Ok),
            Err(reason) => Some(Err(reason.clone())),
        }
    }

    fn keep(&mut self, planned: PlannedImage) -> Arc<PlannedImage> {
        let planned = Arc::new(planned);
        let sizes = planned.sizes().into_boxed_slice();
        self.state = Ok(Plan { anywhere: Arc::downgrade(&planned), kept: Some(Arc::clone(&planned)), sizes });
        planned
    }
}

/// The plans that were made last, and what all plans have in common.
#[derive(Debug)]
pub(super) struct Plans {
    /// The beginning of images' URLs.
    pub(super) media_url: MediaUrl,
    last: Mutex<VecDeque<Weak<PlanCell>>>,
}

impl Plans {
    pub(super) fn new(media_url: MediaUrl) -> Self {
        Self { media_url, last: Mutex::default() }
    }

    /// Notes that a cell has a plan, and lets another one give up its own.
    pub(super) fn made(&self, cell: &Arc<PlanCell>) {
        let first = {
            let mut last = self.last.lock();
            last.push_back(Arc::downgrade(cell));
            if last.len() > MOST { last.pop_front() } else { None }
        };
        if let Some(first) = first.and_then(|cell| cell.upgrade()) {
            first.give_up();
        }
    }
}
