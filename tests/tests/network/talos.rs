//! Talos' network configurations of `fixtures/talos`, shown to the kernel. Talos itself cannot be had here. It compares each spec with
//! what the kernel says, and changes the network as long as they differ: so what the kernel says of a network that was made from a
//! document must be the document.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::peers::{cache, run_text};
use acceptance::qemu::Machine;
use imagelib::cpio::{Archive, MemberPath};
use serde_json::{Value, json};

/// The modules of the kernel, each after those that it needs, with their parameters.
const MODULES: [(&str, &str); 9] = [
    ("llc", ""),
    ("stp", ""),
    ("garp", ""),
    ("mrp", ""),
    ("8021q", ""),
    ("bridge", ""),
    ("tls", ""),
    ("bonding", "max_bonds=0"),
    ("dummy", "numdummies=0"),
];

const INIT: &str = "#!/bin/busybox sh
busybox() { /bin/busybox \"$@\"; }
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs dev /dev
busybox mount -t tmpfs run /run
exec > /dev/ttyS0 2>&1
export LD_LIBRARY_PATH=/usr/lib PATH=/bin
while read -r module; do busybox insmod $module; done < /modules/order
busybox dmesg -n 1
for case in $(busybox ls /cases); do
  /bin/ip netns add $case
  echo \"BEGIN $case problems\"; /bin/ip -n $case -batch /cases/$case; echo \"END $case problems\"
  echo \"BEGIN $case links\"; /bin/ip -n $case -j -d address; echo \"END $case links\"
  echo \"BEGIN $case routes\"; /bin/ip -n $case -j -d route; echo \"END $case routes\"
  echo \"BEGIN $case routes6\"; /bin/ip -n $case -j -d -6 route; echo \"END $case routes6\"
done
busybox poweroff -f
";

/// The configurations, by the names of their cases.
fn cases() -> Vec<(String, Value)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/talos");
    let mut cases = Vec::new();
    for entry in fs::read_dir(fixtures).unwrap() {
        let case = entry.unwrap();
        let Ok(text) = fs::read_to_string(case.path().join("network.json")) else { continue };
        cases.push((case.file_name().into_string().unwrap(), serde_json::from_str(&text).unwrap()));
    }
    assert!(cases.len() > 12);
    cases
}

