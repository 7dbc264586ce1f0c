//! Boots whose records the disk does not accept.

use std::io;

use tokio::sync::watch;
use tracing::{error, info};

use super::PAUSES;
use crate::boots::boot::{Boot, View};
use crate::boots::record::BootRecord;
use crate::boots::shared::Shared;
use crate::boots::step::Step;

/// Fails a boot whose record cannot be written, so that users see why, and waits until the disk has the record. Before that, a restarted
/// server would continue the boot from its older record, and restart a host that the user may have booted in another way meanwhile.
pub(super) async fn fail(shared: &Shared, boot: &Boot, failure: &io::Error, changes: &mut watch::Receiver<View>) {
    let advice = if shared.settings().has_api { " and delete the boot" } else { "" };
    let error = format!(
        "the server cannot write to its data directory ({failure}), so it does nothing that it could not undo after a restart; make \
         room there{advice}"
    );
    let change = |record: &mut BootRecord| {
        let step = record.next_step().unwrap_or(Step::Ejected);
        error!(boot = %record.id, %step, error, "a step of a boot failed");
        record.fail(step, error);
    };
    shared.show_unwritten(boot, change).await;
    changes.mark_unchanged();
    while boot.is_unwritten() {
        let pause = shared.settings().limits.pause * PAUSES;
        tokio::select! {
            // Another change writes the record, too.
            _ = changes.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
        write(shared, boot).await;
    }
}

/// Tries to write the record of a boot if the disk has an older one.
pub(super) async fn write(shared: &Shared, boot: &Boot) {
    if boot.is_unwritten() && shared.change(boot, |_| ()).await.is_ok() {
        info!(boot = %boot.id(), "the record of a failed boot is on the disk");
    }
}
