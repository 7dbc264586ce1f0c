//! Ends a change of a host's power early, if its user no longer wants it.

use super::Bmc;
use super::error::BmcError;

/// Whether the user no longer wants a change of the power.
#[derive(Default)]
pub(super) struct Interrupt(Option<Box<dyn Fn() -> bool + Send + Sync>>);

impl Bmc {
    /// Sets a question that is asked before each request that changes the host's power, and while an operating system shuts down. If
    /// the answer is true, nothing more is sent, and the change of the power ends with [`BmcError::Interrupted`]. The host may then be
    /// off.
    #[must_use]
    pub fn interruptible(mut self, is_interrupted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.interrupt = Interrupt(Some(Box::new(is_interrupted)));
        self
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.0.as_ref().is_some_and(|is_interrupted| is_interrupted())
    }

    /// Ends a change of the power if it is interrupted.
    pub(super) async fn check_interrupt(&self) -> Result<(), BmcError> {
        if !self.is_interrupted() {
            return Ok(());
        }
        Err(BmcError::Interrupted(self.power_state().await?))
    }

    /// Waits for the interrupt.
    pub(super) async fn interrupted(&self) {
        while !self.is_interrupted() {
            tokio::time::sleep(self.limits.poll_interval).await;
        }
    }
}