fn list<'a>(document: &'a Value, key: &str) -> &'a [Value] {
    document[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(spec: &'a Value, key: &str) -> &'a str {
    spec[key].as_str().unwrap_or_else(|| panic!("{key} of {spec}"))
}

/// What Talos sets of a bond, as options of `ip link`. It leaves out what the bond's mode does not have (`BondMasterSpec` in its
/// source).
fn bond_options(bond: &Value) -> String {
    let mode = text(bond, "mode");
    let lacp = mode == "802.3ad";
    let adaptive = matches!(mode, "balance-tlb" | "balance-alb");
    let fail_over_mac = ["none", "active", "follow"][usize::try_from(bond["failOverMac"].as_u64().unwrap()).unwrap()];
    let monitored = bond["miimon"] != 0;
    let number = |key: &str| bond[key].as_u64().unwrap_or(0).to_string();
    let word = |key: &str| text(bond, key).to_owned();
    let options = [
        ("mode", mode.to_owned(), true),
        ("xmit_hash_policy", word("xmitHashPolicy"), true),
        ("lacp_rate", word("lacpRate"), lacp),
        ("arp_validate", word("arpValidate"), !lacp && !adaptive),
        ("arp_all_targets", word("arpAllTargets"), true),
        ("primary_reselect", word("primaryReselect"), true),
        ("fail_over_mac", fail_over_mac.to_owned(), true),
        ("ad_select", word("adSelect"), true),
        ("miimon", number("miimon"), true),
        ("updelay", number("updelay"), monitored),
        ("downdelay", number("downdelay"), monitored),
        ("resend_igmp", number("resendIgmp"), true),
        ("min_links", number("minLinks"), true),
        ("lp_interval", number("lpInterval"), true),
        ("packets_per_slave", number("packetsPerSlave"), mode == "balance-rr"),
        ("num_grat_arp", number("numPeerNotif"), true),
        ("tlb_dynamic_lb", number("tlbLogicalLb"), adaptive),
        ("all_slaves_active", number("allSlavesActive"), true),
        ("use_carrier", "1".to_owned(), bond["useCarrier"] == true),
        ("ad_actor_sys_prio", number("adActorSysPrio"), lacp),
        ("ad_user_port_key", number("adUserPortKey"), lacp),
    ];
    let set = options.into_iter().filter(|(.., is_set)| *is_set);
    set.map(|(option, value, _)| format!(" {option} {value}")).collect()
}

/// The specs as commands of `ip`, in an order in which each finds what it needs.
fn batch(document: &Value) -> String {
    let links = list(document, "links");
    let of_kind = |kind: &'static str| links.iter().filter(move |link| link["kind"].as_str().unwrap_or("") == kind);
    let mut commands = Vec::new();
    commands.extend(of_kind("").map(|nic| format!("link add {} type dummy", text(nic, "name"))));
    for bond in of_kind("bond") {
        let (name, options) = (text(bond, "name"), bond_options(&bond["bondMaster"]));
        commands.push(format!("link add {name} type bond"));
        commands.push(format!("link set {name} type bond{options}"));
    }
    for bridge in of_kind("bridge") {
        let stp = u8::from(bridge["bridgeMaster"]["stp"]["enabled"] == true);
        commands.push(format!("link add {} type bridge stp_state {stp}", text(bridge, "name")));
    }
    for vlan in of_kind("vlan") {
        let (name, parent) = (text(vlan, "name"), text(vlan, "parentName"));
        let (id, protocol) = (&vlan["vlan"]["vlanID"], text(&vlan["vlan"], "vlanProtocol"));
        commands.push(format!("link add link {parent} name {name} type vlan protocol {protocol} id {id}"));
    }
    let mut ports: Vec<_> = links.iter().filter(|link| master_of(link).is_some()).collect();
    ports.sort_by_key(|port| port["slaveIndex"].as_u64());
    commands.extend(
        ports.iter().map(|port| format!("link set {} master {}", text(port, "name"), master_of(port).unwrap())),
    );
    for link in links {
        let name = text(link, "name");
        commands.extend(link["mtu"].as_u64().map(|mtu| format!("link set {name} mtu {mtu}")));
        commands.extend(link["hardwareAddr"].as_str().map(|mac| format!("link set {name} address {mac}")));
        assert_eq!(link["up"], true, "{link}");
        commands.push(format!("link set {name} up"));
    }
    for spec in list(document, "addresses") {
        assert_eq!(text(spec, "flags"), "permanent");
        let (address, link, scope) = (text(spec, "address"), text(spec, "linkName"), text(spec, "scope"));
        commands.push(format!("address add {address} dev {link} scope {scope}"));
    }
    for route in list(document, "routes") {
        let family = if text(route, "family") == "inet6" { "-6" } else { "-4" };
        let destination = route["dst"].as_str().unwrap_or("default");
        let mut command = format!("route add {destination}");
        for (key, option) in [
            ("gateway", "via"),
            ("outLinkName", "dev"),
            ("src", "src"),
            ("table", "table"),
            ("scope", "scope"),
            ("protocol", "protocol"),
        ] {
            command += &route[key].as_str().map(|value| format!(" {option} {value}")).unwrap_or_default();
        }
        commands.push(format!("{command} metric {}", route["priority"]));
        // In a batch, the family is that of the destination or the gateway.
        assert_eq!(family == "-6", command.contains("::") || destination.contains(':'), "{command}");
    }
    commands.join("\n") + "\n"
}

fn master_of(link: &Value) -> Option<&str> {
    link["masterName"].as_str().or_else(|| link["bridgeSlave"]["masterName"].as_str())
}

fn ramdisk(cases: &[(String, Value)], to: &Path) {
    let mut archive = Archive::new();
    let mut add = |path: &str, mode: u32, content: Vec<u8>| {
        archive.file(path.parse::<MemberPath>().unwrap(), mode, content).unwrap();
    };
    add("init", 0o755, INIT.into());
    add("bin/busybox", 0o755, fs::read("/bin/busybox").unwrap());
    let ip = fs::canonicalize(run_text(Command::new("which").arg("ip")).trim()).unwrap();
    add("bin/ip", 0o755, fs::read(&ip).unwrap());
    for library in run_text(Command::new("ldd").arg(&ip)).split_whitespace().filter(|word| word.starts_with('/')) {
        let name = Path::new(library).file_name().unwrap().to_str().unwrap();
        let directory = if name.starts_with("ld-linux") { "lib64" } else { "usr/lib" };
        add(&format!("{directory}/{name}"), 0o755, fs::read(library).unwrap());
    }
    let mut order = String::new();
    for (module, parameters) in MODULES {
        let Some(file) = module_file(module) else { continue };
        add(&format!("modules/{module}.ko"), 0o644, fs::read(file).unwrap());
        order += &format!("/modules/{module}.ko {parameters}\n");
    }
    add("modules/order", 0o644, order.into());
    for (name, document) in cases {
        add(&format!("cases/{name}"), 0o644, batch(document).into());
    }
    for directory in ["proc", "sys", "dev", "run"] {
        archive.directory(directory.parse::<MemberPath>().unwrap(), 0o755).unwrap();
    }
    archive.add_parents(0o755).unwrap();
    fs::write(to, archive.to_bytes()).unwrap();
}

/// A module of the kernel; none, if it is built in.
fn module_file(name: &str) -> Option<PathBuf> {
    let modules = cache().join("kernel/modules");
    assert!(modules.exists(), "{} is missing; run scripts/setup-peers.sh", modules.display());
    let found = run_text(Command::new("find").arg(modules).args(["-name", &format!("{name}.ko")]));
    found.lines().next().map(PathBuf::from)
}

/// What the machine says of one thing of a case.
fn said<'a>(console: &'a str, what: &str) -> &'a str {
    let rest = console.split_once(&format!("BEGIN {what}\n")).unwrap_or_else(|| panic!("no {what}: {console}")).1;
    rest.split_once(&format!("END {what}")).unwrap().0
}

