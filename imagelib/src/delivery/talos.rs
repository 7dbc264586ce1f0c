//! Talos Linux: takes no files, and its network from a kernel argument.
//!
//! Before Talos is installed, it takes its META values from the environment variable `INSTALLER_META_BASE64`, and environment variables
//! from the kernel argument `talos.environment` ("Metal Network Configuration" in Talos' documentation; `pkg/machinery/meta` and
//! `internal/pkg/environment` in its source). The installer keeps these values. On a machine on whose disk Talos is installed already,
//! the values on that disk count instead.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::DeliveryError;
use super::contents::Contents;
use crate::compression::{Compression, CompressionError};
use crate::ignition::{Additions, UserConfig};
use crate::kernel_arguments::{KernelArgument, KernelArgumentEdits};

/// The META key of the network configuration (`MetalNetworkPlatformConfig`).
const NETWORK_KEY: &str = "0xa";
/// The kernel argument with META values.
const META_VALUES: &str = "talos.environment=INSTALLER_META_BASE64";
/// The whole system, which the initramfs of Talos has beside its `init`.
pub(super) const ROOT: &str = "rootfs.sqsh";

/// The kernel argument by which Talos gets its network configuration, a JSON document. It is compressed, so Talos must be 1.6.3 or
/// later.
pub fn talos_network_argument(document: &str) -> Result<KernelArgument, CompressionError> {
    // Talos splits its values at semicolons. In JSON they stand only in strings, where they can be escaped.
    let value = format!("{NETWORK_KEY}={}", document.replace(';', "\\u003b"));
    let packed = STANDARD.encode(Compression::Gzip.compress(value.as_bytes())?);
    Ok(KernelArgument::from_base64(META_VALUES, &packed))
}

/// Whether changes of kernel arguments bring Talos a network configuration.
pub fn is_talos_network(edits: &KernelArgumentEdits) -> bool {
    edits.append.iter().any(|argument| argument.as_str().starts_with(META_VALUES))
}

/// Nothing: refuses everything that would have to come with the initramfs.
pub(super) fn contents(additions: &Additions, ignition: Option<&UserConfig>) -> Result<Contents, DeliveryError> {
    let Additions {
        keyfiles,
        networkd_units,
        // Nothing says so to Talos. The conversion of the network warns about it.
        no_auto_default: _,
        hostname,
        ssh_authorized_keys,
        files,
        units,
    } = additions;
    let found = [
        (ignition.is_some(), "an Ignition config"),
        (!keyfiles.is_empty(), "keyfiles"),
        (!networkd_units.is_empty(), "units of systemd-networkd"),
        (hostname.is_some(), "a host name in a file"),
        (!ssh_authorized_keys.is_empty(), "SSH keys"),
        (!files.is_empty(), "files"),
        (!units.is_empty(), "systemd units"),
    ];
    match found.into_iter().find(|(present, _)| *present) {
        Some((_, what)) => Err(DeliveryError::TalosTakesNoFiles(what)),
        None => Ok(Contents::default()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    /// What Talos makes of the argument: each META value by its key.
    fn values(argument: &KernelArgument) -> Vec<(String, String)> {
        let (name, packed) = argument.as_str().split_once("=INSTALLER_META_BASE64=").unwrap();
        assert_eq!(name, "talos.environment");
        let mut text = String::new();
        GzDecoder::new(STANDARD.decode(packed).unwrap().as_slice()).read_to_string(&mut text).unwrap();
        let value = |value: &str| value.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).unwrap();
        text.split(';').map(value).collect()
    }

    #[test]
    fn talos_finds_one_value_even_if_the_document_has_what_separates_values() {
        let document = r#"{"links":[{"name":"a;b=c","up":true}]}"#;
        let values = values(&talos_network_argument(document).unwrap());
        let [(key, value)] = values.as_slice() else { panic!("{values:?}") };
        assert_eq!(key, "0xa");
        let [read, written] = [value, document].map(|json| serde_json::from_str::<serde_json::Value>(json).unwrap());
        assert_eq!(read, written);
    }

    /// The recipe of an image has the argument, and the same order must give the same recipe for ever.
    #[test]
    fn the_argument_of_a_document_never_changes() {
        let link = |name: &str| format!(r#"{{"name":"{name}","up":true,"layer":"platform"}}"#);
        let argument = talos_network_argument(&format!(r#"{{"links":[{},{}]}}"#, link("eno1"), link("eno2"))).unwrap();
        let packed = "H4sIAAAAAAAC/4XKMQqAMAwF0Lv8uYM6BjyJOGSIIKZpiS0opXfX0c35veHiuUF3O07Q0mAcBQSxNCKgZlDxKgHKt/gLWblsySN6+ObpJ6/9AQZPEKNpAAAA\
                      ";
        assert_eq!(argument.as_str(), format!("{META_VALUES}={packed}"));
        let edits = KernelArgumentEdits { append: vec![argument], ..KernelArgumentEdits::default() };
        assert!(is_talos_network(&edits) && !is_talos_network(&KernelArgumentEdits::default()));
    }

    #[test]
    fn any_argument_of_the_right_characters_reaches_the_kernel_through_every_boot_loader() {
        let argument = talos_network_argument("{}").unwrap();
        assert_eq!(argument.as_str().parse::<KernelArgument>(), Ok(argument));
    }
}
