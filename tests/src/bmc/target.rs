//! The connection of dayone's client to an emulated BMC.

use std::time::Duration;

use redfish::bmc::{Bmc, BmcError, Limits};
use redfish::{ClientOptions, Credentials, Password, Target, Verification};

use super::{EmulatedBmc, PASSWORD, USERNAME};

impl EmulatedBmc {
    /// Returns the address and the credentials of the BMC.
    pub fn target(&self) -> Target {
        Target {
            address: self.origin().parse().expect("an address"),
            credentials: Some(credentials(PASSWORD)),
            verification: Verification::System,
        }
    }

    /// Connects dayone's client, with shorter time limits than hardware needs.
    pub async fn connect(&self) -> Result<Bmc, BmcError> {
        Ok(Bmc::connect(&self.target(), &impatient()).await?.with_limits(limits()))
    }
}

/// Returns the credentials of the user of every emulated BMC, with this password.
pub fn credentials(password: &str) -> Credentials {
    Credentials::new(USERNAME.to_owned(), Password::from(password.to_owned())).expect("credentials")
}

/// Returns client options for a BMC on loopback.
pub fn impatient() -> ClientOptions {
    ClientOptions { pace: Duration::ZERO, request_timeout: Duration::from_secs(5), ..ClientOptions::default() }
}

/// Returns time limits for a BMC on loopback.
pub fn limits() -> Limits {
    Limits {
        settle: Duration::from_secs(3),
        change: Duration::from_secs(5),
        pause: Duration::from_millis(100),
        poll_interval: Duration::from_millis(20),
        ..Limits::default()
    }
}