/// What the kernel says of a bond, as Talos reads it.
fn bond_as_talos_reads_it(data: &Value) -> Value {
    let word = |key: &str, values: &[&str]| {
        let value = data[key].as_str().unwrap_or_else(|| panic!("{key} of {data}"));
        values.iter().position(|known| *known == value).unwrap_or_else(|| panic!("{key} of {data}"))
    };
    // What `ip` leaves out is zero, or has no meaning in this mode.
    let number = |key: &str| data[key].as_u64().unwrap_or(0);
    let mut bond = json!({
        "mode": data["mode"],
        "xmitHashPolicy": data["xmit_hash_policy"],
        "lacpRate": data["ad_lacp_rate"],
        "primaryReselect": data["primary_reselect"],
        "adSelect": data["ad_select"],
        "failOverMac": word("fail_over_mac", &["none", "active", "follow"]),
        "arpValidate": data["arp_validate"].as_str().unwrap_or("none"),
        "arpAllTargets": data["arp_all_targets"],
        "miimon": number("miimon"),
        "updelay": number("updelay"),
        "downdelay": number("downdelay"),
        "resendIgmp": number("resend_igmp"),
        "minLinks": number("min_links"),
        "lpInterval": number("lp_interval"),
        "packetsPerSlave": number("packets_per_slave"),
        "adUserPortKey": number("ad_user_port_key"),
        "numPeerNotif": number("num_peer_notif"),
        "tlbLogicalLb": number("tlb_dynamic_lb"),
        "allSlavesActive": number("all_slaves_active"),
        "useCarrier": data["use_carrier"] == 1,
        "adLacpActive": data["ad_lacp_active"],
        "missedMax": number("arp_missed_max"),
    });
    if let Some(priority) = data["ad_actor_sys_prio"].as_u64() {
        bond["adActorSysPrio"] = priority.into();
    }
    bond
}

