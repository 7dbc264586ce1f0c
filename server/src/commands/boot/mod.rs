//! `dayone boot`: boots hosts from their images, through their BMCs. A server in this process or a running dayone server does
//! it. Both ways use the API, so there is only one implementation.

mod display;
mod local;
mod order;
mod remarks;
mod remote;
pub(super) mod summary;
mod view;

use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use url::Url;

use self::display::Display;
use self::local::Local;
use self::order::Order;
use super::boot_api::{Api, Begun, Boot};
use super::client::ApiError;
use super::failure::{Failure, block_on};
use super::signals::Signals;
use super::terminal;
use crate::arguments::BootArguments;
use crate::boots::EjectWhen;
use crate::open_files;

/// How often to try to reach a server again, and how many times.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const MAX_RETRIES: u32 = 120;
/// How long dayone may take to restore the BMCs before the program ends.
const MAX_RESTORE: Duration = Duration::from_mins(3);

pub(super) fn run(arguments: &BootArguments) -> Result<(), Failure> {
    block_on(boot(arguments))?
}

async fn boot(arguments: &BootArguments) -> Result<(), Failure> {
    let mut signals = Signals::new().map_err(|error| Failure::system("cannot wait for signals", &error))?;
    let display = Display::new(arguments.format);
    if let Some(url) = &arguments.server.url {
        let api = remote::api(arguments, url.clone())?;
        return tokio::select! {
            outcome = boot_remotely(arguments, url, &api, &display) => outcome,
            _ = signals.next() => Err(Failure::Interrupted("the server continues the boots".into())),
        };
    }
    open_files::raise_limit();
    let local = tokio::select! {
        started = Local::start(arguments) => started?,
        _ = signals.next() => return Err(Failure::Interrupted("no boot has begun".into())),
    };
    let outcome = boot_locally(arguments, &local, &display, &mut signals).await;
    local.stop().await;
    outcome
}

/// Has a running dayone server boot the hosts.
async fn boot_remotely(arguments: &BootArguments, url: &Url, api: &Api, display: &Display) -> Result<(), Failure> {
    let credentials = arguments.server.bmc_credentials.as_ref().map(ToString::to_string);
    let order = Order::new(arguments, arguments.base.clone(), credentials, EjectWhen::Deleted)?;
    let boots = begin(api, &order).await?;
    if !arguments.server.wait {
        boots.iter().try_for_each(|boot| display.begun(boot))?;
        terminal::remark(&remote::next_commands(arguments, url, &boots));
        return Ok(());
    }
    let followed = try_join_all(boots.iter().map(|boot| follow(api, boot, display, Boot::is_settled))).await?;
    let outcome = finish(display, &followed);
    let open: Vec<Boot> = followed.into_iter().filter(|boot| !boot.ended).collect();
    if !open.is_empty() {
        terminal::remark(&remote::next_commands(arguments, url, &open));
    }
    outcome
}

/// Boots the hosts with the server in this process.
async fn boot_locally(
    arguments: &BootArguments,
    local: &Local,
    display: &Display,
    signals: &mut Signals,
) -> Result<(), Failure> {
    let ejects = arguments.serving.eject_when_booted;
    let eject = if ejects { EjectWhen::Booted } else { EjectWhen::Deleted };
    let order = Order::new(arguments, local::BASE.to_owned(), local.credentials.clone(), eject)?;
    let boots = begin(&local.api, &order).await?;
    let until = move |boot: &Boot| if ejects { boot.ended || boot.keeps_medium() } else { boot.is_settled() };
    let followed = tokio::select! {
        followed = try_join_all(boots.iter().map(|boot| follow(&local.api, boot, display, until))) => followed?,
        _ = signals.next() => {
            let restored = if arguments.keep {
                Err(not_restored(&boots))
            } else {
                restore(&local.api, &boots, display, signals).await
            };
            return Err(Failure::Interrupted(restored.err().map_or("the BMCs are restored".into(), Into::into)));
        }
    };
    let outcome = finish(display, &followed);
    if arguments.keep {
        return outcome;
    }
    // A host that has booted, or may have booted, still reads its medium. A host that has failed does not.
    let open = followed.into_iter().filter(|boot| !boot.ended);
    let (unknown, known): (Vec<Boot>, Vec<Boot>) = open.partition(Boot::is_unknown);
    let (failed, booted): (Vec<Boot>, Vec<Boot>) = known.into_iter().partition(|boot| ejects || !boot.has_booted());
    if !failed.is_empty() {
        restore(&local.api, &failed, display, signals).await.map_err(Failure::Bmc)?;
    }
    if ejects && !unknown.is_empty() {
        terminal::remark(&format!("{}\n", not_restored(&unknown)));
        return outcome;
    }
    let running: Vec<Boot> = booted.into_iter().chain(unknown).collect();
    if !running.is_empty() {
        terminal::remark("still serving, because live systems read their medium; press Ctrl-C to eject it\n");
        signals.next().await;
        restore(&local.api, &running, display, signals).await.map_err(Failure::Bmc)?;
    }
    outcome
}

async fn begin(api: &Api, order: &Order) -> Result<Vec<Boot>, Failure> {
    match api.begin(order).await {
        Ok(Begun { boots, findings }) => {
            terminal::remark(&display::findings(&findings));
            Ok(boots)
        }
        Err(ApiError::Refused { detail, findings }) => {
            terminal::remark(&display::findings(&findings));
            // The detail is the first of these errors.
            let shown = findings.iter().any(|finding| finding.severity == "error");
            Err(if shown { Failure::Findings } else { Failure::Input(detail) })
        }
        Err(error) => Err(error.into()),
    }
}

/// Follows a boot until `until` is true of it. If the connection ends, connects again.
async fn follow(api: &Api, boot: &Boot, display: &Display, until: impl Fn(&Boot) -> bool) -> Result<Boot, ApiError> {
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

/// Ejects the media and resets the boot overrides.
async fn restore(api: &Api, boots: &[Boot], display: &Display, signals: &mut Signals) -> Result<(), String> {
    display.say("ejecting; Ctrl-C leaves the BMCs as they are\n");
    let restored = join_all(boots.iter().map(|boot| async move {
        api.delete(&boot.id).await?;
        match follow(api, boot, display, |boot| boot.ended).await {
            // The boot had ended, so the server has forgotten it.
            Err(ApiError::Missing) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }));
    tokio::select! {
        restored = tokio::time::timeout(MAX_RESTORE, restored) => match restored {
            Ok(restored) if restored.iter().all(Result::is_ok) => Ok(()),
            Ok(_) | Err(_) => Err(not_restored(boots)),
        },
        _ = signals.next() => Err(not_restored(boots)),
    }
}

/// Names the BMCs that dayone has left as they are.
fn not_restored(boots: &[Boot]) -> String {
    let bmcs: Vec<&str> = boots.iter().map(|boot| boot.bmc.address.as_str()).collect();
    format!(
        "the medium may still be inserted, and the boot override may still be set at {}; dayone eject ejects the medium",
        bmcs.join(", ")
    )
}

fn finish(display: &Display, boots: &[Boot]) -> Result<(), Failure> {
    display.outcomes(boots);
    let failed = |boot: &Boot| !boot.has_booted() && !boot.is_unknown();
    match boots {
        boots if boots.iter().any(failed) => Err(Failure::Findings),
        boots if boots.iter().any(Boot::is_unknown) => Err(Failure::Unknown),
        _ => Ok(()),
    }
}
