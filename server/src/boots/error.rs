//! Why a boot cannot begin, or cannot be deleted.

use std::io;

use super::credentials::NoCredentials;
use super::id::BootId;
use crate::store::StorageTrouble;
use redfish::NetworkRefusal;

/// Why none of the requested boots can begin.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// Another boot controls the BMC.
    #[error(
        "the boot {running} ({host}) controls the BMC {bmc}, and only one boot at a time can; see /v1/boots/{running}, and \
         delete that boot to eject its medium and start again"
    )]
    Busy {
        /// The BMC's address.
        bmc: String,
        /// The boot that controls it.
        running: BootId,
        /// The host of that boot.
        host: String,
    },
    /// Two boots of the request have the same BMC.
    #[error("the hosts {0} and {1} have the same BMC; check spec.bmc.address")]
    SameBmc(String, String),
    /// There are too many boots.
    #[error(
        "{new} boots do not fit: a server has at most {most} boots that have not ended, and this one has {active}; order \
         fewer with one request, wait until some have ended, or delete those whose hosts no longer need their medium"
    )]
    TooMany {
        /// Those of the request.
        new: usize,
        /// Those that have not ended.
        active: usize,
        /// The maximum.
        most: usize,
    },
    /// There are no credentials.
    #[error("{host}: {source}")]
    Credentials {
        /// The host.
        host: String,
        /// The reason.
        source: NoCredentials,
    },
    /// The BMC's address is not in the allowed networks.
    #[error("{host}: {source}; this server controls only BMCs in these networks: {networks} (--bmc-network)")]
    Network {
        /// The host.
        host: String,
        /// The address and the reason.
        source: NetworkRefusal,
        /// The allowed networks.
        networks: String,
    },
    /// The records cannot be written.
    #[error("the server cannot use its data directory: {}", StorageTrouble::of(.0))]
    Write(#[source] io::Error),
    /// A mistake in dayone, or a machine without random numbers.
    #[error("the boots cannot begin; the server's log says why")]
    Internal(#[source] io::Error),
}

/// Why a boot cannot be deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// There is no such boot.
    #[error("there is no boot with this id: it never existed, or it was deleted")]
    Unknown,
    /// The records cannot be written.
    #[error("the server cannot use its data directory: {}", StorageTrouble::of(.0))]
    Write(#[source] io::Error),
}