fn check_links(document: &Value, links: &[Value]) {
    let index_name =
        |name: &str| links.iter().find(|link| link["ifname"] == name).unwrap_or_else(|| panic!("no {name}"));
    for spec in list(document, "links") {
        let link = index_name(text(spec, "name"));
        let flags = link["flags"].as_array().unwrap();
        assert!(flags.contains(&"UP".into()), "{link}");
        assert_eq!(link["master"].as_str(), master_of(spec), "{link}");
        assert_eq!(link["link"].as_str(), spec["parentName"].as_str(), "{link}");
        if spec["logical"] == true {
            assert_eq!((&link["linkinfo"]["info_kind"], &link["link_type"]), (&spec["kind"], &spec["type"]), "{link}");
        }
        if let Some(mtu) = spec["mtu"].as_u64() {
            assert_eq!(link["mtu"], mtu, "{link}");
        }
        if let Some(mac) = spec["hardwareAddr"].as_str() {
            assert_eq!(link["address"].as_str().map(str::to_uppercase), Some(mac.to_uppercase()), "{link}");
        }
        let data = &link["linkinfo"]["info_data"];
        match spec["kind"].as_str() {
            Some("bond") => assert_eq!(bond_as_talos_reads_it(data), spec["bondMaster"], "{data}"),
            Some("vlan") => {
                let protocol = data["protocol"].as_str().unwrap().to_lowercase();
                assert_eq!(json!({"vlanID": data["id"], "vlanProtocol": protocol}), spec["vlan"]);
            }
            Some("bridge") => {
                assert_eq!(json!({"stp": {"enabled": data["stp_state"] == 1}}), spec["bridgeMaster"]);
            }
            _ => {}
        }
    }
    for spec in list(document, "addresses") {
        let found = index_name(text(spec, "linkName"))["addr_info"].as_array().unwrap();
        let as_spec = |address: &Value| format!("{}/{}", address["local"].as_str().unwrap(), address["prefixlen"]);
        let address = found.iter().find(|address| as_spec(address) == text(spec, "address"));
        let address = address.unwrap_or_else(|| panic!("no {spec} in {found:?}"));
        assert_eq!(address["scope"], spec["scope"], "{address}");
        assert_eq!(address["dynamic"], Value::Null, "{address}");
    }
}

fn check_routes(document: &Value, routes: &[Value], routes6: &[Value]) {
    for spec in list(document, "routes") {
        let among = if spec["family"] == "inet6" { routes6 } else { routes };
        let is_same = |route: &&Value| {
            route["dst"].as_str() == Some(spec["dst"].as_str().unwrap_or("default"))
                && route["gateway"] == spec["gateway"]
                && route["dev"] == spec["outLinkName"]
                && route["metric"].as_u64().unwrap_or(0) == spec["priority"]
        };
        let route = among.iter().find(is_same).unwrap_or_else(|| panic!("no {spec} in {among:?}"));
        assert_eq!((&route["type"], &route["protocol"]), (&spec["type"], &spec["protocol"]), "{route}");
        assert_eq!(route["scope"], spec["scope"], "{route}");
        assert_eq!(route["prefsrc"], spec["src"], "{route}");
    }
}

#[test]
fn a_kernel_with_the_network_of_a_document_says_the_same() {
    let cases = cases();
    let directory = tempfile::tempdir().unwrap();
    let ramdisk_file = directory.path().join("talos.img");
    ramdisk(&cases, &ramdisk_file);
    let machine =
        Machine::with_kernel(&cache().join("kernel/vmlinuz"), &ramdisk_file, "console=ttyS0 panic=-1 loglevel=4");
    let console = machine.console().replace('\r', "");
    let mut checked = 0;
    for (name, document) in &cases {
        assert_eq!(said(&console, &format!("{name} problems")).trim(), "", "{name}: {}", batch(document));
        let [links, routes, routes6] = ["links", "routes", "routes6"].map(|what| {
            let said = said(&console, &format!("{name} {what}"));
            serde_json::from_str::<Vec<Value>>(said).unwrap_or_else(|error| panic!("{name}: {error}: {said}"))
        });
        check_links(document, &links);
        check_routes(document, &routes, &routes6);
        checked += list(document, "links").len();
    }
    assert!(checked > 50, "{checked}");
}
