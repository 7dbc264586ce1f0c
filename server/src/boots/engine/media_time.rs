//! How long a BMC takes to pass on a medium, if dayone has seen how fast it reads.

use std::net::IpAddr;

use imagelib::base::{Base, Format};
use imagelib::medium_reads::MediumReads;
use redfish::BmcAddress;
use url::Host;

use crate::store::{Store, StoredImage};
use crate::units::{bytes, duration};

/// Shorter times, in seconds, are not worth a remark.
const WORTH_SAYING: u64 = 600;

/// Fewer seconds with bytes tell nothing about a speed.
const FEWEST_SECONDS: u64 = 10;

/// Returns a remark for the boot's record if its BMC reads so slowly that the boot takes long.
pub(super) fn remark(store: &Store, image: &StoredImage, address: &BmcAddress) -> Option<String> {
    let bmc = match address.host() {
        Host::Ipv4(address) => IpAddr::from(address),
        Host::Ipv6(address) => IpAddr::from(address),
        Host::Domain(_) => return None,
    };
    let planned = image.available()?;
    text(&planned.base.base, image.format(), speed(store, bmc)?)
}

/// Returns how fast this BMC has read media, in bytes per second: the highest rate over the files that only this BMC has read.
fn speed(store: &Store, bmc: IpAddr) -> Option<u64> {
    let speeds = store.images().into_iter().filter_map(|image| image.speed(bmc, FEWEST_SECONDS));
    speeds.max().filter(|speed| *speed > 0)
}

fn text(base: &Base, format: Format, speed: u64) -> Option<String> {
    let reads = MediumReads::of_format(base, format)?;
    let (least, most) = (reads.at_least / speed, reads.at_most / speed);
    if most < WORTH_SAYING {
        return None;
    }
    let text = format!(
        "the BMC has read media at {}/s, so the {} to {} of this medium take it {} to {}",
        bytes(speed),
        bytes(reads.at_least),
        bytes(reads.at_most),
        duration(least),
        duration(most),
    );
    let smaller = (format != Format::MinimalIso).then(|| MediumReads::of_format(base, Format::MinimalIso)).flatten();
    let smaller = smaller.filter(|_| base.formats().contains(&Format::MinimalIso));
    let smaller = smaller
        .map(|smaller| format!("; the format minimal-iso takes it {} at most", duration(smaller.at_most / speed)));
    Some(text + &smaller.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use imagelib::base::Role;

    use super::*;

    #[test]
    fn only_a_slow_bmc_is_worth_a_remark() {
        let packed = &include_bytes!("../../../../fixtures/bases/coreos-packed.iso.xz")[..];
        let mut iso = Vec::new();
        liblzma::read::XzDecoder::new(packed).read_to_end(&mut iso).unwrap();
        let base = Base::probe(&(Role::Iso, &iso)).unwrap();
        assert_eq!(text(&base, Format::Iso, 1_000_000), None);
        let slow = text(&base, Format::Iso, 100).unwrap();
        assert!(slow.starts_with("the BMC has read media at 100 B/s, so the "), "{slow}");
        assert!(slow.contains("; the format minimal-iso takes it "), "{slow}");
        assert!(!text(&base, Format::MinimalIso, 10).unwrap().contains("minimal-iso"));
        assert_eq!(text(&base, Format::Initrd, 1), None);
    }
}
