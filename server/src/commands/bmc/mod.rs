//! `dayone bmc …` and `dayone eject`: one BMC, asked from the command line.

mod eject;
mod probe;
mod target;

use std::time::Duration;

use super::failure::Failure;
use crate::arguments::{EjectArguments, ProbeArguments};
use crate::redfish::bmc::{Bmc, BmcError};

/// How long the session of a command that is interrupted has to be ended.
const FAREWELL: Duration = Duration::from_secs(1);

pub(super) fn probe(arguments: &ProbeArguments) -> Result<(), Failure> {
    run(probe::run(arguments))
}

pub(super) fn eject(arguments: &EjectArguments) -> Result<(), Failure> {
    run(eject::run(arguments))
}

/// Runs what talks to a BMC until it is done, or somebody has had enough.
fn run(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::system("cannot start", &error))?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = work => outcome,
            _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
        }
    });
    if matches!(outcome, Err(Failure::Interrupted)) {
        // The client was dropped, and has left behind what ends its session.
        runtime.block_on(tokio::time::sleep(FAREWELL));
    }
    runtime.shutdown_background();
    outcome
}

/// Connects to the BMC that is meant.
async fn connect(meant: &target::Meant) -> Result<Bmc, Failure> {
    Bmc::connect(&meant.target, &meant.options).await.map_err(|error| said(&error))
}

fn said(error: &BmcError) -> Failure {
    Failure::Bmc(error.to_string())
}
