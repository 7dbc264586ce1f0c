//! Follows the boots of this command by the events of all boots of a server.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;

use super::display::Display;
use crate::commands::boot_api::{Api, Boot};
use crate::commands::client::ApiError;
use crate::commands::following::AllBoots;

/// How many boots to ask for at a time.
pub(super) const AT_ONCE: usize = 8;

/// What tells of a boot in the events whether it has changed. The events do not have all that the command shows.
#[derive(Deserialize)]
struct Changed {
    id: String,
    revision: u64,
}

/// Follows boots until `until` is true of each, or the server does not have it any more. Keeps `boots` up to date, so that the caller
/// has them also if it stops waiting.
pub(super) async fn follow(
    api: &Api,
    boots: &mut [Boot],
    display: &Display,
    until: impl Fn(&Boot) -> bool,
) -> Result<(), ApiError> {
    let host = match &*boots {
        [boot] => boot.host.clone(),
        _ => None,
    };
    let open = boots.iter().enumerate().filter(|(_, boot)| !boot.is_over() && !until(boot));
    // The place of each boot, and the revision that is shown.
    let mut open: BTreeMap<String, (usize, u64)> = open.map(|(at, boot)| (boot.id.clone(), (at, 0))).collect();
    let mut all = AllBoots::new(api, host.as_deref(), true);
    while !open.is_empty() {
        let changes = all.next(|| {}).await?;
        if let Some(ids) = &changes.ids {
            let ids: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
            for (_, (at, _)) in open.extract_if(.., |id, _| !ids.contains(id.as_str())) {
                if let Some(boot) = boots.get_mut(at) {
                    boot.forget();
                    display.forgotten(boot);
                }
            }
        }
        let shown = changes.boots.iter().filter_map(|json| serde_json::from_str::<Changed>(json.get()).ok());
        let unread = shown.filter(|now| open.get(&now.id).is_some_and(|(_, seen)| *seen != now.revision));
        let unread: Vec<String> = unread.map(|now| now.id).collect();
        let read = stream::iter(unread).map(|id| async move { api.get(&id).await }).buffered(AT_ONCE);
        let read: Vec<_> = match read.try_collect().await {
            Ok(read) => read,
            Err(error) => {
                // A new connection begins with all boots, so that none stays unread.
                all.reconnect(Some(error)).await?;
                continue;
            }
        };
        for (now, json) in read.into_iter().flatten() {
            let Some((at, seen)) = open.get_mut(&now.id) else { continue };
            *seen = now.revision;
            display.show(&now, json.get());
            let place = boots.get_mut(*at);
            if until(&now) {
                open.remove(&now.id);
            }
            if let Some(place) = place {
                *place = now;
            }
        }
    }
    Ok(())
}
