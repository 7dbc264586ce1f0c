//! Taking the medium out, and setting the boot override back.

use std::sync::Arc;

use super::connection::connect;
use super::{Stop, show};
use crate::boots::boot::Boot;
use crate::boots::record::BootRecord;
use crate::boots::shared::Shared;
use crate::boots::step::Step;
use redfish::bmc::{Bmc, Found, PowerAction};

/// Brings the BMC back to what it was, as far as the record says that it was changed.
pub(super) async fn eject(shared: &Arc<Shared>, boot: &Boot) -> Result<(), Stop> {
    shared.change(boot, |record| record.begin(Step::Ejected)).await?;
    if boot.record().at_bmc.is_none() {
        shared.change(boot, |record| record.ejected("nothing was inserted")).await?;
        return Ok(());
    }
    let bmc = connect(shared, boot).await?;
    let result = undo(shared, boot, &bmc).await;
    bmc.close().await;
    let detail = result?;
    shared.change(boot, |record| record.ejected(detail)).await?;
    Ok(())
}

async fn undo(shared: &Arc<Shared>, boot: &Boot, bmc: &Bmc) -> Result<String, Stop> {
    let record = boot.record();
    let Some(at_bmc) = &record.at_bmc else { return Ok(String::new()) };
    let mut done = Vec::new();
    if record.options.power_off {
        show(boot, "switching the host off");
        let graceful = std::time::Duration::from_secs(record.options.shutdown_within);
        bmc.power(PowerAction::Off { graceful }).await?;
        done.push("the host is off".to_owned());
    }
    if let Some(set) = &at_bmc.before {
        show(boot, "setting the boot override back");
        // A medium that stays in matters more than an override that is used up by the next boot.
        match bmc.restore(set).await {
            Ok(true) => done.push("the boot override is as it was".to_owned()),
            Ok(false) => {}
            Err(error) => done.push(format!("the boot override could not be set back: {error}")),
        }
    }
    let url = url(shared, &record);
    show(boot, "ejecting");
    let slots = at_bmc.slot.iter().chain(at_bmc.plan.slots.iter().map(|slot| &slot.path));
    // Where the slot is not known, the image may be in any of them, and what else is in them is somebody else's.
    let known = usize::from(at_bmc.slot.is_some());
    for slot in slots.take(if known == 1 { 1 } else { usize::MAX }) {
        let ejected = bmc.eject(slot, Some(&url)).await?;
        match ejected.found {
            Found::Image => done.push(format!("ejected from {slot}")),
            Found::Nothing if known == 1 => done.push(format!("{slot} was empty already")),
            Found::Other if known == 1 => done.push(format!("{slot} has another image by now, which was left there")),
            Found::Nothing | Found::Other => {}
        }
    }
    Ok(if done.is_empty() { "nothing was inserted".to_owned() } else { done.join("; ") })
}

/// What the image was inserted under. It is known even where the image was deleted since.
fn url(shared: &Shared, record: &BootRecord) -> String {
    let token = shared.store.media_token(&record.image);
    shared.media_url.file(&token.as_str(), record.file_name())
}
