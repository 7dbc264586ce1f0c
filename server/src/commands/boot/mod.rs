//! `dayone boot`: boots hosts from their images, through their BMCs. A server in this process or a running dayone server does
//! it. Both ways use the API, so there is only one implementation.

mod continuing;
mod display;
mod following;
mod local;
mod order;
mod remarks;
mod remote;
mod restoring;
pub(super) mod summary;
mod view;

use url::Url;

use self::continuing::Unfinished;
use self::display::Display;
use self::following::follow;
use self::local::Local;
use self::order::Order;
use self::restoring::{leave, not_restored, restore};
use super::boot_api::{Api, Begun, Boot};
use super::client::ApiError;
use super::failure::{Failure, block_on};
use super::signals::Signals;
use super::terminal;
use crate::arguments::BootArguments;
use crate::boots::EjectWhen;
use crate::open_files;

pub(super) fn run(arguments: &BootArguments) -> Result<(), Failure> {
    block_on(boot(arguments))?
}

async fn boot(arguments: &BootArguments) -> Result<(), Failure> {
    let mut signals = Signals::of_command().map_err(|error| Failure::system("cannot wait for signals", &error))?;
    let display = Display::new(arguments.format);
    if let Some(url) = &arguments.server.url {
        let api = remote::api(arguments, url.clone())?;
        return tokio::select! {
            outcome = boot_remotely(arguments, url, &api, &display) => outcome,
            _ = signals.next() => Err(Failure::Interrupted("the server continues the boots that it has begun".into())),
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
    let mut boots = begin(api, &order).await?;
    if !arguments.server.wait {
        boots.iter().try_for_each(|boot| display.begun(boot))?;
        terminal::remark(&remote::next_commands(arguments, url, &boots));
        return Ok(());
    }
    let outcome = match follow(api, &mut boots, display, Boot::is_settled).await {
        Ok(()) => finish(display, &boots),
        Err(error) => Err(error.into()),
    };
    // Also if the server does not answer any more: it has the boots.
    boots.retain(|boot| !boot.is_over());
    if !boots.is_empty() {
        display.say(&remote::next_commands(arguments, url, &boots));
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
    let unfinished = Unfinished::read(&local.api, &order).await?;
    display.say(&unfinished.as_text());
    let Unfinished { ours: mut boots, left_out, .. } = unfinished;
    if boots.is_empty() {
        boots = begin(&local.api, &order).await?;
    }
    let until = |boot: &Boot| {
        if boot.ejects_when_booted() { boot.ended || boot.keeps_medium() } else { boot.is_settled() }
    };
    let followed = tokio::select! {
        followed = follow(&local.api, &mut boots, display, until) => Some(followed),
        _ = signals.next() => None,
    };
    if !matches!(followed, Some(Ok(()))) {
        // The media are gone with this program.
        let restored = if arguments.keep {
            leave(&local.api, &boots).await
        } else {
            restore(&local.api, boots, display, signals).await
        };
        return Err(match (followed, restored) {
            (Some(Err(error)), Ok(())) => error.into(),
            (Some(Err(error)), Err(left)) => Failure::Bmc(format!("{error}; {left}")),
            (_, restored) => Failure::Interrupted(restored.err().map_or("the BMCs are restored".into(), Into::into)),
        });
    }
    let mut outcome = finish(display, &boots).and_then(|()| continuing::all_begun(&left_out));
    if arguments.keep {
        return outcome;
    }
    // A host that has booted, or may have booted, still reads its medium. A host that has failed does not.
    let open = boots.into_iter().filter(|boot| !boot.is_over());
    let (unknown, known): (Vec<Boot>, Vec<Boot>) = open.partition(Boot::is_unknown);
    let (failed, booted): (Vec<Boot>, Vec<Boot>) = known.into_iter().partition(|boot| ejects || !boot.has_booted());
    if !failed.is_empty()
        && let Err(left) = restore(&local.api, failed, display, signals).await
    {
        // The others still need this program.
        if !booted.is_empty() || !unknown.is_empty() {
            display.say(&format!("{left}\n"));
        }
        outcome = Err(Failure::Bmc(left));
    }
    if ejects && !unknown.is_empty() {
        terminal::remark(&format!("{}\n", not_restored(&unknown)));
        return outcome;
    }
    let running: Vec<Boot> = booted.into_iter().chain(unknown).collect();
    if !running.is_empty() {
        terminal::remark("still serving, because live systems read their medium; press Ctrl-C to eject it\n");
        signals.next().await;
        restore(&local.api, running, display, signals).await.map_err(Failure::Bmc)?;
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

fn finish(display: &Display, boots: &[Boot]) -> Result<(), Failure> {
    display.outcomes(boots);
    let failed = |boot: &Boot| !boot.has_booted() && !boot.is_unknown();
    match boots {
        boots if boots.iter().any(failed) => Err(Failure::Findings),
        boots if boots.iter().any(Boot::is_unknown) => Err(Failure::Unknown),
        _ => Ok(()),
    }
}
