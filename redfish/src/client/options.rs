//! Which BMC, and how it is treated.

use std::time::Duration;

use crate::{AllowedNetworks, BmcAddress, Credentials, Verification};

/// One BMC, and how to log in to it.
#[derive(Debug, Clone)]
pub struct Target {
    /// Where it is.
    pub address: BmcAddress,
    /// Who logs in. Nobody, for an emulator without accounts.
    pub credentials: Option<Credentials>,
    /// How its certificate is verified.
    pub verification: Verification,
}

/// How BMCs are treated: they are slow, and easily overwhelmed.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The networks that they may be in.
    pub networks: AllowedNetworks,
    /// How long connecting may take, with TLS.
    pub connect_timeout: Duration,
    /// How long an answer may take.
    pub request_timeout: Duration,
    /// The time between two requests to one BMC, at least. There is only one at a time.
    pub pace: Duration,
    /// How many times what can be repeated safely is repeated, when the BMC cannot be reached or is busy.
    pub retries: u32,
    /// Bytes of an answer that are read.
    pub max_body: usize,
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
        }
    }
}
