//! `[bond]`: options by themselves, with the mode, and with each other.

use super::values::{decimal_within, hardware_address, is_ipv4, is_ipv6, is_kernel_name};
use super::{Effect, Profile};
use crate::model::BOND_MODES;
use crate::nmstate_document::quoted;

enum Form {
    Number(i128, i128),
    /// The number of a word, or the word.
    Word(&'static [&'static str]),
    Targets(fn(&str) -> bool),
    Mac,
    Name,
}

use Form::{Mac, Name, Number, Targets, Word};

const MAX_INT: i128 = i32::MAX as i128;

#[rustfmt::skip]
const OPTIONS: &[(&str, Form)] = &[
    ("active_slave", Name),
    ("ad_actor_sys_prio", Number(1, 65535)),
    ("ad_actor_system", Mac),
    ("ad_select", Word(&["stable", "bandwidth", "count"])),
    ("ad_user_port_key", Number(0, 1023)),
    ("all_slaves_active", Number(0, 1)),
    ("arp_all_targets", Word(&["any", "all"])),
    ("arp_interval", Number(0, MAX_INT)),
    ("arp_ip_target", Targets(is_ipv4)),
    ("arp_missed_max", Number(0, 255)),
    ("arp_validate", Word(&["none", "active", "backup", "all", "filter", "filter_active", "filter_backup"])),
    ("balance-slb", Number(0, 1)),
    ("downdelay", Number(0, MAX_INT)),
    ("fail_over_mac", Word(&["none", "active", "follow"])),
    ("lacp_active", Word(&["off", "on"])),
    ("lacp_rate", Word(&["slow", "fast"])),
    ("lp_interval", Number(1, MAX_INT)),
    ("miimon", Number(0, MAX_INT)),
    ("min_links", Number(0, MAX_INT)),
    ("mode", Word(&BOND_MODES)),
    ("ns_ip6_target", Targets(is_ipv6)),
    ("num_grat_arp", Number(0, 255)),
    ("num_unsol_na", Number(0, 255)),
    ("packets_per_slave", Number(0, 65535)),
    ("peer_notif_delay", Number(0, MAX_INT)),
    ("primary", Name),
    ("primary_reselect", Word(&["always", "better", "failure"])),
    ("resend_igmp", Number(0, 255)),
    ("tlb_dynamic_lb", Number(0, 1)),
    ("updelay", Number(0, MAX_INT)),
    ("use_carrier", Number(0, 1)),
    ("xmit_hash_policy", Word(&["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"])),
];

const WITH_ACTIVE_PORT: &[&str] = &["active-backup", "balance-tlb", "balance-alb"];
const WITH_ARP: &[&str] = &["balance-rr", "active-backup", "balance-xor", "broadcast"];

/// Options that NetworkManager leaves out in all modes but these.
const MODES_OF: &[(&str, &[&str])] = &[
    ("active_slave", WITH_ACTIVE_PORT),
    ("ad_actor_sys_prio", &["802.3ad"]),
    ("ad_actor_system", &["802.3ad"]),
    ("ad_user_port_key", &["802.3ad"]),
    ("arp_interval", WITH_ARP),
    ("arp_ip_target", WITH_ARP),
    ("arp_validate", WITH_ARP),
    ("lacp_active", &["802.3ad"]),
    ("lacp_rate", &["802.3ad"]),
    ("ns_ip6_target", WITH_ARP),
    ("packets_per_slave", &["balance-rr"]),
    ("tlb_dynamic_lb", &["balance-tlb", "balance-alb"]),
];

pub(super) fn is_option(key: &str) -> bool {
    OPTIONS.iter().any(|(name, _)| *name == key)
}

/// Whether NetworkManager sets an option of bonds in this mode.
pub(crate) fn is_bond_option_of_mode(option: &str, mode: &str) -> bool {
    MODES_OF.iter().all(|(name, modes)| *name != option || modes.contains(&mode))
}

impl Form {
    fn takes(&self, text: &str) -> bool {
        match self {
            Number(least, greatest) => decimal_within(text, *least, *greatest).is_some(),
            Word(words) => {
                let last = i128::try_from(words.len()).unwrap_or_default() - 1;
                words.contains(&text) || decimal_within(text, 0, last).is_some()
            }
            Targets(is_target) => {
                let mut targets = text.split(',').map(str::trim).filter(|target| !target.is_empty()).peekable();
                targets.peek().is_some() && targets.all(is_target)
            }
            Mac => hardware_address(text, 6).is_some(),
            Name => is_kernel_name(text),
        }
    }

