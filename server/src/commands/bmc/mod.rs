//! `dayone bmc …` and `dayone eject`: one BMC, asked from the command line.

mod eject;
mod probe;
mod target;

pub(super) use target::given;

use std::time::Duration;

use super::failure::Failure;
use crate::arguments::{EjectArguments, ProbeArguments};
use redfish::bmc::{Bmc, BmcError};

/// How long the session of a command that is interrupted has to be ended.
const FAREWELL: Duration = Duration::from_secs(5);

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
            _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted("what was asked of the BMC by then may be done".into())),
        }
    });
    if matches!(outcome, Err(Failure::Interrupted(_))) {
        runtime.block_on(farewell());
    }
    runtime.shutdown_background();
    outcome
}

/// A client that was dropped has left a task behind, which ends its session.
async fn farewell() {
    let ended = async {
        while tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    // Not in time: the BMC ends the session by itself, some time.
    let _ = tokio::time::timeout(FAREWELL, ended).await;
}

/// Connects to the BMC that is meant.
async fn connect(meant: &target::Meant) -> Result<Bmc, Failure> {
    Bmc::connect(&meant.target, &meant.options).await.map_err(|error| said(&error))
}

fn said(error: &BmcError) -> Failure {
    Failure::Bmc(error.to_string())
}
