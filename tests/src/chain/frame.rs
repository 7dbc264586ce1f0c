//! Ethernet frames as a switch sees them: IEEE 802.1Q tags, and the LACP of IEEE 802.1AX.

const TAG: [u8; 2] = [0x81, 0x00];
const SLOW_PROTOCOLS: [u8; 2] = [0x88, 0x09];
/// Two addresses, before the tag or the type.
const ADDRESSES: usize = 12;

/// The VLAN of a frame, and the frame without its tag.
pub(super) fn untagged(frame: &[u8]) -> (Option<u16>, Vec<u8>) {
    match (frame.get(ADDRESSES..ADDRESSES + 2), frame.get(ADDRESSES + 2..ADDRESSES + 4)) {
        (Some(kind), Some(tag)) if kind == TAG => {
            let vlan = u16::from_be_bytes([tag[0], tag[1]]) & 0x0fff;
            (Some(vlan), [&frame[..ADDRESSES], &frame[ADDRESSES + 4..]].concat())
        }
        _ => (None, frame.to_vec()),
    }
}

/// A frame with the tag of a VLAN.
pub(super) fn tagged(frame: &[u8], vlan: Option<u16>) -> Vec<u8> {
    match vlan {
        Some(vlan) => [&frame[..ADDRESSES], &TAG, &vlan.to_be_bytes(), &frame[ADDRESSES..]].concat(),
        None => frame.to_vec(),
    }
}

/// The address that a frame is for.
pub(super) fn destination(frame: &[u8]) -> Option<[u8; 6]> {
    frame.get(..6)?.try_into().ok()
}

/// The address that a frame is from.
pub(super) fn source(frame: &[u8]) -> Option<[u8; 6]> {
    frame.get(6..ADDRESSES)?.try_into().ok()
}

/// The answer of a partner to an LACP frame that came in at a port: it is willing to aggregate, and agrees with
/// everything that it was told. With it, whether the machine sends on this port as part of a link of several. None if it
/// is no such frame.
pub(super) fn lacp_answer(frame: &[u8], port: usize) -> Option<(Vec<u8>, bool)> {
    const PARTNER: [u8; 6] = [0x02, 0, 0, 0, 0, 0x01];
    // Active, short timeout, aggregatable, in sync, collecting, distributing.
    const STATE: u8 = 0x3f;
    const DISTRIBUTING: u8 = 0x20;
    if frame.get(ADDRESSES..ADDRESSES + 2)? != SLOW_PROTOCOLS || *frame.get(14)? != 1 {
        return None;
    }
    // Its own description of itself: type and length, 15 bytes, 3 reserved.
    let actor = frame.get(16..36)?;
    let mut answer = vec![0x01, 0x80, 0xc2, 0x00, 0x00, 0x02];
    answer.extend(PARTNER);
    answer.extend(SLOW_PROTOCOLS);
    answer.extend([1, 1]);
    answer.extend([1, 20, 0xff, 0xff]);
    answer.extend(PARTNER);
    let port = u8::try_from(port + 1).ok()?;
    answer.extend([0, 1, 0, 0xff, 0, port, STATE, 0, 0, 0]);
    answer.extend([2, 20]);
    answer.extend(&actor[2..]);
    answer.extend([3, 16]);
    answer.resize(124, 0);
    Some((answer, actor[16] & DISTRIBUTING != 0))
}