    fn expected(&self) -> String {
        match self {
            Number(least, greatest) => format!("a number from {least} to {greatest}"),
            Word(words) => format!("one of {}", words.join(", ")),
            Targets(_) => "addresses of the right family, separated by commas".to_owned(),
            Mac => "a MAC address".to_owned(),
            Name => "the name of an interface".to_owned(),
        }
    }
}

struct Options<'p, 'k, 'a>(&'p mut Profile<'k, 'a>);

impl Options<'_, '_, '_> {
    /// The value of an option that NetworkManager reads.
    fn get(&self, key: &str) -> Option<String> {
        let text = self.0.text("bond", key)?;
        let (_, form) = OPTIONS.iter().find(|(name, _)| *name == key)?;
        form.takes(&text).then(|| text.into_owned())
    }

    fn number(&self, key: &str) -> i128 {
        let usual = if key == "miimon" { 100 } else { 0 };
        self.get(key).and_then(|text| decimal_within(&text, 0, MAX_INT)).unwrap_or(usual)
    }

    fn refuse(&mut self, key: &str, what: &str, fix: &str) {
        self.0.refuse("bond", key, what, fix);
    }
}

pub(super) fn check(profile: &mut Profile<'_, '_>) {
    let Some(group) = profile.group("bond") else { return };
    for entry in group.entries() {
        let Some((_, form)) = OPTIONS.iter().find(|(name, _)| *name == entry.key) else {
            if entry.key != "interface-name" {
                let message = "is not a bond option that NetworkManager knows: it ignores the option".to_owned();
                profile.problem("bond", Some(entry.key), Effect::Ignored, message);
            }
            continue;
        };
        if !profile.text("bond", entry.key).is_some_and(|text| form.takes(&text)) {
            profile.reads_only("bond", entry.key, &form.expected());
        }
    }
    let mut options = Options(profile);
    let Some(mode) = options.get("mode") else {
        let message = "is missing, and a bond needs it";
        return options.refuse("mode", message, "add the mode that you want, such as active-backup or 802.3ad");
    };
    let by_number =
        decimal_within(&mode, 0, 6).and_then(|number| BOND_MODES.get(usize::try_from(number).ok()?).copied());
    let mode = by_number.map_or(mode, str::to_owned);
    check_mode(&mut options, &mode);
    check_monitors(&mut options, &mode);
    check_probes(&mut options, &mode);
    for (key, _) in MODES_OF {
        if options.get(key).is_some() && !is_bond_option_of_mode(key, &mode) {
            let why = format!("NetworkManager leaves it out in mode {mode}");
            options.0.dropped("bond", key, &why);
        }
    }
}

fn check_mode(options: &mut Options<'_, '_, '_>, mode: &str) {
    if let Some(primary) = options.get("primary").filter(|_| !WITH_ACTIVE_PORT.contains(&mode)) {
        let what = format!("is {}, and a bond of mode {mode} has no primary port", quoted(&primary));
        options.refuse("primary", &what, "remove it, or set the mode to active-backup, balance-tlb or balance-alb");
    }
    if let Some(rate) =
        options.get("lacp_rate").filter(|rate| mode != "802.3ad" && !matches!(rate.as_str(), "0" | "slow"))
    {
        let what = format!("is {}, and a bond of mode {mode} has no LACP", quoted(&rate));
        options.refuse("lacp_rate", &what, "remove it, or set the mode to 802.3ad");
    }
    if let Some(active) =
        options.get("lacp_active").filter(|active| mode != "802.3ad" && !matches!(active.as_str(), "1" | "on"))
    {
        let what = format!("is {}, and a bond of mode {mode} has no LACP", quoted(&active));
        options.refuse("lacp_active", &what, "remove it, or set the mode to 802.3ad");
    }
    if options.0.has("infiniband") && mode != "active-backup" {
        let what = format!("is {mode}, and an InfiniBand bond supports only active-backup");
        options.refuse("mode", &what, "set the mode to active-backup");
    }
    if options.number("balance-slb") > 0 {
        let policy = options.get("xmit_hash_policy");
        if mode != "balance-xor" {
            let what = format!("is on, and the mode is {mode}");
            options.refuse("balance-slb", &what, "remove it, or set the mode to balance-xor");
        } else if let Some(policy) = policy.filter(|policy| !matches!(policy.as_str(), "vlan+srcmac" | "5")) {
            let what = format!("is on, and xmit_hash_policy is {}", quoted(&policy));
            options.refuse("balance-slb", &what, "set xmit_hash_policy to vlan+srcmac");
        }
    }
    if let (Some(arp), Some(na)) = (options.get("num_grat_arp"), options.get("num_unsol_na"))
        && decimal_within(&arp, 0, 255) != decimal_within(&na, 0, 255)
    {
        let what = format!("is {na} and num_grat_arp is {arp}, and the kernel has one number for both");
        options.refuse("num_unsol_na", &what, "write one of the two, or the same number twice");
    }
}

