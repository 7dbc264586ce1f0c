//! Options of bonds that have no effect with keyfiles.
//!
//! NetworkManager leaves them out. systemd-networkd sends them to the kernel, even if netplan wrote its units, and the kernel refuses the
//! whole bond (`bond_opt_check_deps`, `_bond_option_delay_set`, `bond_changelink`). So dayone leaves them out of these forms, too. The
//! checks of the profile have already warned about them.

use crate::check::profile::is_bond_option_of_mode;
use crate::model::Bond;

/// Whether an option of a bond has an effect with keyfiles.
pub(super) fn has_effect(bond: &Bond, option: &str) -> bool {
    let is_of_mode = is_bond_option_of_mode(option, &bond.mode);
    match option {
        // They count in intervals of miimon.
        "updelay" | "downdelay" => bond.miimon().is_some_and(|miimon| miimon > 0),
        "arp_validate" => is_of_mode && (bond.asks_for_targets() || bond.option(option) == Some("none")),
        _ => is_of_mode,
    }
}
