//! A router that tells every host to give itself an address: those that have theirs from a document must not listen.

use std::net::Ipv6Addr;

const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xbad);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// An Ethernet frame with a router advertisement (RFC 4861, section 4.2) of this prefix of 64 bits.
pub(super) fn advertisement(prefix: Ipv6Addr) -> Vec<u8> {
    // Hop limit 64, no flags, a router for half an hour, times not said; the checksum comes later.
    let mut message = vec![134, 0, 0, 0, 64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0];
    // The prefix is on this link, and for addresses of one's own; valid and preferred for an hour.
    message.extend([3, 4, 64, 0xc0, 0, 0, 0x0e, 0x10, 0, 0, 0x0e, 0x10, 0, 0, 0, 0]);
    message.extend(prefix.octets());
    let checksum = checksum(&message).to_be_bytes();
    message[2..4].copy_from_slice(&checksum);

    let mut frame = vec![0x33, 0x33, 0, 0, 0, 1, 0x02, 0, 0, 0, 0x0b, 0xad, 0x86, 0xdd];
    let length = u16::try_from(message.len()).expect("a short message").to_be_bytes();
    frame.extend([0x60, 0, 0, 0, length[0], length[1], 58, 255]);
    frame.extend(ROUTER.octets());
    frame.extend(ALL_NODES.octets());
    frame.extend(message);
    frame
}

/// The Internet checksum over the pseudo-header and an `ICMPv6` message of an even length.
fn checksum(message: &[u8]) -> u16 {
    let length = u32::try_from(message.len()).expect("a short message").to_be_bytes();
    let covered = [&ROUTER.octets()[..], &ALL_NODES.octets(), &length, &[0, 0, 0, 58], message].concat();
    let mut sum: u32 = covered.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).expect("folded")
}
