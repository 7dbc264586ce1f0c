//! The clients that read a file.

use std::net::IpAddr;

use serde::Serialize;
use utoipa::ToSchema;

use super::time::Time;

/// Maximum number of clients per file: a BMC, perhaps Ironic, and a few others.
const REMEMBERED: usize = 16;

/// What is recorded of a request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The client's address.
    pub peer: Option<IpAddr>,
    /// The `User-Agent` header.
    pub user_agent: Option<&'a str>,
    /// The version of TLS: `1.2`, `1.3` or `other`. `None` on plain HTTP.
    pub tls: Option<&'static str>,
    /// Whether the method is HEAD.
    pub is_head: bool,
    /// Whether it has a `Range` header.
    pub asks_range: bool,
}

/// A client that requested a file of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ReadClient)]
pub struct Client {
    /// IP address.
    #[schema(value_type = String)]
    pub address: IpAddr,
    /// The client's `User-Agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// The version of TLS; absent for plain HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<&'static str>,
    /// The number of GET requests.
    pub gets: u64,
    /// The number of HEAD requests.
    pub heads: u64,
    /// The number of requests with ranges.
    pub range_requests: u64,
    /// How many bytes the server has sent to it.
    pub sent: u64,
    /// The time of its first request.
    #[schema(value_type = String, format = DateTime)]
    pub first: Time,
    /// The time of its last request, or of the last byte that it was sent.
    #[schema(value_type = String, format = DateTime)]
    pub last: Time,
}

/// The clients, and how many were dropped to make room for others.
#[derive(Debug, Clone, Default)]
pub(super) struct Clients {
    known: Vec<Client>,
    forgotten: u64,
}

impl Clients {
    pub(super) fn request(&mut self, request: &Request<'_>, now: Time) {
        let Some(address) = request.peer else { return };
        let known = self.known.iter().position(|client| client.address == address);
        let index = known.unwrap_or_else(|| self.insert(address, now));
        let Some(client) = self.known.get_mut(index) else { return };
        client.last = now;
        client.tls = request.tls;
        if client.user_agent.as_deref() != request.user_agent {
            client.user_agent = request.user_agent.map(str::to_owned);
        }
        *(if request.is_head { &mut client.heads } else { &mut client.gets }) += 1;
        client.range_requests += u64::from(request.asks_range);
    }

    /// Adds a client. If there are too many, drops the one that was seen longest ago.
    fn insert(&mut self, address: IpAddr, now: Time) -> usize {
        if self.known.len() >= REMEMBERED
            && let Some(oldest) =
                (0..self.known.len()).min_by_key(|index| self.known.get(*index).map(|known| known.last))
        {
            self.known.remove(oldest);
            self.forgotten += 1;
        }
        let (user_agent, tls) = (None, None);
        let (gets, heads, range_requests, sent) = (0, 0, 0, 0);
        let client = Client { address, user_agent, tls, gets, heads, range_requests, sent, first: now, last: now };
        self.known.push(client);
        self.known.len() - 1
    }

    pub(super) fn sent(&mut self, address: IpAddr, bytes: u64, now: Time) {
        if let Some(client) = self.known.iter_mut().find(|client| client.address == address) {
            client.sent = client.sent.saturating_add(bytes);
            client.last = now;
        }
    }

    pub(super) fn known(&self) -> &[Client] {
        &self.known
    }

    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn get(peer: u8) -> Request<'static> {
        let peer = Some([192, 0, 2, peer].into());
        Request { peer, user_agent: Some("bmc/1"), tls: None, is_head: false, asks_range: true }
    }

    #[test]
    fn clients_are_counted_by_address_and_the_one_seen_longest_ago_goes_first() {
        let (mut clients, start) = (Clients::default(), SystemTime::now());
        clients.request(&get(1), Time(start));
        clients
            .request(&Request { is_head: true, asks_range: false, user_agent: Some("bmc/2"), ..get(1) }, Time(start));
        clients.sent([192, 0, 2, 1].into(), 7, Time(start));
        let [one] = clients.known() else { panic!("{clients:?}") };
        assert_eq!((one.gets, one.heads, one.range_requests, one.sent), (1, 1, 1, 7));
        assert_eq!(one.user_agent.as_deref(), Some("bmc/2"));
        for number in 2..=20 {
            let now = Time(start + Duration::from_secs(number.into()));
            clients.request(&get(number), now);
            clients.sent([192, 0, 2, 1].into(), 1, now);
        }
        assert_eq!((clients.known().len(), clients.forgotten()), (REMEMBERED, 4));
        assert!(clients.known().iter().any(|client| client.address == IpAddr::from([192, 0, 2, 1])), "it reads still");
    }
}
