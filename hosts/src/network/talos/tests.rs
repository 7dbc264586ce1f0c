use super::*;
use vocabulary::host::NmstateDocument;
use vocabulary::report::DocumentPath;

fn converted(yaml: &str, no_auto_default: bool) -> (Attempt<ConvertedNetwork>, Vec<String>) {
    let document = NmstateDocument::new(serde_yaml::from_str(yaml).unwrap(), DocumentPath::root());
    let (network, report) = attempt(&HostSpec::with_network(document), no_auto_default);
    (network, report.findings().iter().map(|finding| finding.code.to_owned()).collect())
}

const NIC: &str =
    "interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}}]";

#[test]
fn a_nic_with_an_address_is_a_link_that_keeps_dhcp_away() {
    let network = converted(NIC, false).0.unwrap().talos_network.unwrap();
    let expected = json!({
        "addresses": [{
            "address": "192.0.2.5/24", "linkName": "eno1", "family": "inet4", "scope": "global", "flags": "permanent",
            "layer": "platform",
        }],
        "links": [{"name": "eno1", "up": true, "layer": "platform"}],
    });
    assert_eq!(serde_json::from_str::<Value>(&network.document(None).unwrap()).unwrap(), expected);
}

#[test]
fn the_host_name_is_split_at_its_first_dot() {
    let names = |name: &str| {
        let document = TalosNetwork::default().document(Some(&name.parse().unwrap())).unwrap();
        serde_json::from_str::<Value>(&document).unwrap()
    };
    assert_eq!(names("node"), json!({"hostnames": [{"hostname": "node", "layer": "platform"}]}));
    let long = json!({"hostnames": [{"hostname": "node", "domainname": "a.example.com", "layer": "platform"}]});
    assert_eq!(names("node.a.example.com"), long);
    assert_eq!(TalosNetwork::default().document(None), None);
}

/// Talos has no way to leave NICs alone that it is not told of.
#[test]
fn other_nics_are_warned_of_where_they_are_to_stay_down() {
    let other = |no_auto_default| converted(NIC, no_auto_default).1.iter().any(|code| code == "dhcp-on-other-nics");
    assert_eq!([true, false].map(other), [true, false]);
}

/// As with keyfiles, in which nmstate writes a metric of 0: a static default route is preferred to those of DHCP.
#[test]
fn a_route_without_a_metric_has_the_kernels() {
    let yaml = "
interfaces:
- {name: eno1, type: ethernet}
- {name: eno2, type: ethernet}
- {name: eno3, type: ethernet, ipv4: {enabled: true, dhcp: true}}
- {name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [eno1, eno2]},
   ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]},
   ipv6: {enabled: true, address: [{ip: '2001:db8::5', prefix-length: 64}]}}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: bond0}
  - {destination: '::/0', next-hop-address: '2001:db8::1', next-hop-interface: bond0}
  - {destination: 198.51.100.0/24, next-hop-address: 192.0.2.1, next-hop-interface: bond0, metric: 7}
";
    let network = converted(yaml, false).0.unwrap().talos_network.unwrap();
    let document: Value = serde_json::from_str(&network.document(None).unwrap()).unwrap();
    let priorities: Vec<&Value> =
        document["routes"].as_array().unwrap().iter().map(|route| &route["priority"]).collect();
    assert_eq!(priorities, [&json!(0), &json!(1024), &json!(7)]);
    assert_eq!(document["operators"][0]["dhcp4"]["routeMetric"], 100);
}

#[test]
fn the_loopback_may_have_addresses() {
    let lo = "{name: lo, type: loopback, ipv4: {enabled: true, address: [{ip: 192.0.2.99, prefix-length: 32}]}}";
    let (network, codes) = converted(&NIC.replace("[{name: eno1", &format!("[{lo}, {{name: eno1")), false);
    let network = network.unwrap().talos_network.unwrap();
    let document: Value = serde_json::from_str(&network.document(None).unwrap()).unwrap();
    assert_eq!(document["links"][0], json!({"name": "lo", "up": true, "layer": "platform"}));
    assert_eq!(document["addresses"][0]["linkName"], "lo");
    // Only the NIC may hear routers.
    assert_eq!(codes.iter().filter(|code| *code == "ipv6-not-switched-off").count(), 1, "{codes:?}");
}
