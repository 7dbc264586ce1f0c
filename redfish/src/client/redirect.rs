//! Redirects: where they lead, and which of them another request than a read may follow.

use http::header::LOCATION;

use super::ROOT;
use super::answer::{Reply, local_path};
use super::exchange::Exchange;
use crate::error::RedfishError;
use crate::message;

impl Exchange {
    /// The path that a redirect leads to, if it stays at the same BMC.
    pub(super) fn redirect_path(&self, reply: &Reply) -> Option<String> {
        let origin = self.target.address.origin();
        let url = self.url(&reply.path).ok()?.join(reply.header(&LOCATION)?).ok()?;
        let is_same = url.origin() == origin.origin() && url.username().is_empty() && url.password().is_none();
        is_same.then(|| local_path(url.as_str())).flatten()
    }

    /// The error of a redirect that is not followed.
    pub(super) fn redirect_error(&self, reply: &Reply) -> RedfishError {
        let location = reply.header(&LOCATION).unwrap_or("nowhere");
        let location = message::clean(location, &self.secrets());
        let is_address = reply.path == ROOT || self.target.address.system() == Some(reply.path.trim_end_matches('/'));
        RedfishError::Redirect { request: reply.request.clone(), location, is_address }
    }
}

/// Whether a redirect leads to the same resource: to the same path with a slash more or less at the end.
pub(super) fn keeps_resource(reply: &Reply, next: &str) -> bool {
    let (path, is_moved) = (reply.path.as_str(), matches!(reply.status.as_u16(), 301 | 302 | 307 | 308));
    is_moved && (next.strip_suffix('/') == Some(path) || path.strip_suffix('/') == Some(next))
}
