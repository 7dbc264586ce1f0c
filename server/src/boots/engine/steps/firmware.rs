//! Makes the firmware of a host take its settings for a boot by HTTP, where a BMC offers no other way.

use std::time::Duration;

use redfish::bmc::{BmcError, FirmwareSettings, Plan, PowerAction, Staging};

use super::{Steps, Stop, refusals};
use crate::boots::engine::deleted;
use crate::boots::record::BootRecord;
use crate::boots::step::Step;

/// What the boot's record says about a static network of the firmware that the plan could not take into account.
pub(super) fn network_remark(record: &BootRecord, plan: &Plan) -> Option<&'static str> {
    match (&plan.firmware, &record.firmware_network) {
        (Some(_), None) => Some(
            "the firmware keeps the network that is set in it, or asks DHCP: the documents give it no static IPv4 address and no router that \
             lead to the media URL",
        ),
        (None, Some(network)) if network.interface.is_some() => Some(
            "firmware_interface has no effect: this BMC takes the URL itself, and the host's firmware asks DHCP for an address",
        ),
        _ => None,
    }
}

impl Steps<'_> {
    /// Stages the settings, restarts the host, waits until the firmware has them, and switches the host off. The record has their
    /// values from before. `earlier` is the URL of an earlier attempt, if it was another one.
    pub(super) async fn firmware(
        &mut self,
        settings: &FirmwareSettings,
        url: &str,
        earlier: Option<&str>,
    ) -> Result<(), Stop> {
        self.boot.show_progress("staging the settings of the host's firmware");
        let staged = self.connected().await?.stage_firmware(settings, url, earlier).await?;
        let refused = refusals(&staged.attempts);
        self.change(|record| {
            for remark in refused {
                record.remark(remark);
            }
        })
        .await?;
        self.check_not_deleted()?;
        let names = settings.attributes().collect::<Vec<_>>().join(", ");
        if staged.staging == Staging::Applied {
            let detail = format!("the host's firmware has the settings already: {names}");
            return self.change(|record| record.done(Step::Insert, detail)).await;
        }
        let graceful = Duration::from_secs(self.boot.record().options.shutdown_within);
        self.note_running().await?;
        if staged.staging == Staging::NeedsRestart {
            self.boot.show_progress("restarting the host, so that its firmware takes its settings");
            self.may_be_off = true;
            let change = self.connected().await?.power(PowerAction::Cycle { graceful }).await?;
            self.may_be_off = false;
            if let Some(error) = change.unconfirmed {
                let remark = format!(
                    "dayone sent PowerCycle, so that the firmware takes its settings, and does not know whether the host has \
                     restarted, because the BMC did not confirm that: {error}"
                );
                self.change(|record| record.remark(remark)).await?;
            }
        }
        self.boot.show_progress(
            "waiting until the host's firmware has its settings; the host may restart by itself for that",
        );
        let boot = self.boot;
        let bmc = self.connected().await?;
        tokio::select! {
            waited = bmc.wait_for_firmware(settings, url) => waited?,
            () = deleted(boot) => return Err(Stop::Deleted),
        }
        // Some BMCs refuse a boot override while the firmware starts, and the host may boot from the URL too early.
        self.boot.show_progress("switching the host off");
        self.may_be_off = true;
        match self.connected().await?.power(PowerAction::Off { graceful }).await {
            Ok(_) => {}
            // Such a BMC only switches off and on in one step.
            Err(BmcError::PowerUnsupported { .. }) => self.may_be_off = false,
            Err(error) => return Err(error.into()),
        }
        let detail = format!("the host's firmware has taken its settings: {names}");
        self.change(|record| record.done(Step::Insert, detail)).await
    }
}
