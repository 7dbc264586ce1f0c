//! Reads the slots for virtual media.

use super::Bmc;
use super::error::BmcError;
use super::hidden_slots::HiddenSlots;
use super::medium::Medium;
use super::properties::last_segment;
use super::refusals::is_answer;
use super::slot;
use super::survey::Slot;
use super::vendor::Vendor;
use crate::{RedfishError, Resource};

/// Maximum number of slots that are read from one collection.
const MAX_SLOTS: usize = 16;

impl Bmc {
    /// Reads a slot, with its `ETag`.
    pub(super) async fn read_slot(&self, path: &str) -> Result<(Slot, Option<String>), RedfishError> {
        let Resource { body, etag, .. } = self.client().get(path).await?;
        Ok((Slot::read(path, &body), etag))
    }

    /// Reads the slots of these collections. Keeps a refusal (403) and goes on, because a host can boot by HTTP without slots.
    pub(super) async fn slots(
        &self,
        collections: &[String],
        vendor: Vendor,
        hidden: &mut HiddenSlots,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Slot>, BmcError> {
        let mut slots = Vec::new();
        for collection in collections {
            let mut paths = match self.collection(collection).await {
                Ok(read) => {
                    if let Some(error) = &read.incomplete {
                        hidden.add(format!("{collection} ends early: {error}"), notes);
                    }
                    read.paths()
                }
                Err(error) => {
                    hidden.note(collection, error, notes)?;
                    continue;
                }
            };
            // Lenovo's other slots are for uploads and for the remote console, and accept no URL.
            if vendor == Vendor::Lenovo && paths.iter().any(|path| last_segment(path).starts_with("EXT")) {
                paths.retain(|path| last_segment(path).starts_with("EXT"));
            }
            if paths.len() > MAX_SLOTS {
                let listed = paths.len();
                hidden.add(format!("{collection} lists {listed} slots; only the first {MAX_SLOTS} were read"), notes);
            }
            for path in paths.into_iter().take(MAX_SLOTS) {
                match self.read_slot(&path).await {
                    Ok((slot, _)) => slots.push(slot),
                    Err(error) => hidden.note(&path, error, notes)?,
                }
            }
        }
        Ok(slots)
    }

    /// Adds the Managers' slots for the media that no slot of the System takes. Older BMCs have virtual media under the Manager only. If
    /// both have a slot for a medium, it is the same device.
    pub(super) async fn add_managers_slots(
        &self,
        slots: &mut Vec<Slot>,
        collections: &[String],
        vendor: Vendor,
        hidden: &mut HiddenSlots,
        notes: &mut Vec<String>,
    ) -> Result<(), BmcError> {
        let takes = |slot: &Slot, medium: Medium| slot.insert.is_some() && slot::may_take(slot, medium);
        let mut missing = vec![Medium::Cd, Medium::Usb];
        missing.retain(|medium| !slots.iter().any(|slot| takes(slot, *medium)));
        if missing.is_empty() {
            return Ok(());
        }
        hidden.sentences.append(&mut hidden.managers);
        let has_none = slots.iter().all(|slot| slot.insert.is_none());
        let mut read = match self.slots(collections, vendor, hidden, notes).await {
            // The System's slots may be enough.
            Err(BmcError::Redfish(error)) if !has_none && is_answer(&error) => {
                hidden.add(format!("the slots of the Managers cannot be read: {error}"), notes);
                return Ok(());
            }
            read => read?,
        };
        read.retain(|slot| {
            let is_wanted = has_none || missing.iter().any(|medium| takes(slot, *medium));
            is_wanted && slots.iter().all(|known| known.path != slot.path)
        });
        slots.append(&mut read);
        Ok(())
    }
}
