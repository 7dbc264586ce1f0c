//! Bonds: `[Bond]` of systemd.netdev(5).

use super::plan::{Attachment, Plan};
use super::unit::{Content, yes};
use crate::network::fields::{Fields, Findings};

type Words = &'static [(&'static str, &'static str)];

/// Options that are words: NMState's name, the unit's, and the words of both. Numbers are the kernel's, which NMState
/// takes as well.
const WORDS: &[(&str, &str, Words)] = &[
    (
        "ad_select",
        "AdSelect",
        &[
            ("stable", "stable"),
            ("0", "stable"),
            ("bandwidth", "bandwidth"),
            ("1", "bandwidth"),
            ("count", "count"),
            ("2", "count"),
        ],
    ),
    ("all_slaves_active", "AllSlavesActive", &[("dropped", "no"), ("0", "no"), ("delivered", "yes"), ("1", "yes")]),
    ("arp_all_targets", "ARPAllTargets", &[("any", "any"), ("0", "any"), ("all", "all"), ("1", "all")]),
    (
        "arp_validate",
        "ARPValidate",
        &[
            ("none", "none"),
            ("0", "none"),
            ("active", "active"),
            ("1", "active"),
            ("backup", "backup"),
            ("2", "backup"),
            ("all", "all"),
            ("3", "all"),
        ],
    ),
    (
        "fail_over_mac",
        "FailOverMACPolicy",
        &[
            ("none", "none"),
            ("0", "none"),
            ("active", "active"),
            ("1", "active"),
            ("follow", "follow"),
            ("2", "follow"),
        ],
    ),
    ("lacp_rate", "LACPTransmitRate", &[("slow", "slow"), ("0", "slow"), ("fast", "fast"), ("1", "fast")]),
    (
        "primary_reselect",
        "PrimaryReselectPolicy",
        &[
            ("always", "always"),
            ("0", "always"),
            ("better", "better"),
            ("1", "better"),
            ("failure", "failure"),
            ("2", "failure"),
        ],
    ),
    (
        "xmit_hash_policy",
        "TransmitHashPolicy",
        &[
            ("layer2", "layer2"),
            ("0", "layer2"),
            ("layer3+4", "layer3+4"),
            ("1", "layer3+4"),
            ("layer2+3", "layer2+3"),
            ("2", "layer2+3"),
            ("encap2+3", "encap2+3"),
            ("3", "encap2+3"),
            ("encap3+4", "encap3+4"),
            ("4", "encap3+4"),
        ],
    ),
];

const MODES: Words = &[
    ("balance-rr", "balance-rr"),
    ("0", "balance-rr"),
    ("active-backup", "active-backup"),
    ("1", "active-backup"),
    ("balance-xor", "balance-xor"),
    ("2", "balance-xor"),
    ("broadcast", "broadcast"),
    ("3", "broadcast"),
    ("802.3ad", "802.3ad"),
    ("lacp", "802.3ad"),
    ("4", "802.3ad"),
    ("balance-tlb", "balance-tlb"),
    ("5", "balance-tlb"),
    ("balance-alb", "balance-alb"),
    ("6", "balance-alb"),
];

/// Options that are numbers: NMState's name, the unit's, the least and the greatest, and what stands behind it.
const NUMBERS: &[(&str, &str, u64, u64, &str)] = &[
    ("ad_actor_sys_prio", "AdActorSystemPriority", 1, 65535, ""),
    ("ad_user_port_key", "AdUserPortKey", 0, 1023, ""),
    ("downdelay", "DownDelaySec", 0, 0x7fff_ffff, "ms"),
    ("lp_interval", "LearnPacketIntervalSec", 1, 0x7fff_ffff, "s"),
    ("min_links", "MinLinks", 0, 0x7fff_ffff, ""),
    ("packets_per_slave", "PacketsPerSlave", 0, 65535, ""),
    ("resend_igmp", "ResendIGMP", 0, 255, ""),
    ("updelay", "UpDelaySec", 0, 0x7fff_ffff, "ms"),
];

/// How often links are looked at where the document does not say: NetworkManager's own choice, and the kernel would not
/// look at all.
const USUAL_MIIMON: u64 = 100;

