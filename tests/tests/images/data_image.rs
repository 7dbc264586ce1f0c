//! Data images, as the programs read them for which they are made.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use acceptance::bases::fixtures;
use acceptance::drives::{self, cloud_init};
use acceptance::peers::{run, run_text};
use hosts::network::{Keyfile, NetworkFiles, Target, convert_network};
use imagelib::data_image::{Combustion, ConfigDrive, DataImage, DataSpec, NoCloud};
use imagelib::overlay::{Overlay, Sizes};
use serde_json::{Value, json};
use vocabulary::host::{HostSpec, NmstateDocument};
use vocabulary::report::DocumentPath;

/// Writes the drive; returns the directory to which it is unpacked.
fn unpack(directory: &Path, spec: &DataSpec) -> PathBuf {
    let segments = DataImage::build(spec).unwrap().iso().unwrap();
    let overlay = Overlay::concatenated(&Sizes::new(), segments).unwrap();
    let mut image = vec![0; usize::try_from(overlay.size()).unwrap()];
    overlay.read_at(&BTreeMap::<_, Vec<u8>>::new(), 0, &mut image).unwrap();
    let (path, tree) = (directory.join("data.iso"), directory.join("tree"));
    fs::write(&path, image).unwrap();
    drives::unpack(&path, &tree);
    tree
}

#[test]
fn a_drive_of_fat_has_the_same_files() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let hostname = Some("node-1".parse().unwrap());
    let spec = DataSpec::ConfigDrive(ConfigDrive { hostname, ..ConfigDrive::default() });
    let tree = unpack(directory, &spec);
    let overlay = Overlay::concatenated(&Sizes::new(), DataImage::build(&spec).unwrap().vfat().unwrap()).unwrap();
    let mut image = vec![0; usize::try_from(overlay.size()).unwrap()];
    overlay.read_at(&BTreeMap::<_, Vec<u8>>::new(), 0, &mut image).unwrap();
    let path = directory.join("data.img");
    fs::write(&path, image).unwrap();
    run(Command::new("fsck.fat").arg("-n").arg(&path));
    assert_eq!(drives::label(&path), "CONFIG-2");
    let file = "openstack/latest/meta_data.json";
    let found = run(Command::new("mtype").arg("-i").arg(&path).arg(format!("::{file}")));
    assert_eq!(found, fs::read(tree.join(file)).unwrap());
}

