//! `dayone boot`: hosts, booted from their images by way of their BMCs, by this program or by a dayone that serves. Both
//! ways go through the API, so that there is one.

mod api;
mod display;
mod events;
mod local;
mod names;
mod order;
mod remarks;
mod remote;
mod view;
mod words;

use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use url::Url;

use self::api::{Api, ApiError, Begun, Boot};
use self::display::Display;
use self::local::Local;
use self::order::Order;
use super::failure::Failure;
use super::signals::Signals;
use super::terminal;
use crate::arguments::BootArguments;
use crate::boots::EjectWhen;
use crate::open_files;

/// How often a server that has gone is tried again, and for how long altogether.
const AGAIN: Duration = Duration::from_secs(1);
const TRIES: u32 = 120;
/// How long ejecting may take once somebody wants to go.
const UNDOING: Duration = Duration::from_mins(3);

pub(super) fn run(arguments: &BootArguments) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::system("cannot start threads", &error))?;
    let outcome = runtime.block_on(boot(arguments));
    // A thread that reads a disk is not waited for.
    runtime.shutdown_background();
    outcome
}

async fn boot(arguments: &BootArguments) -> Result<(), Failure> {
    let mut signals = Signals::new().map_err(|error| Failure::system("cannot wait for signals", &error))?;
    let display = Display::new(arguments.output);
    if let Some(url) = &arguments.server.url {
        let api = remote::api(arguments, url.clone())?;
        return tokio::select! {
            outcome = elsewhere(arguments, url, &api, &display) => outcome,
            _ = signals.next() => Err(Failure::Interrupted("what the server has begun goes on there".into())),
        };
    }
    open_files::raise_limit();
    let local = tokio::select! {
        started = Local::start(arguments) => started?,
        _ = signals.next() => return Err(Failure::Interrupted("nothing was begun".into())),
    };
    let outcome = here(arguments, &local, &display, &mut signals).await;
    local.stop().await;
    outcome
}

/// By a server.
async fn elsewhere(arguments: &BootArguments, url: &Url, api: &Api, display: &Display) -> Result<(), Failure> {
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

/// By this program.
async fn here(
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
            let left = if arguments.keep {
                Err(left(&boots))
            } else {
                undo(&local.api, &boots, display, signals).await
            };
            return Err(Failure::Interrupted(left.err().map_or("the BMCs are as they were".into(), Into::into)));
        }
    };
    let outcome = finish(display, &followed);
    if arguments.keep {
        return outcome;
    }
    // A host that has booted, or may have, reads its medium on; one that has failed does not.
    let open = followed.into_iter().filter(|boot| !boot.ended);
    let (unknown, known): (Vec<Boot>, Vec<Boot>) = open.partition(Boot::is_unknown);
    let (failed, booted): (Vec<Boot>, Vec<Boot>) = known.into_iter().partition(|boot| ejects || !boot.has_booted());
    if !failed.is_empty() {
        undo(&local.api, &failed, display, signals).await.map_err(Failure::Bmc)?;
    }
    if ejects && !unknown.is_empty() {
        terminal::remark(&format!("{}\n", left(&unknown)));
        return outcome;
    }
    let running: Vec<Boot> = booted.into_iter().chain(unknown).collect();
    if !running.is_empty() {
        terminal::remark("serving on, for systems that go on reading their medium; Ctrl-C ejects it\n");
        signals.next().await;
        undo(&local.api, &running, display, signals).await.map_err(Failure::Bmc)?;
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
            // The detail is the first of the errors.
            let shown = findings.iter().any(|finding| finding.severity == "error");
            Err(if shown { Failure::Findings } else { Failure::Input(detail) })
        }
        Err(error) => Err(error.into()),
    }
}

/// Follows a boot until it has come so far. A connection that ends is made anew.
async fn follow(api: &Api, boot: &Boot, display: &Display, until: impl Fn(&Boot) -> bool) -> Result<Boot, ApiError> {
    let mut last = boot.clone();
    let mut seen = "0".to_owned();
    let mut tries = 0;
    loop {
        match api.follow(&boot.id, &seen).await {
            Ok(None) => return Ok(last),
            Ok(Some(mut following)) => {
                while let Some(event) = following.next().await {
                    tries = 0;
                    let Ok(now) = serde_json::from_str::<Boot>(&event.data) else { continue };
                    display.show(&now, &event.data);
                    if until(&now) {
                        return Ok(now);
                    }
                    (last, seen) = (now, event.id);
                }
            }
            Err(ApiError::Unreachable(_)) if tries < TRIES => {}
            Err(error) => return Err(error),
        }
        tries += 1;
        if tries > TRIES {
            return Err(ApiError::Unreachable("the server ends the connection again and again".to_owned()));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Brings the BMCs back to what they were.
async fn undo(api: &Api, boots: &[Boot], display: &Display, signals: &mut Signals) -> Result<(), String> {
    display.say("ejecting; Ctrl-C leaves the BMCs as they are\n");
    let undone = join_all(boots.iter().map(|boot| async move {
        api.delete(&boot.id).await?;
        match follow(api, boot, display, |boot| boot.ended).await {
            // It had ended before, so that deleting was forgetting.
            Err(ApiError::Missing) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }));
    tokio::select! {
        undone = tokio::time::timeout(UNDOING, undone) => match undone {
            Ok(undone) if undone.iter().all(Result::is_ok) => Ok(()),
            Ok(_) | Err(_) => Err(left(boots)),
        },
        _ = signals.next() => Err(left(boots)),
    }
}

fn left(boots: &[Boot]) -> String {
    let bmcs: Vec<&str> = boots.iter().map(|boot| boot.bmc.address.as_str()).collect();
    format!(
        "the medium may still be inserted and the boot override may still be set at {}; dayone eject takes the medium out",
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
