//! Asks the operating system of a host to shut down.

use std::time::Duration;

use tokio::time::Instant;

use super::Bmc;
use super::attempt::Attempt;
use super::error::BmcError;
use super::limits::Poll;
use super::reset_types::ResetTypes;
use super::state::PowerState;
use super::survey::Reset;

/// The end of a graceful shutdown.
pub(super) enum Shutdown {
    Done,
    TooLate,
    /// The BMC did not ask the operating system.
    Refused,
}

impl Bmc {
    /// Asks the operating system to shut down, and waits until it has. If none runs, the BMC refuses or nothing happens. What a BMC
    /// answers while it is busy or starts ends neither the asking nor the waiting: the host would be switched off by force too early.
    pub(super) async fn shut_down(
        &self,
        reset: &Reset,
        limit: Duration,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Shutdown, BmcError> {
        let begin = Instant::now();
        let mut poll = Poll::new(self.limits().pause, limit);
        let types = ResetTypes::new(reset.types.as_deref()).shut_down();
        while let Err(error) = self.reset(reset, &types, Some(PowerState::Off), attempts).await {
            if !error.may_pass() {
                return Ok(Shutdown::Refused);
            }
            let may_ask_again = tokio::select! {
                is_time_left = poll.wait() => is_time_left,
                () = self.interrupted() => false,
            };
            if !may_ask_again {
                return Ok(Shutdown::TooLate);
            }
        }
        tokio::select! {
            off = self.wait_for_power(PowerState::Off, limit.saturating_sub(begin.elapsed())) => match off {
                Ok(_) => Ok(Shutdown::Done),
                Err(error) if error.may_pass() => Ok(Shutdown::TooLate),
                Err(error) => Err(error),
            },
            () = self.interrupted() => Ok(Shutdown::TooLate),
        }
    }
}