#[test]
fn cloud_init_reads_a_config_drive() {
    let directory = tempfile::tempdir().unwrap();
    let network = json!({
        "links": [{"id": "eth0", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01", "mtu": 1500}],
        "networks": [{"id": "n0", "link": "eth0", "type": "ipv4", "ip_address": "192.0.2.5", "netmask": "255.255.255.0"}],
        "services": []
    });
    let spec = DataSpec::ConfigDrive(ConfigDrive {
        network_data: Some(network.to_string().into()),
        user_data: Some("#cloud-config\nssh_pwauth: false\n".into()),
        hostname: Some("node-1.example.org".parse().unwrap()),
        ..ConfigDrive::default()
    });
    let tree = unpack(directory.path(), &spec);
    let found = drives::config_drive(&tree);
    assert_eq!(found["metadata"]["local-hostname"], "node-1.example.org");
    assert_eq!(found["metadata"]["instance-id"].as_str().unwrap().len(), 36);
    assert_eq!(found["userdata"], "#cloud-config\nssh_pwauth: false\n");
    assert_eq!(found["networkdata"], network);
}

#[test]
fn cloud_init_reads_a_seed() {
    let directory = tempfile::tempdir().unwrap();
    let config = "version: 2\nethernets:\n  eth0:\n    dhcp4: true\n";
    let spec = DataSpec::NoCloud(NoCloud {
        network_config: Some(config.into()),
        hostname: Some("123".parse().unwrap()),
        ..NoCloud::default()
    });
    let tree = unpack(directory.path(), &spec);
    let found = drives::seed(&tree);
    assert_eq!(found["meta-data"]["local-hostname"], "123");
    assert_eq!(found["meta-data"]["instance-id"].as_str().unwrap().len(), 36);
    assert_eq!(found["user-data"], json!({}));
    assert_eq!(found["text"]["network-config"], config);
}

/// What Combustion does with a drive: the script runs in its directory, for the initramfs and for the system, each with
/// an `/etc` of its own.
#[test]
fn combustions_script_installs_the_profiles_for_root_alone() {
    let directory = tempfile::tempdir().unwrap();
    let keyfile = |name: &str| Keyfile { name: name.parse().unwrap(), content: format!("[connection]\nid={name}\n") };
    let spec = DataSpec::Combustion(Combustion {
        keyfiles: vec![keyfile("bond0.nmconnection"), keyfile("eth0.nmconnection")],
        hostname: Some("node-1".parse().unwrap()),
        script: Some("#!/bin/sh\n# combustion: prepare\ncp other /etc/run-\"${1-system}\"\n".into()),
        files: BTreeMap::from([("other".to_owned(), "other".into())]),
    });
    let tree = unpack(directory.path(), &spec).join("combustion");
    for (argument, hostname) in [("--prepare", None), ("", Some("node-1\n"))] {
        let etc = directory.path().join(format!("etc{argument}"));
        fs::create_dir_all(etc.join("NetworkManager")).unwrap();
        fs::copy("/etc/passwd", etc.join("passwd")).unwrap();
        let script = "mount --bind \"$0\" /etc && cd \"$1\" && exec ./script $2";
        run(Command::new("unshare")
            .args(["--mount", "--map-root-user", "sh", "-c", script])
            .args([&etc, &tree])
            .arg(argument));
        let listing = run_text(
            Command::new("find")
                .arg(etc.join("NetworkManager/system-connections"))
                .args(["-type", "f", "-printf", "%m %f\n"]),
        );
        let mut listing: Vec<&str> = listing.lines().collect();
        listing.sort_unstable();
        assert_eq!(listing, ["600 bond0.nmconnection", "600 eth0.nmconnection"], "{argument}");
        assert_eq!(fs::read_to_string(etc.join("hostname")).ok().as_deref(), hostname);
        let ran = if argument.is_empty() { "run-system" } else { "run---prepare" };
        assert_eq!(fs::read_to_string(etc.join(ran)).unwrap(), "other");
    }
}

/// The good documents of `fixtures/nmstate`, by name.
fn documents() -> Vec<(String, HostSpec)> {
    let mut documents = Vec::new();
    for case in fs::read_dir(fixtures("nmstate")).unwrap().map(|case| case.unwrap().path()) {
        let Ok(text) = fs::read_to_string(case.join("nmstate.yaml")) else { continue };
        let boot_mac = fs::read_to_string(case.join("boot-mac")).ok().map(|mac| mac.trim().parse().unwrap());
        let value = serde_yaml::from_str(&text).unwrap();
        let network = NmstateDocument::new(value, DocumentPath::root());
        let host = HostSpec { boot_mac, ..HostSpec::with_network(network) };
        documents.push((case.file_name().unwrap().to_str().unwrap().to_owned(), host));
    }
    documents
}

/// What cloud-init makes of network data for systemd-networkd, on a machine with the NICs that the document means.
const RENDER: &str = "import sys, json
from cloudinit.net import network_state, networkd
from cloudinit.sources.helpers.openstack import convert_net_json
config = json.load(open(sys.argv[1]))
macs = {link['ethernet_mac_address']: 'os-' + link['id'] for link in config['links'] if link['type'] == 'phy'}
state = network_state.parse_net_config_data(convert_net_json(config, known_macs=macs))
content = networkd.Renderer({})._render_content(state)
print(json.dumps({'interfaces': sorted(i['name'] for i in state.iter_interfaces()), 'files': content}))";

/// What cloud-init makes of a `network-config` where there is no netplan: the text of all files, by the program that reads them.
const RENDER_ELSEWHERE: &str = "import sys, json, os, tempfile
from cloudinit import util
from cloudinit.distros import rhel
from cloudinit.net import eni, network_manager, network_state, networkd, sysconfig
util.chownbyname = lambda *_: None
config = util.load_yaml(open(sys.argv[1]).read())
written = {}
for name, module in {'eni': eni, 'network-manager': network_manager, 'networkd': networkd, 'sysconfig': sysconfig}.items():
    renderer = module.Renderer(rhel.Distro.renderer_configs['sysconfig'] if module is sysconfig else {})
    with tempfile.TemporaryDirectory() as target:
        state = network_state.parse_net_config_data(config, renderer=renderer)
        renderer.render_network_state(network_state=state, target=target)
        files = sorted(os.path.join(directory, file) for directory, _, files in os.walk(target) for file in files)
        written[name] = ''.join(open(file).read() for file in files)
print(json.dumps(written))";

/// A document as cloud-init reads it, which is YAML 1.1: without quotes, some MAC addresses are numbers.
const LOAD: &str = "import sys, json
from cloudinit import util
print(json.dumps(util.load_yaml(open(sys.argv[1]).read())))";

/// The network as cloud-init reads it.
fn written(host: &HostSpec, files: NetworkFiles) -> Option<String> {
    convert_network(host, Target { files, ..Target::default() }).0?.network_data
}

#[test]
fn netplan_and_cloud_init_take_what_is_written_for_them() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (mut netplans, mut openstacks) = (0, 0);
    for (name, host) in documents() {
        if let Some(network) = written(&host, NetworkFiles::NetworkConfig) {
            let said = say_generate(&directory.join(&name), &network);
            assert!(said.lines().all(is_about_deprecated_gateway), "{name}: {said}");
            generate(&directory.join(format!("{name}-netplan")), &written(&host, NetworkFiles::Netplan).unwrap());
            let plain = directory.join("network-config");
            fs::write(&plain, &network).unwrap();
            let document: Value = serde_yaml::from_str(&network).unwrap();
            assert_eq!(cloud_init(LOAD, &plain), document, "{name}");
            for (reader, files) in cloud_init(RENDER_ELSEWHERE, &plain).as_object().unwrap() {
                let files = files.as_str().unwrap();
                for next_hop in next_hops(&document) {
                    assert!(files.contains(next_hop), "{name}: {reader}: {next_hop} {files}");
                }
                assert!(!files.contains("=::/64") && !files.contains(" ::/64"), "{name}: {reader}: {files}");
            }
            netplans += 1;
        }
        if let Some(network) = written(&as_openstack_has_it(host), NetworkFiles::NetworkData) {
            let file = directory.join("network_data.json");
            fs::write(&file, &network).unwrap();
            let found = cloud_init(RENDER, &file);
            let document: Value = serde_json::from_str(&network).unwrap();
            let count = |key: &str| document[key].as_array().unwrap().len();
            assert_eq!(found["interfaces"].as_array().unwrap().len(), count("links"), "{name}");
            let files = found["files"].to_string();
            for network in document["networks"].as_array().unwrap().iter().filter_map(|n| n["ip_address"].as_str()) {
                assert!(files.contains(network), "{name}: {network} {files}");
            }
            for route in document["networks"].as_array().unwrap().iter().flat_map(|n| n["routes"].as_array().unwrap()) {
                assert!(files.contains(route["gateway"].as_str().unwrap()), "{name}: {route} {files}");
            }
            openstacks += 1;
        }
    }
    assert!(netplans > 10 && openstacks > 3, "{netplans} {openstacks}");
}

/// The routers of a `network-config`.
fn next_hops(document: &Value) -> Vec<&str> {
    let sections = document.as_object().unwrap().values().filter_map(Value::as_object);
    let mut next_hops = Vec::new();
    for device in sections.flat_map(|section| section.values()) {
        let routes = device["routes"].as_array().into_iter().flatten().map(|route| &route["via"]);
        next_hops.extend(routes.chain([&device["gateway4"], &device["gateway6"]]).filter_map(Value::as_str));
    }
    next_hops
}

/// Among the other routes, releases such as 22.4 lose the default route of IPv6, and for NetworkManager that of IPv4 beside DHCPv6.
#[test]
fn cloud_init_keeps_the_default_routes_for_every_program() {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("network-config");
    let v4 = "ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}";
    let v6 = "ipv6: {enabled: true, address: [{ip: '2001:db8::5', prefix-length: 64}]}";
    for (families, destination, router, expected) in [
        (
            v6.to_owned(),
            "::/0",
            "2001:db8::1",
            ["gateway 2001:db8::1", "gateway=2001:db8::1", "Gateway=2001:db8::1", "IPV6_DEFAULTGW=2001:db8::1"],
        ),
        (
            format!("{v4}, ipv6: {{enabled: true, dhcp: true, autoconf: true}}"),
            "0.0.0.0/0",
            "192.0.2.1",
            ["gateway 192.0.2.1", "gateway=192.0.2.1", "Gateway=192.0.2.1", "GATEWAY=192.0.2.1"],
        ),
    ] {
        let document = format!(
            "interfaces: [{{name: eno1, type: ethernet, {families}}}]\nroutes: {{config: [{{destination: '{destination}', \
             next-hop-address: '{router}', next-hop-interface: eno1}}]}}"
        );
        fs::write(&plain, network_config(&document)).unwrap();
        let found = cloud_init(RENDER_ELSEWHERE, &plain);
        for (reader, line) in ["eni", "network-manager", "networkd", "sysconfig"].into_iter().zip(expected) {
            let files = found[reader].as_str().unwrap();
            assert!(files.lines().any(|found| found.trim() == line), "{reader}: {line}: {files}");
        }
    }
}

/// dayone warns of the other readers (`ipv6-not-switched-off`): systemd-networkd listens to routers unless a setting forbids it, and
/// NetworkManager does so if a profile has no section for IPv6.
#[test]
fn cloud_init_tells_netplan_alone_always_to_ignore_routers() {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("network-config");
    for (families, are_told) in [
        ("ipv6: {enabled: true, address: [{ip: '2001:db8::5', prefix-length: 64}]}", [true, true, false]),
        ("ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}, ipv6: {enabled: false}", [false; 3]),
        ("ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}, ipv6: {enabled: true}", [false; 3]),
    ] {
        let network = network_config(&format!("interfaces: [{{name: eno1, type: ethernet, {families}}}]"));
        fs::write(&plain, &network).unwrap();
        let found = cloud_init(RENDER_ELSEWHERE, &plain);
        let readers =
            [("eni", "accept_ra 0"), ("network-manager", "[ipv6]\nmethod=manual"), ("networkd", "IPv6AcceptRA")];
        for ((reader, setting), is_told) in readers.into_iter().zip(are_told) {
            let files = found[reader].as_str().unwrap();
            assert_eq!(files.contains(setting), is_told, "{reader}: {files}");
        }
        let root = tempfile::tempdir().unwrap();
        generate(root.path(), &network);
        let unit = fs::read_to_string(root.path().join("run/systemd/network/10-netplan-eno1.network")).unwrap();
        assert!(unit.lines().any(|line| line == "IPv6AcceptRA=no"), "{unit}");
    }
}

#[test]
fn networkd_gets_mac_addresses_and_port_costs_from_netplan() {
    let document = "interfaces: [{name: eth0, type: ethernet, identifier: mac-address, mac-address: '52:54:00:00:00:01'}, {name: \
                    bond0, type: bond, link-aggregation: {mode: active-backup, port: [eth0]}, ipv4: {enabled: true, dhcp: true}}, {name: \
                    br0, type: linux-bridge, bridge: {port: [{name: eth1, stp-path-cost: 50, stp-priority: 63}]}}]";
    let root = tempfile::tempdir().unwrap();
    generate(root.path(), &network_config(document));
    let unit = |name: &str| fs::read_to_string(root.path().join("run/systemd/network").join(name)).unwrap();
    for (name, line) in [
        ("10-netplan-bond0.netdev", "MACAddress=52:54:00:00:00:01"),
        ("10-netplan-eth1.network", "Cost=50"),
        ("10-netplan-eth1.network", "Priority=63"),
    ] {
        assert!(unit(name).lines().any(|found| found == line), "{}", unit(name));
    }
}

#[test]
fn networkd_gets_a_gateway_beyond_all_networks_from_netplan() {
    let document = "interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, address: [{ip: 203.0.113.5, prefix-length: \
                    32}]}}]\nroutes: {config: [{destination: 0.0.0.0/0, next-hop-address: 172.31.1.1, next-hop-interface: eth0}]}";
    let root = tempfile::tempdir().unwrap();
    generate(root.path(), &network_config(document));
    let unit = fs::read_to_string(root.path().join("run/systemd/network/10-netplan-eth0.network")).unwrap();
    let route: Vec<&str> = unit.split("[Route]\n").nth(1).unwrap().lines().collect();
    assert!(route.contains(&"Gateway=172.31.1.1") && route.contains(&"GatewayOnLink=true"), "{unit}");
}

/// networkd applies the metric of this section to DHCP and to router advertisements.
#[test]
fn netplan_gives_dhcp_the_settings_of_network_manager() {
    let document = "interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, dhcp: true}}, {name: eth0.7, type: vlan, vlan: \
                    {base-iface: eth0, id: 7}, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: true, dhcp: true, autoconf: true}}]";
    let root = tempfile::tempdir().unwrap();
    generate(root.path(), &network_config(document));
    for (name, metric) in [("eth0", 100), ("eth0.7", 400)] {
        let unit =
            fs::read_to_string(root.path().join(format!("run/systemd/network/10-netplan-{name}.network"))).unwrap();
        let section = unit.split("[DHCP]\n").nth(1).unwrap_or_default();
        assert!(section.lines().any(|line| line == format!("RouteMetric={metric}")), "{unit}");
        // With the DUID of systemd-networkd, the DHCP server would take the host for another one.
        assert!(section.lines().any(|line| line == "ClientIdentifier=mac"), "{unit}");
        assert!(section.lines().any(|line| line == "UseDomains=true"), "{unit}");
    }
}

/// The `network-config` of a host whose network this document describes.
fn network_config(document: &str) -> String {
    let document = NmstateDocument::new(serde_yaml::from_str(document).unwrap(), DocumentPath::root());
    written(&HostSpec::with_network(document), NetworkFiles::NetworkConfig).unwrap()
}

/// Has netplan write what systemd-networkd reads, into this directory.
fn generate(root: &Path, network: &str) {
    let said = say_generate(root, network);
    assert!(said.is_empty(), "{said}\n{network}");
}

/// The form for cloud-init has `gateway4` and `gateway6` where cloud-init would lose the route, and netplan means the same by them.
fn is_about_deprecated_gateway(line: &str) -> bool {
    line.is_empty()
        || line.contains(" has been deprecated, use default routes instead.")
        || line == "See the 'Default routes' section of the documentation for more details."
}

/// [`generate`], with what netplan says meanwhile.
fn say_generate(root: &Path, network: &str) -> String {
    fs::create_dir_all(root.join("etc/netplan")).unwrap();
    let text = format!("network:\n  renderer: networkd\n{}", indented(network));
    let file = root.join("etc/netplan/50.yaml");
    fs::write(&file, &text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let output = Command::new("netplan").args(["generate", "--root-dir"]).arg(root).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}\n{text}");
    assert!(root.join("run/systemd/network").is_dir(), "{text}");
    said
}

/// The document with a MAC address for every NIC, and without what has no place there at all.
fn as_openstack_has_it(mut host: HostSpec) -> HostSpec {
    let document = &mut host.network.as_nmstate_mut().unwrap().value;
    let interfaces = document.get_mut("interfaces").and_then(|interfaces| interfaces.as_sequence_mut());
    for (index, interface) in interfaces.into_iter().flatten().enumerate() {
        let ethernet = interface.get("type").is_none_or(|kind| kind == "ethernet");
        let interface = interface.as_mapping_mut().unwrap();
        if ethernet && !interface.contains_key("mac-address") {
            interface.insert("mac-address".into(), format!("52:54:00:00:01:{index:02x}").into());
            interface.insert("identifier".into(), "mac-address".into());
        }
    }
    let routes = document.get_mut("routes").and_then(|routes| routes.get_mut("config")?.as_sequence_mut());
    for route in routes.into_iter().flatten() {
        route.as_mapping_mut().unwrap().remove("metric");
    }
    let resolver = document.get_mut("dns-resolver").and_then(|resolver| resolver.get_mut("config")?.as_mapping_mut());
    if let Some(resolver) = resolver {
        resolver.remove("search");
    }
    host
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
