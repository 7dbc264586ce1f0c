//! What clients and operators learn of requests that the limits of an image refuse.

use std::net::IpAddr;

use tracing::field::display;

use super::path::Target;
use crate::LogLimit;
use crate::access::Refusal;

/// The log of refused requests. It is limited, because a client that was refused tends to ask again.
#[derive(Debug, Default)]
pub(super) struct Refusals(LogLimit);

impl Refusals {
    pub(super) fn log(&self, client: Option<IpAddr>, host: Option<&str>, target: Option<Target<'_>>, refusal: Refusal) {
        if let Some(suppressed) = self.0.admit() {
            let (token, file) = target.map_or(("", ""), Target::shown);
            let client = client.map(display);
            tracing::warn!(client, host, token, file, reason = %refusal, suppressed, "refused a client an image");
        }
    }
}

/// The text of the answer.
pub(super) fn text(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Address => "this client's address may not read the image\n",
        Refusal::Reads => "the image was read as often as it may be\n",
    }
}
