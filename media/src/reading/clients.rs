//! The clients that read a file.

use std::net::IpAddr;
use std::time::Instant;

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

/// A client, by its IP address.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) address: IpAddr,
    pub(super) user_agent: Option<String>,
    pub(super) tls: Option<&'static str>,
    pub(super) gets: u64,
    pub(super) heads: u64,
    pub(super) ranges: u64,
    pub(super) bytes: u64,
    pub(super) first: Instant,
    pub(super) last: Instant,
}

/// The clients, and how many were dropped to make room for others.
#[derive(Debug, Clone, Default)]
pub(super) struct Clients {
    known: Vec<Client>,
    forgotten: u64,
}

impl Clients {
    pub(super) fn request(&mut self, request: &Request<'_>, now: Instant) {
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
        client.ranges += u64::from(request.asks_range);
    }

    /// Adds a client. If there are too many, drops the one that was seen longest ago.
    fn insert(&mut self, address: IpAddr, now: Instant) -> usize {
        if self.known.len() >= REMEMBERED
            && let Some(oldest) =
                (0..self.known.len()).min_by_key(|index| self.known.get(*index).map(|known| known.last))
        {
            self.known.remove(oldest);
            self.forgotten += 1;
        }
        let (user_agent, tls) = (None, None);
        let client = Client { address, user_agent, tls, gets: 0, heads: 0, ranges: 0, bytes: 0, first: now, last: now };
        self.known.push(client);
        self.known.len() - 1
    }

    pub(super) fn sent(&mut self, address: IpAddr, bytes: u64, now: Instant) {
        if let Some(client) = self.known.iter_mut().find(|client| client.address == address) {
            client.bytes = client.bytes.saturating_add(bytes);
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
    use std::time::Duration;

    use super::*;

    fn get(peer: u8) -> Request<'static> {
        let peer = Some([192, 0, 2, peer].into());
        Request { peer, user_agent: Some("bmc/1"), tls: None, is_head: false, asks_range: true }
    }

    #[test]
    fn clients_are_counted_by_address_and_the_one_seen_longest_ago_goes_first() {
        let (mut clients, start) = (Clients::default(), Instant::now());
        clients.request(&get(1), start);
        clients.request(&Request { is_head: true, asks_range: false, user_agent: Some("bmc/2"), ..get(1) }, start);
        clients.sent([192, 0, 2, 1].into(), 7, start);
        let [one] = clients.known() else { panic!("{clients:?}") };
        assert_eq!((one.gets, one.heads, one.ranges, one.bytes), (1, 1, 1, 7));
        assert_eq!(one.user_agent.as_deref(), Some("bmc/2"));
        for number in 2..=20 {
            clients.request(&get(number), start + Duration::from_secs(number.into()));
            clients.sent([192, 0, 2, 1].into(), 1, start + Duration::from_secs(number.into()));
        }
        assert_eq!((clients.known().len(), clients.forgotten()), (REMEMBERED, 4));
        assert!(clients.known().iter().any(|client| client.address == IpAddr::from([192, 0, 2, 1])), "it reads still");
    }
}
