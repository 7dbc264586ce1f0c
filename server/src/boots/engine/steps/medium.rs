//! Claims the slot for the medium, and makes sure that the medium is in it when the host starts.

use std::sync::Arc;

use redfish::RedfishError;
use redfish::bmc::{BmcError, Found, Plan, Survey};

use super::{Steps, Stop};
use crate::boots::engine::medium;
use crate::boots::method::BootMethod;
use crate::boots::record::BootRecord;

impl Steps<'_> {
    /// Records the plan, without the slots that boots of other Systems use: the Systems of a BMC may share its slots. Fails if the best
    /// slot is among them, because the host of that boot may need its medium.
    pub(super) async fn claim(
        &mut self,
        earlier: &BootRecord,
        survey: &Survey,
        plan: &mut Arc<Plan>,
        url: &str,
    ) -> Result<(), Stop> {
        let (shared, boot) = (self.shared, self.boot);
        let is_alone = shared.neighbours(boot).is_empty();
        let _claiming = if is_alone { None } else { Some(shared.claiming.lock().await) };
        if earlier.method == BootMethod::VirtualMedia {
            if let Some(slot) = plan.slots.first() {
                self.check_holder(&slot.path)?;
            }
            Arc::make_mut(plan).slots.retain(|slot| shared.holder(boot, &slot.path).is_none());
        }
        self.record_plan(earlier, survey, plan, url).await
    }

    fn check_holder(&self, slot: &str) -> Result<(), Stop> {
        let Some(holder) = self.shared.holder(self.boot, slot) else { return Ok(()) };
        let (id, name) = (holder.id(), holder.record().name());
        let advice = if self.shared.settings().has_api {
            format!("DELETE /v1/boots/{id} ejects its medium; then start this boot again")
        } else {
            "Start this boot again when that one has ended".to_owned()
        };
        let text = format!(
            "the boot {id} of {name} uses {slot}, and has not ended: the Systems of this BMC share the slot. {advice}"
        );
        Err(Stop::Failed(text.into()))
    }

    /// Inserts the image again, once, if its slot is empty or has another medium: a BMC that restarts loses its media, and some BMCs eject
    /// them when the host is switched off.
    pub(super) async fn keep_medium(&mut self) -> Result<(), Stop> {
        let (record, at_bmc) = (self.boot.record(), self.at_bmc()?);
        // For HTTP boot, nothing is inserted.
        let Some(slot) = at_bmc.slot.clone() else { return Ok(()) };
        let url = self.shared.inserted_url(&record);
        let state = match self.connected().await?.media_state_at_last(&slot).await {
            Ok(state) => state,
            // Some BMCs may show their slots only while the host is on.
            Err(error) if is_refusal(&error) => {
                let remark = format!("dayone could not read whether {slot} still has the image: {error}");
                return self.change(|record| record.remark(remark)).await;
            }
            Err(error) => return Err(error.into()),
        };
        let shown_as = at_bmc.plan.shown_as.as_ref();
        let found = medium::found(&state, &url, shown_as);
        if found == Found::Image {
            return Ok(());
        }
        if medium::is_named(&state, &url, shown_as) {
            let remark = format!(
                "{slot} shows the image, but not as connected; some BMCs show it so while the host is off, so dayone starts the host"
            );
            return self.change(|record| record.remark(remark)).await;
        }
        self.check_not_deleted()?;
        self.check_holder(&slot)?;
        let seen = if found == Found::Other { "has another medium" } else { "has lost the image" };
        let remark = format!(
            "{slot} {seen} since the insert, so dayone inserts the image and sets the boot override again before the host starts; the BMC \
             may have restarted"
        );
        self.change(|record| record.remark(remark)).await?;
        let slots = at_bmc.plan.slots.iter().filter(|planned| planned.path == slot).cloned().collect();
        let plan = Plan { slots, ..Plan::clone(&at_bmc.plan) };
        let (image, _) = self.stored()?;
        self.restart_reading(&image);
        self.insert_planned(&plan, &image, &url).await?;
        Box::pin(self.boot_override()).await
    }
}

/// Whether the BMC has answered, and refuses to show a resource.
fn is_refusal(error: &BmcError) -> bool {
    !error.is_unavailable() && matches!(error, BmcError::Redfish(RedfishError::Status(_)))
}
