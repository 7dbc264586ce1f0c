//! The boot modes of documents, as Redfish knows them.

use redfish::bmc::BootMode;
use vocabulary::host;

/// Returns the mode that a BMC is asked for. Redfish has no mode for Secure Boot, which is a setting of its own.
pub(crate) fn redfish_boot_mode(mode: host::BootMode) -> BootMode {
    match mode {
        host::BootMode::Legacy => BootMode::Legacy,
        host::BootMode::Uefi | host::BootMode::UefiSecureBoot => BootMode::Uefi,
    }
}