/// Reads `link-aggregation`.
pub(super) fn read<'a>(
    plan: &mut Plan<'a>,
    index: usize,
    name: &'a str,
    fields: &mut Fields<'a>,
    findings: &mut Findings<'_>,
) {
    let mut bond = fields.section("link-aggregation");
    let mut options = bond.section("options");
    let Some(node) = plan.nodes.get_mut(index) else { return };
    node.netdev.set("NetDev", "Kind", "bond");
    match bond.word("mode", MODES, findings) {
        Some(mode) => node.netdev.set("Bond", "Mode", mode),
        None => findings.refuse(bond.path(), "it has no mode"),
    }
    read_options(&mut options, &mut node.netdev, findings);
    let primary = options.text("primary").filter(|primary| !primary.is_empty());
    let primary_at = options.at("primary");
    options.finish(findings);
    let ports = bond.list("port");
    if let Some(primary) = primary
        && !ports.iter().any(|(_, port)| port.as_str() == Some(primary))
    {
        findings.refuse(&primary_at, "it is none of the ports");
    }
    for (path, port) in ports {
        let Some(port) = port.as_str() else { continue };
        let mut settings = vec![("Network", ("Bond", name.to_owned()))];
        if primary == Some(port) {
            settings.push(("Network", ("PrimarySlave", "yes".to_owned())));
        }
        plan.attach(port, name, Attachment::Port, settings, &path, findings);
    }
    for mut port in bond.entries("ports-config") {
        port.ignore(&["name"]);
        port.finish_because("they know no settings of a bond's ports but the primary one", findings);
    }
    bond.finish(findings);
}

fn read_options(options: &mut Fields<'_>, netdev: &mut Content, findings: &mut Findings<'_>) {
    for (key, unit, words) in WORDS {
        if let Some(word) = options.word(key, words, findings) {
            netdev.set("Bond", unit, word);
        }
    }
    for (key, unit, least, greatest, suffix) in NUMBERS {
        if let Some(number) = options.number(key, *least..=*greatest, findings) {
            netdev.set("Bond", unit, format!("{number}{suffix}"));
        }
    }
    if let Some(dynamic) = options.flag("tlb_dynamic_lb") {
        netdev.set("Bond", "DynamicTransmitLoadBalancing", yes(dynamic));
    }
    // The kernel has no other way any more.
    options.word("use_carrier", &[("true", ""), ("1", "")], findings);
    read_monitor(options, netdev, findings);
    read_system(options, netdev, findings);
    // One number of the kernel under two names.
    let notifications = ["num_grat_arp", "num_unsol_na"].map(|key| options.number(key, 0..=255, findings));
    match notifications {
        [Some(arp), Some(na)] if arp != na => {
            findings.refuse(&options.at("num_unsol_na"), "it is the same number as num_grat_arp in the kernel");
        }
        [Some(number), _] | [None, Some(number)] => netdev.set("Bond", "GratuitousARP", number.to_string()),
        [None, None] => {}
    }
}

fn read_monitor(options: &mut Fields<'_>, netdev: &mut Content, findings: &mut Findings<'_>) {
    let [miimon, interval] = ["miimon", "arp_interval"].map(|key| options.number(key, 0..=0x7fff_ffff, findings));
    if let Some(interval) = interval {
        netdev.set("Bond", "ARPIntervalSec", format!("{interval}ms"));
    }
    let usual = interval.is_none_or(|interval| interval == 0).then_some(USUAL_MIIMON);
    if let Some(miimon) = miimon.or(usual) {
        netdev.set("Bond", "MIIMonitorSec", format!("{miimon}ms"));
    }
    let targets = options.text("arp_ip_target").filter(|targets| !targets.is_empty());
    let Some(targets) = targets else { return };
    let targets: Vec<_> = targets.split(',').map(|target| target.trim().parse::<std::net::Ipv4Addr>()).collect();
    if targets.len() > 16 || targets.iter().any(Result::is_err) {
        findings.refuse(&options.at("arp_ip_target"), "it is not a list of IPv4 addresses, 16 at most");
        return;
    }
    let targets: Vec<String> = targets.into_iter().flatten().map(|target| target.to_string()).collect();
    netdev.set("Bond", "ARPIPTargets", targets.join(" "));
}

fn read_system(options: &mut Fields<'_>, netdev: &mut Content, findings: &mut Findings<'_>) {
    let Some(system) = options.text("ad_actor_system") else { return };
    match system.parse::<vocabulary::host::MacAddress>() {
        Ok(system) => netdev.set("Bond", "AdActorSystem", system.to_string()),
        Err(_) => findings.refuse(&options.at("ad_actor_system"), "it is not a MAC address"),
    }
}
