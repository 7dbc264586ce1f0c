//! A host's NMState document as it is written: what nmstate does not refuse and would lose, and what NetworkManager makes
//! nothing of. The other checks look at what the document means.

pub(crate) mod boot_nic;
pub(crate) mod families;
pub(crate) mod features;
pub(crate) mod newer;
pub(crate) mod refusals;
pub(crate) mod settings;
