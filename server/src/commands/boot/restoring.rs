//! Restores the BMCs before the program ends, and names those that are not restored.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::future::join_all;

use super::display::Display;
use super::following::follow;
use crate::commands::boot_api::{Api, Boot};
use crate::commands::client::ApiError;
use crate::commands::signals::Signals;
use crate::commands::terminal::plain;

/// How long dayone may take to restore the BMCs before the program ends.
const MAX_RESTORE: Duration = Duration::from_mins(3);

/// Ejects the media and resets the boot overrides.
pub(super) async fn restore(api: &Api, boots: &[Boot], display: &Display, signals: &mut Signals) -> Result<(), String> {
    display.say("ejecting; Ctrl-C leaves the BMCs as they are\n");
    let undone = join_all(boots.iter().map(|boot| undo(api, boot, display)));
    tokio::select! {
        left = undone => {
            let left: Vec<Boot> = left.into_iter().flatten().collect();
            if left.is_empty() { Ok(()) } else { Err(not_restored(&left)) }
        }
        _ = signals.next() => Err(not_restored(boots)),
    }
}

/// Deletes a boot, and follows it until its BMC is restored. Returns the boot if that failed.
async fn undo(api: &Api, boot: &Boot, display: &Display) -> Option<Boot> {
    if api.delete(&boot.id).await.is_err() {
        return Some(boot.clone());
    }
    // A boot whose undo has failed has not ended: the server waits for another request to delete it.
    let until = |boot: &Boot| boot.ended || boot.undo_failed();
    match tokio::time::timeout(MAX_RESTORE, follow(api, boot, display, until)).await {
        Ok(Ok(last)) => last.undo_failed().then_some(last),
        // The boot had ended, so the server has forgotten it.
        Ok(Err(ApiError::Missing)) => None,
        Ok(Err(_)) | Err(_) => Some(boot.clone()),
    }
}

/// Names the BMCs that dayone has left as they are, and says why.
pub(super) fn not_restored(boots: &[Boot]) -> String {
    let bmcs: Vec<&str> = boots.iter().map(|boot| boot.bmc.address.as_str()).collect();
    let mut text = format!(
        "the medium may still be inserted, and the boot override may still be set at {}; dayone eject ejects the medium",
        bmcs.join(", ")
    );
    for boot in boots {
        if let Some(error) = boot.undo_error() {
            // Writing to a String does not fail.
            let _ = write!(text, ". {}: {}", plain(boot.name()), plain(error));
        }
    }
    text
}
