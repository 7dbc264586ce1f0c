//! The sections at the end of a kickstart file that give the installed system its network.
//!
//! Anaconda itself copies its profiles to the installed system (`pyanaconda/modules/network/installation.py`), but changes them
//! before: it takes the MAC address out of a profile, binds it to the NIC's name, and adds a profile for each NIC that has none
//! (`initialization.py`). The first section therefore removes the copies, and the second one writes the documents' profiles.

use crate::answers::{InstalledSystem, installed_profiles};

const SECTIONS: &str = include_str!("post.ks");

/// Returns the sections.
pub(super) fn sections(system: InstalledSystem<'_>) -> String {
    format!("{SECTIONS}{}%end\n", installed_profiles::commands(system))
}
