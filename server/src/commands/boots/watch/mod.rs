//! `dayone boots watch`: follows all boots of a server until no host is booting any more.

mod board;
mod display;
mod view;

use self::display::Display;
use super::api;
use crate::arguments::BootsWatchArguments;
use crate::commands::boot_api::Api;
use crate::commands::failure::{Failure, block_on};
use crate::commands::following::AllBoots;
use crate::commands::signals::Signals;

pub(super) fn run(arguments: &BootsWatchArguments) -> Result<(), Failure> {
    let api = api(&arguments.server)?;
    block_on(watch(arguments, &api))?
}

async fn watch(arguments: &BootsWatchArguments, api: &Api) -> Result<(), Failure> {
    let mut signals = Signals::of_command().map_err(|error| Failure::system("cannot wait for signals", &error))?;
    let mut display = Display::new(arguments.format);
    let followed = tokio::select! {
        followed = follow(api, arguments.host.as_deref(), &mut display) => followed,
        _ = signals.next() => Err(Failure::Interrupted("the server continues the boots".into())),
    };
    let board = display.end(followed.is_ok())?;
    let had_boots = followed?;
    let counts = board.counts();
    if counts.total == 0 {
        let of_host = arguments.host.as_ref().map(|host| format!(" of a host {host:?}")).unwrap_or_default();
        return Err(Failure::Input(if had_boots {
            format!("no boot{of_host} is left: somebody has deleted the last one")
        } else {
            format!("the server has no boot{of_host}")
        }));
    }
    match (counts.failed, counts.unknown) {
        (0, 0) => Ok(()),
        (0, _) => Err(Failure::Unknown),
        _ => Err(Failure::Findings),
    }
}

/// Shows changes until no host is booting. Returns whether the server has had a boot meanwhile.
async fn follow(api: &Api, host: Option<&str>, display: &mut Display) -> Result<bool, Failure> {
    let mut all = AllBoots::new(api, host, false);
    let mut had_boots = false;
    loop {
        let changes = all.next(|| display.disconnected()).await?;
        had_boots |= !changes.boots.is_empty();
        if !display.show(changes)? {
            return Ok(had_boots);
        }
    }
}
