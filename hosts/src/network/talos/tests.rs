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
