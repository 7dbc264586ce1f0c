//! Bridges of the kernel.

use std::ops::RangeInclusive;

/// A bridge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bridge {
    /// Whether it speaks the spanning tree protocol.
    pub stp: bool,
    /// How long its ports listen and learn, in seconds.
    pub forward_delay: Option<u32>,
    /// The time between two of its messages, in seconds.
    pub hello_time: Option<u32>,
    /// How old a message may become, in seconds.
    pub max_age: Option<u32>,
    /// Its priority among the bridges of the tree.
    pub priority: Option<u32>,
    /// Whether it keeps VLANs apart.
    pub vlan_filtering: bool,
    /// Its other settings.
    pub options: BridgeOptions,
}

/// Settings that few bridges have, each if it is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BridgeOptions {
    /// After how many seconds it forgets an address.
    pub ageing_time: Option<u32>,
    /// The link-local groups whose packets it forwards, as a bit mask.
    pub group_forward_mask: Option<u32>,
    /// Whether it forwards multicast only to ports with members.
    pub multicast_snooping: Option<bool>,
    /// Whether it asks for members of multicast groups.
    pub multicast_querier: Option<bool>,
    /// The protocol of its VLAN tags, `802.1q` or `802.1ad`.
    pub vlan_protocol: Option<String>,
    /// The VLAN of frames without a tag, at the bridge itself and at ports that name no other; 0 for none.
    pub default_vlan: Option<u16>,
    /// The VLANs that the bridge itself is in besides.
    pub vlans: BridgeVlans,
}

/// What the port of a bridge says about itself. The bridge decides what is not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BridgePort {
    /// Its cost in the spanning tree.
    pub path_cost: Option<u32>,
    /// Its priority among the ports of the bridge.
    pub priority: Option<u32>,
    /// Whether it sends packets out through the port that they came from.
    pub hairpin: Option<bool>,
    /// The VLANs that it is in besides the bridge's default VLAN.
    pub vlans: BridgeVlans,
}

/// VLANs that a bridge with VLAN filtering or one of its ports is in, besides the bridge's default VLAN.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BridgeVlans {
    /// The VLAN of frames without a tag, if it is not the default one.
    pub untagged: Option<u16>,
    /// The VLANs whose frames have a tag, as ranges in order that do not touch each other.
    pub tagged: Vec<RangeInclusive<u16>>,
}

impl Bridge {
    /// The default VLAN if nothing sets it (`br_vlan_init`).
    const USUAL_VLAN: u16 = 1;

    /// The VLAN of frames without a tag, at ports that name no other. None if it is 0, which stands for no VLAN.
    pub(crate) fn default_vlan(&self) -> Option<u16> {
        Some(self.options.default_vlan.unwrap_or(Self::USUAL_VLAN)).filter(|id| *id != 0)
    }
}

impl BridgePort {
    /// What a port costs in the spanning tree if the document does not say it: NetworkManager's own default. The kernel's follows from
    /// the speed of the link.
    pub(crate) const USUAL_PATH_COST: u32 = 100;
}

impl BridgeVlans {
    /// Equal VLANs are equal, however their ranges are written.
    pub(crate) fn new(untagged: Option<u16>, mut ranges: Vec<RangeInclusive<u16>>) -> Self {
        ranges.sort_by_key(|range| *range.start());
        let mut tagged: Vec<RangeInclusive<u16>> = Vec::new();
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            if let Some(last) = tagged.last_mut().filter(|last| *range.start() <= last.end().saturating_add(1)) {
                *last = *last.start()..=*last.end().max(range.end());
            } else {
                tagged.push(range);
            }
        }
        Self { untagged, tagged }
    }

    /// Whether frames of a VLAN have a tag here.
    pub(crate) fn tags(&self, id: u16) -> bool {
        self.tagged.iter().any(|range| range.contains(&id))
    }
}
