//! Logins and failed attempts at authentication.

use std::net::IpAddr;
use std::num::NonZeroU64;
use std::sync::Arc;

use media::LogLimit;

use super::event::{Event, Who};
use super::handle::Audit;

/// Records logins and failed attempts at authentication. Clones share one limit: anybody can cause such attempts, and must not be able
/// to fill the disk with them.
#[derive(Debug, Clone, Default)]
pub struct Authentications {
    audit: Audit,
    limit: Arc<LogLimit>,
}

impl Authentications {
    /// Records in this log.
    pub fn new(audit: Audit) -> Self {
        Self { audit, limit: Arc::default() }
    }

    /// Records a login with a browser.
    pub fn logged_in(&self, who: Who) {
        self.audit.record(who, Event::LoggedIn);
    }

    /// Records an attempt that failed, unless there were too many within a minute.
    pub fn failed(&self, address: Option<IpAddr>, login: bool) {
        if self.audit.is_on()
            && let Some(unrecorded) = self.limit.admit()
        {
            let unrecorded = NonZeroU64::new(unrecorded);
            self.audit.record(Who::stranger(address), Event::AuthenticationFailed { login, unrecorded });
        }
    }
}
