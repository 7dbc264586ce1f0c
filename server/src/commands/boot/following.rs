//! Follows a boot by the events of a server.

use std::time::Duration;

use super::display::Display;
use crate::commands::boot_api::{Api, Boot};
use crate::commands::client::ApiError;

/// How often to try to reach a server again, and how many times.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const MAX_RETRIES: u32 = 120;

/// Follows a boot until `until` is true of it. If the connection ends, connects again.
pub(super) async fn follow(
    api: &Api,
    boot: &Boot,
    display: &Display,
    until: impl Fn(&Boot) -> bool,
) -> Result<Boot, ApiError> {
    let mut last = boot.clone();
    let mut seen = "0".to_owned();
    let mut retries = 0;
    loop {
        match api.follow(&boot.id, &seen).await {
            Ok(None) => return Ok(last),
            Ok(Some(mut following)) => {
                while let Some(event) = following.next().await {
                    retries = 0;
                    let Ok(now) = serde_json::from_str::<Boot>(&event.data) else { continue };
                    display.show(&now, &event.data);
                    if until(&now) {
                        return Ok(now);
                    }
                    (last, seen) = (now, event.id);
                }
            }
            Err(ApiError::Unreachable(_)) if retries < MAX_RETRIES => {}
            Err(error) => return Err(error),
        }
        retries += 1;
        if retries > MAX_RETRIES {
            return Err(ApiError::Unreachable("the server closes every connection".to_owned()));
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}
