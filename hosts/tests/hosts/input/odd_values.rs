//! Values that documents must not have where somebody reads them, and may have anywhere else.

use hosts::input::read;

use super::findings;

/// Values that cannot be used where somebody reads them, each with the code of the finding there.
const ODD: [(&str, &str); 14] = [
    ("123456789012345678901", "wrong-type"),
    ("-123456789012345678901", "wrong-type"),
    ("0xfffffffffffffffffffff", "wrong-type"),
    ("99999999999999999999999999999999999999999999999999", "wrong-type"),
    (".inf", "wrong-type"),
    (".nan", "wrong-type"),
    ("!!int one", "wrong-type"),
    ("!!float x", "wrong-type"),
    ("!vault |\n      $ANSIBLE_VAULT;1.1;AES256\n      6238", "unknown-tag"),
    ("!local {a: 1}", "unknown-tag"),
    ("!local [1, !deeper 2]", "unknown-tag"),
    ("{a: 1, a: 2}", "wrong-type"),
    ("1\n    x: 2", "duplicate-key"),
    ("{<<: {a: 1}, <<: {b: 2}}", "duplicate-key"),
];

#[test]
fn a_value_that_nobody_reads_refuses_nothing_and_one_that_is_read_is_an_error() {
    for (value, code) in ODD {
        let document = |annotation: &str, label: &str, mac: &str| {
            format!(
                "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: worker-0\n  annotations:\n    x: \
                 {annotation}\n  labels: {{x: {label}}}\nspec:\n  preprovisioningNetworkDataName: n\n  nested:\n    x: {mac}\n\
                 ---\napiVersion: v1\nkind: Secret\nmetadata: {{name: n}}\nstringData:\n  nmstate: |\n    interfaces: [{{name: \
                 eth0, type: ethernet, ipv4: {{enabled: true, dhcp: true}}}}]\n"
            )
        };
        let good = read(document(value, "1", "1").as_bytes());
        assert_eq!((good.hosts.len(), findings(&good).as_str()), (1, ""), "{value}");
        let read_there = document("a", "1", value).replace("nested:\n    x: ", "bmc:\n    x: 1\n    address: ");
        let read_there = read_there.replace("\n    x: 2", "\n    address: 2");
        let bad = read(read_there.as_bytes());
        let codes: Vec<&str> = bad.report.findings().iter().map(|finding| finding.code).collect();
        assert_eq!((bad.hosts.len(), codes), (0, vec![code]), "{read_there}");
        assert!(bad.report.findings()[0].path.to_string().ends_with("spec.bmc.address"), "{}", findings(&bad));
    }
}

#[test]
fn no_flawed_value_leaves_what_is_passed_on_as_it_stands() {
    let network = "interfaces: [{name: eth0, type: ethernet, mtu: MTU, ipv4: {enabled: true, dhcp: true}}]";
    let agent = "{apiVersion: v1beta1, kind: AgentConfig, hosts: [{hostname: a, rootDeviceHints: {minSizeGigabytes: SIZE}, \
                 interfaces: [{name: eth0, macAddress: '52:54:00:00:00:01'}], networkConfig: {NETWORK}}]}";
    let secret = "{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {name: a}, spec: \
                  {preprovisioningNetworkDataName: n}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: n}, stringData: \
                  {nmstate: 'NETWORK'}}";
    let fleet = "apiVersion: dayone.metal3.io/v1alpha1\nkind: HostFleet\nmetadata: {name: f}\nspec: {hosts: {values: [{name: \
                 a}]}, template: {network: {NETWORK}}}";
    let policy = "{apiVersion: nmstate.io/v1, kind: NodeNetworkConfigurationPolicy, metadata: {name: a}, spec: {desiredState: \
                  {NETWORK}}}";
    for odd in ["123456789012345678901", "!local 1500", "!!int x", "1500, mtu: 1501", "1, <<: {a: 1}, <<: {a: 2}"] {
        for holder in ["NETWORK", agent, secret, fleet, policy] {
            let text = |mtu: &str, size: &str| {
                let network = network.replace("MTU", mtu);
                holder.replace("NETWORK", &network).replace("SIZE", size)
            };
            assert_eq!(read(text("1500", "1").as_bytes()).hosts.len(), 1, "{holder}");
            let input = read(text(odd, "1").as_bytes());
            assert!(input.hosts.is_empty() && input.report.has_errors(), "{}: {}", text(odd, "1"), findings(&input));
        }
    }
    let hints = agent.replace("NETWORK", &network.replace("MTU", "1500")).replace("SIZE", "123456789012345678901");
    assert!(read(hints.as_bytes()).hosts.is_empty());
}

#[test]
fn a_list_whose_items_are_unknown_is_an_error() {
    let list = "apiVersion: v1\nkind: List\nitems: []\nitems: []\n---\ninterfaces: []\n";
    assert!(read(list.as_bytes()).report.has_errors());
    for key in ["kind: Secret\nkind: ConfigMap\napiVersion: v1", "kind: Secret\napiVersion: v1\napiVersion: v2"] {
        let input = read(format!("{key}\n---\ninterfaces: []\n").as_bytes());
        assert_eq!(input.report.findings()[0].code, "duplicate-key", "{}", findings(&input));
    }
}

/// A document of a few megabytes may have hundreds of thousands.
#[test]
fn of_many_odd_values_a_hundred_are_reported() {
    let found = read(format!("interfaces: [{}]\n", "!a 1,".repeat(1000)).as_bytes());
    let errors = found.report.findings();
    assert!(found.hosts.is_empty() && errors.len() == 100, "{}", errors.len());
    assert!(
        errors[99].message.ends_with("; there may be more such errors, which dayone does not list"),
        "{}",
        errors[99]
    );
    let found = read(format!("interfaces: [{}]\n", "{name: a, mtu: 010},".repeat(1000)).as_bytes());
    let warnings = found.report.findings();
    assert!(warnings.len() == 100 && warnings[99].message.ends_with("are not listed"), "{}", warnings.len());
}
