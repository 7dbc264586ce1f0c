//! Ejects the medium, and restores the boot override.

use std::sync::Arc;

use super::medium::{self, Left};
use super::{Stop, connect, why_forced};
use crate::boots::boot::Boot;
use crate::boots::method::BootMethod;
use crate::boots::record::BootRecord;
use crate::boots::shared::Shared;
use crate::boots::step::Step;
use redfish::bmc::{Bmc, BmcError, FirmwareRestored, FirmwareSettings, Found, PowerAction, Reception, ShownImage};

/// Restores the BMC, as far as the record says that dayone changed it.
pub(super) async fn eject(shared: &Arc<Shared>, boot: &Boot) -> Result<(), Stop> {
    shared.change(boot, |record| record.begin(Step::Ejected)).await?;
    if boot.record().at_bmc.is_none() {
        shared.change(boot, |record| record.ejected("nothing was inserted")).await?;
        return Ok(());
    }
    let bmc = connect(shared, boot).await?;
    let result = undo(shared, boot, &bmc).await;
    bmc.close().await;
    let Undone { done, remark, lasting } = result?;
    // The record stays, so that the user can try again.
    if let Some(error) = lasting {
        let mut stop = Stop::from(error);
        if let Stop::Failed(failure) = &mut stop {
            let done = if done.is_empty() { "nothing".to_owned() } else { done.join("; ") };
            let advice = if shared.settings().has_api { ". Delete the boot once more to try again" } else { "" };
            failure.text = format!("{}. Done: {done}{advice}", failure.text);
        }
        return Err(stop);
    }
    let change = |record: &mut BootRecord| {
        if let Some(remark) = remark {
            record.remark(remark);
        }
        record.ejected(if done.is_empty() { "nothing was inserted".to_owned() } else { done.join("; ") });
    };
    shared.change(boot, change).await?;
    Ok(())
}

/// What was done at a BMC.
#[derive(Default)]
struct Undone {
    done: Vec<String>,
    /// What happens only later.
    remark: Option<String>,
    /// Why a change is not restored that would stay for ever.
    lasting: Option<BmcError>,
}

/// Restores the BMC.
async fn undo(shared: &Arc<Shared>, boot: &Boot, bmc: &Bmc) -> Result<Undone, Stop> {
    let record = boot.record();
    let mut undone = Undone::default();
    let Some(at_bmc) = &record.at_bmc else { return Ok(undone) };
    let done = &mut undone.done;
    let url = shared.inserted_url(&record);
    if record.options.power_off {
        boot.show_progress("switching the host off");
        let graceful = std::time::Duration::from_secs(record.options.shutdown_within);
        let change = bmc.power(PowerAction::Off { graceful }).await?;
        done.push(match why_forced(&change, graceful) {
            Some(why) => format!("{why}, and was switched off"),
            None => "the host is off".to_owned(),
        });
    }
    if let Some(set) = &at_bmc.boot_override {
        boot.show_progress("restoring the boot override");
        // Go on after an error: ejecting the medium matters more, and the next boot uses most overrides up.
        let restored = if set.form.is_http() { bmc.restore_http(set, &url).await } else { bmc.restore(set).await };
        match restored {
            Ok(true) => done.push("the boot override is restored".to_owned()),
            // The next boot uses another one up.
            Ok(false) if set.is_lasting() || set.reception == Reception::Unknown => {
                let whose = match set.reception {
                    Reception::Unknown => "may be this boot's, because dayone did not see the end of the request",
                    _ => "dayone has not set",
                };
                if let Ok(Some(other)) = bmc.other_override(set).await {
                    done.push(format!("the BMC shows the boot override {other}, which {whose}, and which stays"));
                }
            }
            Ok(false) => {}
            Err(error) if set.is_lasting() => undone.lasting = Some(BmcError::NotRestored(Box::new(error))),
            Err(error) => done.push(format!("dayone could not restore the boot override: {error}")),
        }
    }
    if record.method == BootMethod::Http {
        if let Some(settings) = &at_bmc.plan.firmware {
            boot.show_progress("restoring the settings of the host's firmware");
            let (restored, remark) = restore_firmware(bmc, settings, &url).await?;
            done.extend(restored);
            undone.remark = remark;
        }
        done.extend(take_out(shared, boot, bmc, &url).await?);
        if done.is_empty() {
            done.push("nothing was set".to_owned());
        }
        return Ok(undone);
    }
    boot.show_progress("ejecting the medium");
    if let Some(slot) = &at_bmc.slot {
        done.push(match bmc.eject_shown(slot, &url, at_bmc.plan.shown_as.as_ref()).await?.found {
            Found::Image => format!("ejected from {slot}"),
            Found::Nothing if at_bmc.pending.is_some() => may_follow(slot),
            Found::Nothing => format!("{slot} was already empty"),
            Found::Other => format!("{slot} has another medium by now, which stays there"),
        });
    } else {
        let taken = take_out(shared, boot, bmc, &url).await?;
        if let Some(slot) = at_bmc.pending.as_ref().filter(|_| taken.is_empty()) {
            done.push(may_follow(slot));
        }
        done.extend(taken);
    }
    Ok(undone)
}

