//! `dayone boots rm`

use std::time::Instant;

use reqwest::StatusCode;

use super::{MAX_ANSWER, api, find, missing};
use crate::arguments::BootsRemoveArguments;
use crate::commands::boot_api::{Api, Boot};
use crate::commands::client::ApiError;
use crate::commands::failure::{Failure, block_on};
use crate::commands::following::Retries;
use crate::commands::signals::Signals;
use crate::commands::terminal::{self, complain, plain};

pub(super) fn run(arguments: &BootsRemoveArguments) -> Result<(), Failure> {
    let api = api(&arguments.server)?;
    block_on(async {
        let mut signals = Signals::of_command().map_err(|error| Failure::system("cannot wait for signals", &error))?;
        tokio::select! {
            removed = remove_all(arguments, &api) => removed,
            _ = signals.next() => Err(Failure::Interrupted("the server continues to restore the BMCs".into())),
        }
    })?
}

/// Deletes all boots, also if one of them cannot be deleted.
async fn remove_all(arguments: &BootsRemoveArguments, api: &Api) -> Result<(), Failure> {
    let mut ejecting = Vec::new();
    let mut failed = Ok(());
    for named in &arguments.boots {
        match remove(arguments, api, named).await {
            Ok(None) => terminal::print(&format!("{}: forgotten\n", plain(named)))?,
            Ok(Some(id)) => {
                terminal::print(&format!("{}: ejecting, boot {}\n", plain(named), plain(&id)))?;
                ejecting.push((named, id));
            }
            // No other request would succeed.
            Err(failure @ (Failure::System(_) | Failure::Interrupted(_))) => return Err(failure),
            Err(failure) => {
                terminal::report(&failure);
                failed = Err(Failure::Findings);
            }
        }
    }
    for (named, id) in ejecting.iter().filter(|_| arguments.wait) {
        match ended(api, id).await? {
            Some(boot) if boot.state != "ejected" => {
                let step = boot.steps.iter().find(|step| step.state == "failed");
                let error = step.and_then(|step| step.error.as_deref()).unwrap_or("the BMC is not restored");
                complain(&format!("{named}: {}: {error}", boot.state));
                failed = Err(Failure::Findings);
            }
            Some(_) => terminal::print(&format!("{}: ejected\n", plain(named)))?,
            // Somebody may have deleted it with --forget, which ejects nothing.
            None => {
                complain(&format!(
                    "{named}: the server no longer has the boot, and its BMC may still have the medium; check with dayone bmc probe"
                ));
                failed = Err(Failure::Findings);
            }
        }
    }
    failed
}

/// Deletes a boot. Returns its id if the server is ejecting its medium, and none if the server has forgotten it.
async fn remove(arguments: &BootsRemoveArguments, api: &Api, named: &str) -> Result<Option<String>, Failure> {
    let id = find(api, named).await?;
    let mut path = api.0.path(&["v1", "boots", &id]);
    for (name, is_given) in [("forget", arguments.forget), ("power_off", arguments.power_off)] {
        if is_given {
            path.query_pairs_mut().append_pair(name, "true");
        }
    }
    let answer = api.0.send(api.0.delete(path).timeout(MAX_ANSWER)).await.map_err(missing(named))?;
    Ok((answer.status() != StatusCode::NO_CONTENT).then_some(id))
}

/// Waits until a deleted boot has ended or has failed. Returns none if the server has forgotten it meanwhile.
async fn ended(api: &Api, id: &str) -> Result<Option<Boot>, Failure> {
    let (mut seen, mut last, mut retries) = ("0".to_owned(), None, Retries::default());
    loop {
        let error = match api.follow(id, &seen).await {
            Ok(None) => return Ok(last),
            Err(ApiError::Missing) => return Ok(None),
            Ok(Some(mut following)) => {
                let connected = Instant::now();
                while let Some(event) = following.next().await {
                    retries.succeeded();
                    let Ok(boot) = serde_json::from_str::<Boot>(&event.data) else { continue };
                    // A BMC that does not eject makes the boot fail without an end.
                    if boot.ended || boot.state == "failed" {
                        return Ok(Some(boot));
                    }
                    (last, seen) = (Some(boot), event.id);
                }
                retries.disconnected(connected.elapsed());
                None
            }
            Err(error) => Some(error),
        };
        retries.wait(error).await?;
    }
}