/// How links are monitored: by MII or by ARP.
fn check_monitors(options: &mut Options<'_, '_, '_>, mode: &str) {
    let (miimon, interval) = (options.number("miimon"), options.number("arp_interval"));
    if interval > 0 && matches!(mode, "balance-tlb" | "balance-alb") {
        let what = format!("is {interval}, and a bond of mode {mode} cannot monitor its links by ARP");
        options.refuse("arp_interval", &what, "use miimon instead");
    }
    for key in ["updelay", "downdelay"] {
        if miimon == 0 && options.number(key) > 0 {
            options.refuse(key, "is set, and miimon is 0", "set miimon, such as 100, or remove it");
        }
    }
    let delay = options.number("peer_notif_delay");
    if delay > 0 && miimon == 0 {
        options.refuse("peer_notif_delay", "is set, and miimon is 0", "set miimon, such as 100, or remove it");
    } else if delay > 0 && interval == 0 && delay % miimon != 0 {
        let what = format!("is {delay}, which is not a multiple of miimon ({miimon})");
        options.refuse("peer_notif_delay", &what, "write a multiple of miimon");
    }
    let targets = ["arp_ip_target", "ns_ip6_target"];
    let targets: Vec<&str> = targets.into_iter().filter(|key| options.get(key).is_some()).collect();
    if interval > 0 && targets.is_empty() {
        let what = format!("is {interval}, and there is no arp_ip_target to ask");
        options.refuse("arp_interval", &what, "add arp_ip_target with the address of a router, or use miimon");
    }
    for key in targets.into_iter().filter(|_| interval == 0) {
        let fix = "add arp_interval, such as 1000, or remove it";
        options.refuse(key, "is set, and there is no arp_interval at which to ask", fix);
    }
}

/// NetworkManager monitors links by ARP only if miimon is not set. It leaves out miimon for a bond that does so, and also for one that has
/// only `arp_validate` (`_bond_get_option_normalized`, `_platform_lnk_bond_init_from_setting`).
fn check_probes(options: &mut Options<'_, '_, '_>, mode: &str) {
    if !WITH_ARP.contains(&mode) {
        return;
    }
    let has_interval = options.number("arp_interval") > 0;
    let has_miimon = options.get("miimon").is_some() && options.number("miimon") > 0;
    if has_interval && has_miimon {
        let why = "miimon is set, and NetworkManager then leaves out arp_interval and its targets";
        options.0.dropped("bond", "arp_interval", why);
    }
    let sends_probes = has_interval && !has_miimon;
    for key in ["updelay", "downdelay"] {
        // With miimon 0, [`check_monitors`] has refused it.
        if sends_probes && options.get("miimon").is_none() && options.number(key) > 0 {
            let why = "it counts in intervals of miimon, which a bond with arp_interval does not have";
            options.0.dropped("bond", key, why);
        }
    }
    let validates = options.get("arp_validate").is_some_and(|validate| !matches!(validate.as_str(), "none" | "0"));
    if validates && !sends_probes {
        let why = "the bond sends no probes. NetworkManager then leaves out miimon as well, and the bond does not notice that a \
                   port has lost its link; remove arp_validate, or add arp_interval and arp_ip_target in place of miimon";
        options.0.dropped("bond", "arp_validate", why);
    }
}
