//! Records for tests.

use redfish::bmc::Medium;

use super::credentials::GivenCredentials;
use super::method::BootMethod;
use super::record::{BootOptions, EjectWhen, NewBoot};

/// A boot of this host by virtual media, through the BMC at this address, which waits for nothing.
pub(super) fn new_boot(host: Option<&str>, address: &str) -> NewBoot {
    NewBoot {
        host: host.map(str::to_owned),
        image: "0".repeat(64).parse().unwrap(),
        method: BootMethod::VirtualMedia,
        medium: Medium::Cd,
        boot_mode: None,
        address: address.parse().unwrap(),
        disable_certificate_verification: false,
        credentials: GivenCredentials::Default,
        options: BootOptions {
            wait_for: vec![],
            booted_within: 1800,
            shutdown_within: 0,
            eject: EjectWhen::Deleted,
            power_off: false,
            ignore_secure_boot: false,
        },
        addresses: vec![],
        firmware_network: None,
    }
}
