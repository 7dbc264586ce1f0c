//! Restores the BMCs before the program ends, and names those that are not restored.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use redfish::bmc::Limits;
use tokio::time::{Instant, timeout_at};

use super::display::Display;
use super::following::{AT_ONCE, follow};
use crate::commands::boot_api::{Api, Boot};
use crate::commands::client::ApiError;
use crate::commands::signals::Signals;
use crate::commands::terminal::plain;

/// How long dayone may take to restore a BMC before the program ends. If it has to restore settings of the firmware, it first waits for
/// the end of a job that changes them.
const MAX_RESTORE: Duration = Duration::from_mins(3);

/// Ejects the media and resets the boot overrides. Only SIGINT cuts it short.
pub(super) async fn restore(
    api: &Api,
    mut boots: Vec<Boot>,
    display: &Display,
    signals: &mut Signals,
) -> Result<(), String> {
    display.say("ejecting; Ctrl-C leaves the BMCs as they are\n");
    let is_undone = tokio::select! {
        () = undo(api, &mut boots, display) => true,
        () = signals.interrupt() => false,
    };
    if is_undone {
        boots.retain(|boot| !boot.is_over());
        all_restored(&boots)
    } else {
        leave(api, &boots).await
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
    let read = stream::iter(boots.to_vec()).map(|boot| async move {
        match api.get(&boot.id).await {
            Ok(now) => now.map(|(now, _)| now).filter(|now| !now.ended),
            Err(_) => Some(boot),
        }
    });
    read.buffered(AT_ONCE).collect::<Vec<_>>().await.into_iter().flatten().collect()
}

/// Deletes boots, and follows them until their BMCs are restored. The boots that are then not over are not restored.
async fn undo(api: &Api, boots: &mut [Boot], display: &Display) {
    let ids: Vec<String> = boots.iter().map(|boot| boot.id.clone()).collect();
    let asked = stream::iter(ids).map(|id| async move {
        api.delete(&id).await?;
        api.get(&id).await
    });
    let asked: Vec<Result<_, ApiError>> = asked.buffered(AT_ONCE).collect().await;
    let mut refused = BTreeSet::new();
    for (boot, asked) in boots.iter_mut().zip(asked) {
        match asked {
            Ok(Some((now, json))) => {
                display.show(&now, json.get());
                *boot = now;
            }
            // The boot had ended, so the server has forgotten it.
            Ok(None) => boot.forget(),
            Err(_) => {
                refused.insert(boot.id.clone());
            }
        }
    }
    // A boot whose undo has failed has not ended: the server waits for another request to delete it.
    let is_done = |boot: &Boot| boot.is_over() || boot.undo_failed() || refused.contains(&boot.id);
    let (begun, mut waited) = (Instant::now(), Duration::ZERO);
    // The boots that have more time than others are followed further.
    let next = |boots: &[Boot], waited: Duration| {
        let limits = boots.iter().filter(|boot| !is_done(boot)).map(limit);
        limits.filter(|limit| *limit > waited).min()
    };
    while let Some(next) = next(boots, waited) {
        let until = |boot: &Boot| is_done(boot) || limit(boot) < next;
        if let Ok(Err(_)) = timeout_at(begun + next, follow(api, boots, display, until)).await {
            return;
        }
        waited = next;
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
