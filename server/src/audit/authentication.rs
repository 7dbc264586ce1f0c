//! Logins, failed attempts at authentication, and requests that a role does not allow.

use std::net::IpAddr;
use std::num::NonZeroU64;
use std::sync::Arc;

use media::LogLimit;

use super::event::{Event, Who};
use super::handle::Audit;

/// Records logins, failed attempts at authentication, and requests that a role does not allow. Clones share the limits, so that
/// neither strangers nor clients can fill the disk with entries.
#[derive(Debug, Clone, Default)]
pub struct Authentications {
    audit: Audit,
    limit: Arc<LogLimit>,
    refusals: Arc<LogLimit>,
}

impl Authentications {
    /// Records in this log.
    pub fn new(audit: Audit) -> Self {
        Self { audit, limit: Arc::default(), refusals: Arc::default() }
    }

    /// Records a login with a browser.
    pub fn logged_in(&self, who: Who) {
        self.audit.record(who, Event::LoggedIn);
    }

    /// Records a failed login with a browser, unless there were too many failed attempts within a minute.
    pub fn login_failed(&self, address: Option<IpAddr>) {
        self.failed(address, true);
    }

    /// Records a request without valid credentials, unless there were too many failed attempts within a minute.
    pub fn request_failed(&self, address: Option<IpAddr>) {
        self.failed(address, false);
    }

    fn failed(&self, address: Option<IpAddr>, login: bool) {
        if self.audit.is_on()
            && let Some(unrecorded) = self.limit.admit()
        {
            let unrecorded = NonZeroU64::new(unrecorded);
            self.audit.record(Who::stranger(address), Event::AuthenticationFailed { login, unrecorded });
        }
    }

    /// Records that a client's role was too small, unless that happened too often within a minute.
    pub(crate) fn refused(&self, who: Who, method: &str, route: &str, needed_role: &'static str) {
        if self.audit.is_on()
            && let Some(unrecorded) = self.refusals.admit()
        {
            let (method, route, unrecorded) = (method.to_owned(), route.to_owned(), NonZeroU64::new(unrecorded));
            self.audit.record(who, Event::RequestRefused { method, route, needed_role, unrecorded });
        }
    }
}
