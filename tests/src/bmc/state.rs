//! The state of a BMC, behind one lock that is never held across an `await`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::answer::Answer;
use super::behaviour::Shows;
use super::fault::Fault;
use super::machine::Boot;
use super::record::Record;
use super::session::Sessions;
use super::tree::Tree;
use super::vendor::Vendor;

pub(super) struct State {
    pub(super) tree: Tree,
    pub(super) faults: Vec<Fault>,
    /// How many requests the BMC has carried out and not answered yet.
    pub(super) late_answers: usize,
    pub(super) records: Vec<Record>,
    pub(super) sessions: Sessions,
    pub(super) slots: BTreeMap<String, Slot>,
    /// The path of the System.
    pub(super) system: String,
    /// The answers of tasks, by the paths of their monitors. `None` until a task has ended.
    pub(super) tasks: BTreeMap<String, Option<Answer>>,
    pub(super) boots: Vec<Boot>,
    pub(super) call_home: Option<String>,
    /// The running change of power.
    pub(super) transition: Option<AbortHandle>,
    /// The running boot of the machine.
    pub(super) running: Option<AbortHandle>,
}

/// The hidden state of a slot.
pub(super) struct Slot {
    /// The image in the slot.
    pub(super) image: Option<String>,
    /// The members of the resource if the slot is empty.
    empty: Vec<(&'static str, Value)>,
    /// Until when the slot still shows an ejected medium.
    still_inserted: Option<Instant>,
    /// Until when the slot refuses changes.
    pub(super) busy: Option<Instant>,
}

/// The members of a slot that change with its medium.
const SHOWN: [&str; 4] = ["Image", "ImageName", "Inserted", "ConnectedVia"];

impl State {
    pub(super) fn new(vendor: &Vendor) -> Self {
        let tree = Tree::new(&vendor.resources);
        let slots = tree.of_type("VirtualMedia").into_iter().map(|path| {
            let slot = Slot::new(tree.get(&path).expect("it was found there"));
            (path, slot)
        });
        let slots = slots.collect();
        let system = tree.of_type("ComputerSystem").into_iter().next().expect("a system");
        Self {
            tree,
            faults: Vec::new(),
            late_answers: 0,
            records: Vec::new(),
            sessions: Sessions::default(),
            slots,
            system,
            tasks: BTreeMap::new(),
            boots: Vec::new(),
            call_home: None,
            transition: None,
            running: None,
        }
    }

    /// Carries out the changes that are due by now.
    pub(super) fn advance(&mut self) {
        let now = Instant::now();
        for (path, slot) in &mut self.slots {
            if slot.still_inserted.is_some_and(|until| until <= now) {
                slot.still_inserted = None;
                show_empty(&mut self.tree, path, slot, false);
            }
            slot.busy = slot.busy.filter(|until| *until > now);
        }
    }

    pub(super) fn fill(&mut self, path: &str, image: &str, shows: Shows) {
        let name = image.rsplit('/').next().unwrap_or_default();
        let shown_image = match shows {
            Shows::Url => json!(image),
            Shows::FileName => json!(name),
            Shows::NoScheme => json!(image.split_once("://").map_or(image, |(_, rest)| rest)),
            Shows::Nothing => Value::Null,
        };
        let shown = [shown_image, json!(name), json!(true), json!("URI")];
        for (member, value) in SHOWN.into_iter().zip(shown) {
            self.tree.set(path, &format!("/{member}"), value);
        }
        let slot = self.slots.get_mut(path).expect("a slot");
        slot.image = Some(image.to_owned());
        slot.still_inserted = None;
    }

    /// Ejects the medium. If the machine still reads it, its boot fails.
    pub(super) fn empty(&mut self, path: &str, keeps_image: bool, still: Option<Instant>, busy: Option<Instant>) {
        let slot = self.slots.get_mut(path).expect("a slot");
        let image = slot.image.take();
        (slot.still_inserted, slot.busy) = (still, busy);
        if still.is_none() {
            show_empty(&mut self.tree, path, slot, keeps_image);
        }
        if let Some(boot) = self.boots.last_mut().filter(|boot| !boot.is_over() && boot.image == image) {
            boot.end = Some(Err("the medium was taken out while it was read".to_owned()));
            self.running.take().inspect(AbortHandle::abort);
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.tree.get(&self.system).is_some_and(|system| system["PowerState"] == "On")
    }

    /// Switches the machine off, and aborts a running change of power.
    pub(super) fn power_off(&mut self) {
        self.transition.take().inspect(AbortHandle::abort);
        self.halt();
    }

    /// Stops the machine.
    pub(super) fn halt(&mut self) {
        self.running.take().inspect(AbortHandle::abort);
        if let Some(boot) = self.boots.last_mut().filter(|boot| !boot.is_over()) {
            boot.end = Some(Err("it was switched off while it booted".to_owned()));
        }
        let system = self.system.clone();
        self.tree.set(&system, "/PowerState", json!("Off"));
        self.progress("None");
    }

    /// Sets the progress of the boot, if the firmware shows it.
    pub(super) fn progress(&mut self, state: &str) {
        let system = self.system.clone();
        if self.tree.get(&system).is_some_and(|system| system["BootProgress"].is_object()) {
            self.tree.set(&system, "/BootProgress/LastState", json!(state));
        }
    }
}

impl Slot {
    fn new(resource: &Value) -> Self {
        let inserted = resource["Inserted"] == true && resource["ConnectedVia"] != "NotConnected";
        let image = resource["Image"].as_str().filter(|_| inserted).map(str::to_owned);
        let empty = match image {
            Some(_) => [Value::Null, Value::Null, json!(false), json!("NotConnected")],
            None => SHOWN.map(|member| resource[member].clone()),
        };
        Self { image, empty: SHOWN.into_iter().zip(empty).collect(), still_inserted: None, busy: None }
    }
}

fn show_empty(tree: &mut Tree, path: &str, slot: &Slot, keeps_image: bool) {
    for (member, value) in &slot.empty {
        if !(keeps_image && member.starts_with("Image")) {
            tree.set(path, &format!("/{member}"), value.clone());
        }
    }
}
