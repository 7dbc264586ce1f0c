//! Which BMC to connect to, and how.

use std::time::Duration;

use super::Unfinished;
use crate::{AllowedNetworks, BmcAddress, Credentials, Verification};

/// A BMC, and how to log in to it.
#[derive(Debug, Clone)]
pub struct Target {
    /// The BMC's address.
    pub address: BmcAddress,
    /// The account. `None` for an emulator without accounts.
    pub credentials: Option<Credentials>,
    /// How the BMC's certificate is verified.
    pub verification: Verification,
}

/// Limits for the requests to a BMC. The defaults suit BMCs, which are slow and easily overloaded.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The networks that BMCs may be in. Default: any network.
    pub networks: AllowedNetworks,
    /// The time limit for a connection, including TLS. Default: 15 seconds.
    pub connect_timeout: Duration,
    /// The time limit for an answer to a read. Default: 1 minute.
    pub request_timeout: Duration,
    /// The minimum time between the end of a request and the next one. A client sends one request at a time. Default:
    /// 20 milliseconds.
    pub pace: Duration,
    /// How often a request that can be repeated safely is repeated if the BMC cannot be reached or is busy. Default: 2.
    pub retries: u32,
    /// The maximum size of an answer, in bytes. Default: 2 MiB.
    pub max_body: usize,
    /// Counts logins that are under way, and sessions that are being closed, including those of dropped clients. Wait for them before
    /// the runtime ends.
    pub unfinished: Unfinished,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            networks: AllowedNetworks::default(),
            connect_timeout: Duration::from_secs(15),
            request_timeout: Duration::from_mins(1),
            pace: Duration::from_millis(20),
            retries: 2,
            max_body: 2 << 20,
            unfinished: Unfinished::default(),
        }
    }
}
