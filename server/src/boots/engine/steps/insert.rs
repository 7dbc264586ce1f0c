//! Inserts the image.

use std::sync::Arc;

use redfish::bmc::{BmcError, Plan};

use super::{Steps, Stop};
use crate::boots::engine::refusals;
use crate::boots::reading;
use crate::boots::step::Step;
use crate::store::StoredImage;

impl Steps<'_> {
    /// Inserts the image into a slot of the plan, and records what the BMC shows.
    pub(super) async fn insert_planned(&mut self, plan: &Plan, image: &StoredImage, url: &str) -> Result<(), Stop> {
        self.boot.show_progress("inserting the image; some BMCs read all of it before they answer");
        let file = self.boot.record().file_name();
        // What other hosts with the same image have read does not show that this BMC copies it.
        let sent_before = reading::sent(image, file);
        let inserted = match self.connected().await?.insert(plan, url).await {
            Ok(inserted) => inserted,
            Err(error) => {
                if let BmcError::NotInserted { slot, .. } = &error {
                    self.change_at_bmc(|at_bmc| at_bmc.pending = Some(slot.clone())).await?;
                }
                return Err(error.into());
            }
        };
        if inserted.form.is_none() {
            // The BMC may have read any part of the image before.
            self.boot.set_sent_before(None);
        }
        let copied = reading::is_copied(image, file, sent_before);
        let shown_as = inserted.shown_as(url);
        let detail = match (&inserted.form, inserted.replaced) {
            (None, _) => format!("the image was already in {}", inserted.slot),
            (Some(_), true) => format!("in {}, after ejecting another medium", inserted.slot),
            (Some(_), false) => format!("in {}", inserted.slot),
        };
        self.change(|record| {
            for remark in refusals(&inserted.attempts).into_iter().chain(inserted.notes) {
                record.remark(remark);
            }
            if let Some(at_bmc) = record.at_bmc_mut() {
                at_bmc.slot = Some(inserted.slot.clone());
                at_bmc.copied = copied;
                if at_bmc.plan.shown_as != shown_as {
                    Arc::make_mut(&mut at_bmc.plan).shown_as = shown_as;
                }
            }
            record.done(Step::Insert, detail);
        })
        .await
    }

    /// Forgets what was read of the image, so that only later reads count. Does nothing if other boots use the image now.
    pub(super) fn restart_reading(&self, image: &StoredImage) {
        if !self.shared.is_shared(self.boot) {
            self.boot.add_sent_before(reading::sent(image, self.boot.record().file_name()));
            image.restart_reading();
        }
    }

    /// Whether the BMC has read the whole image since the step `insert` began. False if another host had the image meanwhile: the reads may
    /// be those of its BMC.
    pub(super) fn is_copied(&self, image: &StoredImage) -> bool {
        let record = self.boot.record();
        let began = record.step(Step::Insert).and_then(|step| step.started);
        let is_alone = began.is_some_and(|began| !self.shared.was_shared_since(self.boot, began));
        is_alone && reading::is_copied(image, record.file_name(), 0)
    }

    /// Ejects the image that was inserted before a restart, or by a failed attempt. dayone does not know how much of it the BMC
    /// has read since, or whether the request to insert it has ended.
    pub(super) async fn eject_earlier(&mut self, slot: &str, url: &str) -> Result<(), Stop> {
        let ejected = self.connected().await?.eject(slot, Some(url)).await?;
        let remark = format!("{}: ejected the image from an earlier attempt, to insert it again", ejected.slot);
        self.change(|record| record.remark(remark)).await
    }
}
