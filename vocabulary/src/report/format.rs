//! The formats of networks whose keys are not NMState's.

/// A format of a host's network that dayone translates to NMState. Findings advise in the words of the format that the user
/// wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkFormat {
    /// cloud-init's `network-config` of version 2, which is netplan's YAML.
    Netplan,
    /// cloud-init's `network-config` of version 1.
    CloudInitV1,
    /// `OpenStack`'s `network_data.json`.
    NetworkData,
}

impl NetworkFormat {
    /// All formats, in their order.
    pub const ALL: [Self; 3] = [Self::Netplan, Self::CloudInitV1, Self::NetworkData];

    /// Returns the name of the format, for sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Netplan => "netplan",
            Self::CloudInitV1 => "network-config version 1",
            Self::NetworkData => "network_data.json",
        }
    }
}
