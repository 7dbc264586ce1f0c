//! Talos Linux: META values, among them its network configuration, in a kernel argument or in a partition.
//!
//! Before Talos is installed, it takes its META values from the environment variable `INSTALLER_META_BASE64`, and environment variables
//! from the kernel argument `talos.environment` ("Metal Network Configuration" in Talos' documentation; `pkg/machinery/meta` and
//! `internal/pkg/environment` in its source). The installer keeps these values. Where a disk has a META partition ([`meta`]), that
//! counts, and the argument has no effect.

pub mod meta;

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::compression::{Compression, CompressionError};
use crate::kernel_arguments::{KernelArgument, KernelArgumentEdits};
use vocabulary::report::{DocumentPath, Report};

/// Why META values cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TalosError {
    /// The kernel argument has no META values that Talos reads.
    #[error(
        "the kernel argument {META_VALUES}=… does not have META values that Talos reads: base64 of 0xa=VALUE;…, or of that with gzip"
    )]
    Argument,
    /// The values do not fit.
    #[error("the META partition of Talos has room for {room} bytes of values, and these have {size}")]
    NoRoom {
        /// The length of the values with their keys, in bytes.
        size: usize,
        /// The limit.
        room: usize,
    },
}

/// META values by their keys. A key is a byte that is not 0.
pub type MetaValues = BTreeMap<u8, Vec<u8>>;

/// The key of the network configuration (`MetalNetworkPlatformConfig`).
pub const NETWORK_KEY: u8 = 10;
/// The kernel argument with META values.
const META_VALUES: &str = "talos.environment=INSTALLER_META_BASE64";
/// The most that the values of an argument unpack to, in bytes. A partition has less room.
const MAX_VALUES_BYTES: u64 = 1 << 20;

/// The kernel argument by which Talos gets its network configuration, a JSON document. It is compressed, so Talos must be 1.6.3 or
/// later.
pub fn network_argument(document: &str) -> Result<KernelArgument, CompressionError> {
    // Talos splits its values at semicolons. In JSON they stand only in strings, where they can be escaped.
    let value = format!("{NETWORK_KEY:#x}={}", document.replace(';', "\\u003b"));
    let packed = STANDARD.encode(Compression::Gzip.compress(value.as_bytes())?);
    Ok(KernelArgument::from_base64(META_VALUES, &packed))
}

/// Whether changes of kernel arguments bring Talos META values.
pub fn is_network(edits: &KernelArgumentEdits) -> bool {
    edits.append.iter().any(|argument| packed(argument).is_some())
}

fn packed(argument: &KernelArgument) -> Option<&str> {
    argument.as_str().strip_prefix(META_VALUES)?.strip_prefix('=')
}

/// The META values of an argument, as Talos reads them. `None` if the argument is another one.
pub(crate) fn meta_values(argument: &KernelArgument) -> Option<Result<MetaValues, TalosError>> {
    let packed = packed(argument)?;
    Some(unpacked(packed).and_then(|text| values(&text)).ok_or(TalosError::Argument))
}

fn unpacked(packed: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(packed).ok()?;
    match bytes.as_slice() {
        [0x1f, 0x8b, ..] => Compression::Gzip.decompress(&bytes, MAX_VALUES_BYTES).ok(),
        _ => Some(bytes),
    }
}

fn values(text: &[u8]) -> Option<MetaValues> {
    let value = |value: &[u8]| {
        let equals = value.iter().position(|byte| *byte == b'=')?;
        let (key, value) = (std::str::from_utf8(value.get(..equals)?).ok()?, value.get(equals + 1..)?);
        let key: u8 = match key.strip_prefix("0x") {
            Some(digits) => u8::from_str_radix(digits, 16).ok()?,
            None => key.parse().ok()?,
        };
        // In a partition, key 0 ends the values.
        (key != 0).then(|| (key, value.to_vec()))
    };
    text.split(|byte| *byte == b';').map(value).collect()
}

/// Warns about what dayone does for Talos at `path`.
pub(crate) fn warn_untested(report: &mut Report, path: &DocumentPath) {
    report.warning(
        "talos-untested",
        path,
        "starts Talos: dayone follows Talos' documentation and source code, and is not tested with the real system",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talos_finds_one_value_even_if_the_document_has_what_separates_values() {
        let document = r#"{"links":[{"name":"a;b=c","up":true}]}"#;
        let values = meta_values(&network_argument(document).unwrap()).unwrap().unwrap();
        assert_eq!(values.keys().collect::<Vec<_>>(), [&NETWORK_KEY]);
        let read = std::str::from_utf8(&values[&NETWORK_KEY]).unwrap();
        assert!(!read.contains(';'));
        let [read, written] = [read, document].map(|json| serde_json::from_str::<serde_json::Value>(json).unwrap());
        assert_eq!(read, written);
    }

    /// The recipe of an image has the argument, and the same order must give the same recipe for ever.
    #[test]
    fn the_argument_of_a_document_never_changes() {
        let link = |name: &str| format!(r#"{{"name":"{name}","up":true,"layer":"platform"}}"#);
        let argument = network_argument(&format!(r#"{{"links":[{},{}]}}"#, link("eno1"), link("eno2"))).unwrap();
        let packed = "H4sIAAAAAAAC/4XKMQqAMAwF0Lv8uYM6BjyJOGSIIKZpiS0opXfX0c35veHiuUF3O07Q0mAcBQSxNCKgZlDxKgHKt/gLWblsySN6+ObpJ6/9AQZPEKNpAAAA\
                      ";
        assert_eq!(argument.as_str(), format!("{META_VALUES}={packed}"));
        let edits = KernelArgumentEdits { append: vec![argument], ..KernelArgumentEdits::default() };
        assert!(is_network(&edits) && !is_network(&KernelArgumentEdits::default()));
    }

    #[test]
    fn any_argument_of_the_right_characters_reaches_the_kernel_through_every_boot_loader() {
        let argument = network_argument("{}").unwrap();
        assert_eq!(argument.as_str().parse::<KernelArgument>(), Ok(argument));
    }

    /// What Talos' documentation has, and what its imager makes of short values: without compression.
    #[test]
    fn values_are_read_as_talos_reads_them() {
        let read = |packed: &str| meta_values(&format!("{META_VALUES}={packed}").parse().unwrap());
        let values = read(&STANDARD.encode("0xa=foo;0x0b=b=ar;12=")).unwrap().unwrap();
        assert_eq!(values, MetaValues::from([(10, b"foo".to_vec()), (11, b"b=ar".to_vec()), (12, Vec::new())]));
        for bad in
            ["!", &STANDARD.encode("foo"), &STANDARD.encode("300=x"), &STANDARD.encode("0=x"), "H4sIAAAAAAAC/w=="]
        {
            assert_eq!(read(bad), Some(Err(TalosError::Argument)), "{bad}");
        }
        assert_eq!(meta_values(&"talos.environment=http_proxy=x".parse().unwrap()), None);
    }
}
