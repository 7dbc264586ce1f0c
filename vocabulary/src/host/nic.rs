//! Which NIC is meant by a name.

use super::MacAddress;
use crate::report::DocumentPath;

/// A NIC that the host's documents know by its MAC address, under the name that its network calls it.
///
/// The name is the document's own: the kernel may call the NIC otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedNic {
    /// What the network calls it.
    pub name: String,
    /// Its permanent MAC address.
    pub mac: MacAddress,
    /// Where the documents say so.
    pub path: DocumentPath,
}
