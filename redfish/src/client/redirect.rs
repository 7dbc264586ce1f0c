//! Redirects: where they lead, and which redirects the client may follow for a request that is not a read.

use http::header::LOCATION;
use url::Url;

use super::answer::{Reply, local_path};
use crate::address::{BmcAddress, ROOT};
use crate::error::RedfishError;
use crate::image_url::without_credentials;
use crate::message;
use crate::secrets::Secrets;

/// The path that a redirect of a request to `url` leads to, if it stays at the same BMC.
pub(super) fn path(url: &Url, reply: &Reply) -> Option<String> {
    let next = url.join(reply.header(&LOCATION)?).ok()?;
    let is_same = next.origin() == url.origin() && next.username().is_empty() && next.password().is_none();
    is_same.then(|| local_path(next.as_str())).flatten()
}

/// Whether a redirect leads to the same resource: to the same path with or without a slash at the end.
pub(super) fn keeps_resource(reply: &Reply, next: &str) -> bool {
    let (path, is_moved) = (reply.path.as_str(), matches!(reply.status.as_u16(), 301 | 302 | 307 | 308));
    is_moved && (next.strip_suffix('/') == Some(path) || path.strip_suffix('/') == Some(next))
}

/// Returns the error for a redirect that the client does not follow.
pub(super) fn error(reply: &Reply, address: &BmcAddress, secrets: &Secrets) -> RedfishError {
    let location = message::clean(&without_credentials(reply.header(&LOCATION).unwrap_or("nowhere")), secrets);
    let is_address = reply.path == ROOT || address.system() == Some(reply.path.trim_end_matches('/'));
    RedfishError::Redirect { request: reply.request.clone(), location, is_address }
}