/// Returns what to say about a slot that does not show an image, although the BMC has not refused the image.
fn may_follow(slot: &str) -> String {
    format!(
        "{slot} does not show the image, but the BMC has not refused it, and may still insert it: look at the slot later, and eject the \
         image if it is there"
    )
}

/// Restores the settings of the firmware. An error is not passed over: the firmware would have the URL for ever.
async fn restore_firmware(
    bmc: &Bmc,
    settings: &FirmwareSettings,
    url: &str,
) -> Result<(Option<String>, Option<String>), Stop> {
    Ok(match bmc.restore_firmware(settings, url).await? {
        FirmwareRestored::Nothing => (None, None),
        FirmwareRestored::Cancelled => (Some("the settings of the host's firmware are withdrawn".to_owned()), None),
        FirmwareRestored::Staged { kept } => {
            let names = settings.attributes().filter(|name| !kept.iter().any(|kept| kept == name));
            let mut remark = format!(
                "the settings of the host's firmware are as before only after the host's next restart: {}",
                names.collect::<Vec<_>>().join(", ")
            );
            if !kept.is_empty() {
                remark = format!("{remark}; the BMC refuses to change {} back", kept.join(", "));
            }
            let done = "the earlier settings of the host's firmware are staged for the host's next restart";
            (Some(done.to_owned()), Some(remark))
        }
    })
}

/// Takes the image out of the slots that show it. It may be in any planned slot if the request to insert it has not ended well, and
/// for HTTP boot, for which sushy-tools inserts it. Everything else in these slots belongs to somebody else.
async fn take_out(shared: &Shared, boot: &Boot, bmc: &Bmc, url: &str) -> Result<Vec<String>, Stop> {
    let record = boot.record();
    let Some(at_bmc) = &record.at_bmc else { return Ok(Vec::new()) };
    let mut done = Vec::new();
    let shown_as = at_bmc.plan.shown_as.as_ref();
    for slot in &at_bmc.plan.slots {
        let state = bmc.media_state(&slot.path).await?;
        let path = &slot.path;
        let is_inserted = record.method == BootMethod::VirtualMedia && shared.holder(boot, path).is_none();
        let left = if medium::is_named(&state, url, shown_as) {
            Left::Image
        } else if is_inserted {
            medium::left(&slot.state, &state, url, record.file_name())
        } else {
            Left::Nothing
        };
        match left {
            Left::Nothing => {}
            Left::Image => {
                let by_name = ShownImage::of(&state, url);
                if bmc.eject_shown(path, url, by_name.as_ref()).await?.found == Found::Image {
                    done.push(format!("ejected from {path}"));
                }
            }
            Left::Perhaps(shows) => done.push(format!(
                "{path} has a medium that may be this boot's, because dayone did not see the end of the insert ({shows}): dayone has left \
                 it, so look at it, and eject it if nobody else needs it"
            )),
        }
    }
    Ok(done)
}
