//! What a second step makes of a host's network.

use super::bridge::Uplink;
use crate::model::Topology;
use vocabulary::report::DocumentPath;

/// What a document makes of a host.
pub(super) struct SecondNetwork {
    /// What `br-ex` stands on.
    pub(super) uplinks: Vec<Uplink>,
    /// Interfaces, routes and name servers; of the bridge only the interface that has the addresses.
    pub(super) topology: Topology,
    /// The whole document.
    pub(super) path: DocumentPath,
}
