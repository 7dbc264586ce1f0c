//! Restores the BMCs before the program ends, and names those that are not restored.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::future::join_all;
use redfish::bmc::Limits;

use super::display::Display;
use super::following::follow;
use crate::commands::boot_api::{Api, Boot};
use crate::commands::client::ApiError;
use crate::commands::signals::Signals;
use crate::commands::terminal::plain;

/// How long dayone may take to restore a BMC before the program ends. If it has to restore settings of the firmware, it first waits for
/// the end of a job that changes them.
const MAX_RESTORE: Duration = Duration::from_mins(3);

/// Ejects the media and resets the boot overrides.
pub(super) async fn restore(api: &Api, boots: &[Boot], display: &Display, signals: &mut Signals) -> Result<(), String> {
    display.say("ejecting; Ctrl-C leaves the BMCs as they are\n");
    let undone = join_all(boots.iter().map(|boot| undo(api, boot, display)));
    tokio::select! {
        left = undone => all_restored(&left.into_iter().flatten().collect::<Vec<_>>()),
        _ = signals.next() => leave(api, boots).await,
    }
}

/// Leaves the BMCs as they are. An error names those that are not restored.
pub(super) async fn leave(api: &Api, boots: &[Boot]) -> Result<(), String> {
    all_restored(&current(api, boots).await)
}

fn all_restored(left: &[Boot]) -> Result<(), String> {
    if left.is_empty() { Ok(()) } else { Err(not_restored(left)) }
}

/// Reads boots anew. What cannot be read stays as it is, and what is restored is left out.
async fn current(api: &Api, boots: &[Boot]) -> Vec<Boot> {
    let read = join_all(boots.iter().map(|boot| async {
        match api.get(&boot.id).await {
            Ok(now) => Some(now).filter(|now| !now.ended),
            Err(ApiError::Missing) => None,
            Err(_) => Some(boot.clone()),
        }
    }));
    read.await.into_iter().flatten().collect()
}

/// Deletes a boot, and follows it until its BMC is restored. Returns the boot if that failed.
async fn undo(api: &Api, boot: &Boot, display: &Display) -> Option<Boot> {
    if api.delete(&boot.id).await.is_err() {
        return Some(boot.clone());
    }
    let boot = match api.get(&boot.id).await {
        Ok(now) => now,
        Err(ApiError::Missing) => return None,
        Err(_) => return Some(boot.clone()),
    };
    // A boot whose undo has failed has not ended: the server waits for another request to delete it.
    let until = |boot: &Boot| boot.ended || boot.undo_failed();
    match tokio::time::timeout(limit(&boot), follow(api, &boot, display, until)).await {
        Ok(Ok(last)) => last.undo_failed().then_some(last),
        // The boot had ended, so the server has forgotten it.
        Ok(Err(ApiError::Missing)) => None,
        Ok(Err(_)) | Err(_) => Some(boot),
    }
}

/// How long to wait until a boot is undone.
fn limit(boot: &Boot) -> Duration {
    if boot.firmware_settings.is_empty() { MAX_RESTORE } else { MAX_RESTORE + Limits::default().firmware }
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
        if !boot.firmware_settings.is_empty() {
            let before =
                boot.firmware_settings.iter().map(|setting| format!("{} {:?}", setting.attribute, setting.before));
            let before = before.collect::<Vec<_>>().join(", ");
            let _ = write!(
                text,
                ". {}: the settings of the host's firmware may still be those of this boot. Set them by hand to their values from \
                 before, at the BMC or in the firmware's setup: {}",
                plain(boot.name()),
                plain(&before)
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn boot(more: &serde_json::Value) -> Boot {
        let mut boot = json!({"id": "1", "host": "worker-0", "state": "failed", "ended": false, "bmc": {"address": "192.0.2.9"},
            "progress": null, "steps": [], "remarks": []});
        boot.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(boot).unwrap()
    }

    #[test]
    fn settings_of_the_firmware_get_their_time_and_are_named_with_their_values_from_before() {
        let without = boot(&json!({}));
        assert_eq!(limit(&without), MAX_RESTORE);
        assert!(not_restored(&[without]).ends_with("at 192.0.2.9; dayone eject ejects the medium"));
        let error = "the BMC's job has failed";
        let with = boot(&json!({
            "firmware_settings": [{"attribute": "HttpDev1EnDis", "before": "Disabled"}, {"attribute": "HttpDev1Uri", "before": ""}],
            "steps": [{"step": "ejected", "state": "failed", "seconds": null, "error": error, "detail": null}],
        }));
        assert!(limit(&with) > Limits::default().firmware);
        let text = not_restored(&[with]);
        assert!(text.contains(". worker-0: the BMC's job has failed. worker-0: the settings"), "{text}");
        assert!(text.ends_with("setup: HttpDev1EnDis \"Disabled\", HttpDev1Uri \"\""), "{text}");
    }
}
