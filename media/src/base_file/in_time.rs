//! Looking at a base without waiting for its file system for ever.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::{BaseError, BaseFile, look};
use crate::BOUND;

impl BaseFile {
    /// [`check`](Self::check), if that can be said without waiting for anybody.
    pub fn check_now(&self) -> Option<Result<(), BaseError>> {
        if let Some(hung) = self.hung() {
            return Some(Err(hung));
        }
        if !self.local {
            return None;
        }
        if let Err(error) = self.verify() {
            return Some(Err(error));
        }
        let opened = (self.fingerprint.device, self.fingerprint.inode);
        // That something else is there is for a real look to say: it is said for good.
        look::cached(&self.path).filter(|there| *there == opened).map(|_| Ok(()))
    }

    /// [`check`](Self::check), which gives up when the file system does not answer in time.
    pub fn check_in_time(self: &Arc<Self>) -> Result<(), BaseError> {
        self.check_now().unwrap_or_else(|| self.checked(self.checking.run(self.look())))
    }

    /// [`check_in_time`](Self::check_in_time), for callers that must not block their thread.
    pub async fn check_in_time_async(self: &Arc<Self>) -> Result<(), BaseError> {
        match self.check_now() {
            Some(checked) => checked,
            None => self.checked(self.checking.run_async(self.look()).await),
        }
    }

    fn look(self: &Arc<Self>) -> impl FnOnce() -> Arc<Result<(), BaseError>> + Send + 'static {
        let file = Arc::clone(self);
        move || Arc::new(file.check())
    }

    fn checked(&self, answer: io::Result<Option<Arc<Result<(), BaseError>>>>) -> Result<(), BaseError> {
        match answer {
            Ok(Some(checked)) => (*checked).as_ref().map_err(BaseError::again).copied(),
            Ok(None) => Err(self.unresponsive(self.checking.running_for().unwrap_or(BOUND))),
            Err(source) => Err(BaseError::Inaccessible { path: self.path.clone(), source }),
        }
    }

    /// The error of a file whose file system does not answer, if that is so.
    fn hung(&self) -> Option<BaseError> {
        let checking = self.checking.running_for().filter(|age| *age >= BOUND);
        checking.max(self.operations.hung_for()).map(|waited| self.unresponsive(waited))
    }

    pub(super) fn unresponsive(&self, waited: Duration) -> BaseError {
        BaseError::Unresponsive { path: self.path.clone(), waited }
    }
}

impl BaseError {
    /// The same error once more.
    fn again(&self) -> Self {
        match self {
            Self::Inaccessible { path, source } => {
                let source = match source.raw_os_error() {
                    Some(code) => io::Error::from_raw_os_error(code),
                    None => io::Error::new(source.kind(), source.to_string()),
                };
                Self::Inaccessible { path: path.clone(), source }
            }
            Self::NotAFile(path) => Self::NotAFile(path.clone()),
            Self::Changed { path, change } => Self::Changed { path: path.clone(), change: *change },
            Self::Unresponsive { path, waited } => Self::Unresponsive { path: path.clone(), waited: *waited },
        }
    }
}
