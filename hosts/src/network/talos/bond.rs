//! Bonds.
//!
//! Talos compares the spec of a bond with what the kernel says of it, member by member, and takes the bond down and sets it up again
//! while they differ (`LinkSpecController`, `BondMasterSpec` in its source). It sets some options only in some modes. So the spec must
//! be what the kernel says of such a bond once it is set up, or the bond never comes to rest. What is left out is zero.

use crate::model::Bond;
use crate::network::form::Findings;
use crate::network::object::Object;
use crate::nmstate_document::{is_true, quoted};
use vocabulary::report::DocumentPath;

/// The options that are words: NMState's name, Talos', and the kernel's default (`Documentation/networking/bonding.rst`).
const WORDS: &[(&str, &str, &str)] = &[
    ("xmit_hash_policy", "xmitHashPolicy", "layer2"),
    ("lacp_rate", "lacpRate", "slow"),
    ("primary_reselect", "primaryReselect", "always"),
    ("ad_select", "adSelect", "stable"),
];

/// The options that are numbers: NMState's name, Talos', and the kernel's default.
const NUMBERS: &[(&str, &str, u64)] = &[
    ("resend_igmp", "resendIgmp", 1),
    ("min_links", "minLinks", 0),
    ("lp_interval", "lpInterval", 1),
    ("packets_per_slave", "packetsPerSlave", 1),
    ("ad_user_port_key", "adUserPortKey", 0),
];

/// The options that Talos sets in these modes alone.
const IN_MODES: &[(&str, &[&str])] = &[
    ("lacp_rate", &[LACP]),
    ("ad_actor_sys_prio", &[LACP]),
    ("ad_user_port_key", &[LACP]),
    ("packets_per_slave", &["balance-rr"]),
    ("tlb_dynamic_lb", &["balance-tlb", "balance-alb"]),
];
const LACP: &str = "802.3ad";

/// `bondMaster` of the bond at `path`.
pub(super) fn master(bond: &Bond, path: &DocumentPath, findings: &mut Findings<'_>) -> Object {
    let options = path.key("link-aggregation").key("options");
    let mode = bond.mode.as_str();
    for (option, modes) in IN_MODES {
        if bond.option(option).is_some() && !modes.contains(&mode) {
            let reason = format!("Talos does not set it in the mode {}; leave it out", quoted(mode));
            findings.refuse(&options.key(option), &reason);
        }
    }
    let mut spec = Object::default();
    spec.set("mode", mode);
    for (option, key, default) in WORDS {
        spec.set(key, bond.option(option).unwrap_or(default));
    }
    // Releases differ in whether they take the word. All take the kernel's number.
    let fail_over_mac = match bond.option("fail_over_mac") {
        Some("active") => 1,
        Some("follow") => 2,
        _ => 0,
    };
    spec.set("failOverMac", fail_over_mac);
    spec.set("arpValidate", "none");
    spec.set("arpAllTargets", "any");
    set_monitoring(&mut spec, bond);
    for (option, key, default) in NUMBERS {
        spec.set(key, bond.number(option).unwrap_or(*default));
    }
    // The kernel says it in this mode alone.
    let priority = (mode == LACP).then(|| bond.number("ad_actor_sys_prio").unwrap_or(65535));
    spec.set_some("adActorSysPrio", priority);
    // One number of the kernel under two names.
    let notifications = bond.number("num_grat_arp").or_else(|| bond.number("num_unsol_na"));
    spec.set("numPeerNotif", notifications.unwrap_or(1));
    let is_dynamic = bond.option("tlb_dynamic_lb").is_none_or(|value| is_true(Some(&value.into())));
    spec.set("tlbLogicalLb", u8::from(is_dynamic));
    spec.set("allSlavesActive", u8::from(bond.option("all_slaves_active") == Some("delivered")));
    spec.set("useCarrier", true);
    // Options of newer releases, which NMState does not have. Older releases ignore them.
    spec.set("adLacpActive", "on");
    spec.set("missedMax", 2);
    spec
}

/// How the kernel watches the links.
fn set_monitoring(spec: &mut Object, bond: &Bond) {
    let interval = bond.number("miimon").unwrap_or(Bond::USUAL_MIIMON);
    spec.set("miimon", interval);
    for (option, key) in [("updelay", "updelay"), ("downdelay", "downdelay")] {
        // The kernel counts delays in intervals.
        let delay = bond.number(option).unwrap_or(0);
        spec.set(key, delay - delay.checked_rem(interval).unwrap_or(delay));
    }
}
