//! `dayone bmc …` and `dayone eject`: commands that talk to one BMC.

mod eject;
mod enrol;
mod probe;
mod target;

pub(super) use target::given_credentials;

use std::time::Duration;

use super::failure::Failure;
use crate::arguments::{EjectArguments, EnrolArguments, ProbeArguments};
use redfish::bmc::{Bmc, BmcError};

/// How long an interrupted command waits for the end of its session.
const CLOSE_SESSION: Duration = Duration::from_secs(5);

pub(super) fn probe(arguments: &ProbeArguments) -> Result<(), Failure> {
    run(probe::run(arguments))
}

pub(super) fn enrol(arguments: &EnrolArguments) -> Result<(), Failure> {
    run(enrol::run(arguments))
}

pub(super) fn eject(arguments: &EjectArguments) -> Result<(), Failure> {
    run(eject::run(arguments))
}

/// Runs a command until it is done, or until Ctrl-C.
fn run(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::system("cannot start", &error))?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = work => outcome,
            _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted("the BMC may have done what dayone asked of it until then".into())),
        }
    });
    if matches!(outcome, Err(Failure::Interrupted(_))) {
        runtime.block_on(session_closed());
    }
    runtime.shutdown_background();
    outcome
}

/// Waits for the task of a dropped client that closes its session.
async fn session_closed() {
    let ended = async {
        while tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    // If this takes too long, the BMC ends the session itself at some time.
    let _ = tokio::time::timeout(CLOSE_SESSION, ended).await;
}

async fn connect(chosen: &target::ChosenBmc) -> Result<Bmc, BmcError> {
    Bmc::connect(&chosen.target, &chosen.options).await
}

impl From<BmcError> for Failure {
    fn from(error: BmcError) -> Self {
        Self::Bmc(error.to_string())
    }
}
