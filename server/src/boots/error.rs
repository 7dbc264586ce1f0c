//! Why a boot is not begun, or not ended.

use std::io;

use super::credentials::NoCredentials;
use super::id::BootId;
use crate::store::StorageTrouble;
use redfish::NetworkRefusal;

/// Why no boot is begun: none of those that were asked for.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// Another boot has the BMC.
    #[error(
        "the BMC {bmc} is driven by the boot {running} ({host}), and by one boot at a time; see /v1/boots/{running}, and \
         delete that boot to eject its medium and begin anew"
    )]
    Busy {
        /// The BMC's address.
        bmc: String,
        /// Which boot.
        running: BootId,
        /// Whose.
        host: String,
    },
    /// Two boots of the request have one BMC.
    #[error("the hosts {0} and {1} have the same BMC; check spec.bmc.address")]
    SameBmc(String, String),
    /// Too many at once.
    #[error("{0} boots are under way, which is as many as this server takes; begin more when some have ended")]
    TooMany(usize),
    /// No credentials.
    #[error("{host}: {source}")]
    Credentials {
        /// Whose.
        host: String,
        /// Why.
        source: NoCredentials,
    },
    /// An address where no BMC may be.
    #[error("{host}: {source}; this server drives BMCs in these networks only: {networks} (--bmc-network)")]
    Network {
        /// Whose.
        host: String,
        /// Which address, and why.
        source: NetworkRefusal,
        /// The networks.
        networks: String,
    },
    /// The records cannot be written.
    #[error("the server cannot use its data directory: {}", StorageTrouble::of(.0))]
    Write(#[source] io::Error),
    /// A mistake in dayone, or a machine without random numbers.
    #[error("the boots cannot be begun; the server's log says why")]
    Internal(#[source] io::Error),
}

/// Why a boot is not undone, or not forgotten.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// There is none.
    #[error("there is no boot with this id: it was never begun, or it ended and was deleted")]
    Unknown,
    /// The records cannot be written.
    #[error("the server cannot use its data directory: {}", StorageTrouble::of(.0))]
    Write(#[source] io::Error),
}
