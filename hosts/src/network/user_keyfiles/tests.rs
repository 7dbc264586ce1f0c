use proptest::prelude::*;

use crate::network::convert;
use vocabulary::host::{HostSpec, KeyfileDocument, NetworkDocument};
use vocabulary::report::DocumentPath;

fn host(files: &[(&str, &str)]) -> HostSpec {
    let document = |(name, content): &(&str, &str)| KeyfileDocument {
        name: (*name).to_owned(),
        content: (*content).to_owned(),
        path: DocumentPath::document(name),
    };
    let network = NetworkDocument::Keyfiles(files.iter().map(document).collect());
    HostSpec::with_network(network)
}

fn findings(files: &[(&str, &str)]) -> Vec<String> {
    let (network, report) = convert(&host(files));
    assert_eq!(network.is_none(), report.has_errors());
    report.findings().iter().map(|finding| format!("{}: {finding}", finding.severity)).collect()
}

const ETH0: &str = "# Somebody's\n[connection]\nid=eth0\ntype=ethernet\ninterface-name=eth0\n\n[ethernet]\n\n[ipv4]\n\
                    address1=192.0.2.10/24,192.0.2.1\ndns=192.0.2.53;\nmethod=manual\n\n[ipv6]\nmethod=disabled\n";

#[test]
fn keyfiles_are_taken_byte_by_byte_and_understood() {
    let (network, report) = convert(&host(&[("eth0.nmconnection", ETH0)]));
    assert!(report.is_empty(), "{:?}", report.findings());
    let network = network.unwrap();
    assert_eq!(network.keyfiles[0].content, ETH0);
    let interface = network.topology.interface("eth0").unwrap();
    assert_eq!(interface.ipv4.addresses[0].network.to_string(), "192.0.2.10/24");
    assert_eq!(network.topology.routes.len(), 1);
}

#[test]
fn a_port_has_no_addresses() {
    let port = |of: &str| ETH0.replace("interface-name=eth0", &format!("interface-name=eth0\nmaster=c\n{of}"));
    for of in ["slave-type=bond", "port-type=bond", "slave-type=bridge", "slave-type=team"] {
        let said = "error: eth0.nmconnection: ipv4.address1 belongs to a port of a ";
        let found = findings(&[("eth0.nmconnection", &port(of))]);
        assert!(found.iter().any(|finding| finding.starts_with(said)), "{of}: {found:?}");
    }
    let routed = port("slave-type=bond")
        .replace("address1=192.0.2.10/24,192.0.2.1\n", "route1=198.51.100.0/24\ngateway=192.0.2.1\n");
    let routed = findings(&[("eth0.nmconnection", &routed)]);
    for key in ["route1", "gateway"] {
        let said = format!("error: eth0.nmconnection: ipv4.{key} belongs to a port of a bond");
        assert!(routed.iter().any(|finding| finding.starts_with(&said)), "{routed:?}");
    }
    let of_vrf = findings(&[("eth0.nmconnection", &port("slave-type=vrf"))]);
    assert!(!of_vrf.iter().any(|finding| finding.contains("belongs to a port")), "{of_vrf:?}");
}

#[test]
fn what_networkmanager_would_refuse_or_ignore_is_an_error_with_its_place() {
    let at = |key: &str| format!("error: eth0.nmconnection: {key}");
    for (right, wrong, said) in [
        ("[connection]\n", "[connection\n", "error: eth0.nmconnection: has a line that is neither".to_owned()),
        ("type=ethernet\n", "type=ethernt\n", at("connection.type is \"ethernt\", which is not a connection type")),
        ("type=ethernet\n", "type=vlan\n", at("connection.type is vlan, and there is no group [vlan]")),
        ("type=ethernet\n", "type=ovs-bridge\n", at("connection.type is ovs-bridge: openvswitch")),
        ("interface-name=eth0", "interface-name=a-name-that-is-too-long", at("connection.interface-name is")),
        ("interface-name=eth0", "interface-name=a\\b", at("connection.interface-name has a backslash")),
        ("interface-name=eth0", "autoconnect=no\ninterface-name=eth0", at("connection.autoconnect is \"no\"")),
        ("interface-name=eth0", "master=bond0\ninterface-name=eth0", at("connection.master is set without slave-type")),
        ("interface-name=eth0", "slave-type=bond\ninterface-name=eth0", at("connection.slave-type is set without")),
        ("[ethernet]\n", "[ethernet]\nmac-address=52:54:00\n", at("ethernet.mac-address is \"52:54:00\"")),
        (
            "192.0.2.10/24",
            "192.0.2.10/33",
            at("ipv4.address1 is \"192.0.2.10/33,192.0.2.1\": write a number up to 32 behind the slash"),
        ),
        ("192.0.2.10/24", "192.0.2/24", at("ipv4.address1 is \"192.0.2/24,192.0.2.1\", which is not an ipv4 address")),
        (
            "24,192.0.2.1",
            "24,gateway",
            at("ipv4.address1 is \"192.0.2.10/24,gateway\": write the address of a gateway behind the comma"),
        ),
        ("method=manual", "method=static", at("ipv4.method is \"static\"")),
        ("dns=192.0.2.53;\nmethod=manual", "method=disabled", at("ipv4.method is disabled, and there are addresses")),
        ("method=manual", "gateway=192.0.2.1", at("ipv4.method is missing")),
        ("address1=192.0.2.10/24,192.0.2.1\n", "", at("ipv4.method is manual and there is no address")),
    ] {
        let found = findings(&[("eth0.nmconnection", &ETH0.replacen(right, wrong, 1))]);
        assert!(found.len() == 1 && found[0].starts_with(&said), "{said}: {found:#?}");
    }
    let found = findings(&[("eth0.nmconnection", "[connection]\nid=a\n")]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with(&at("connection.type is missing")), "{found:#?}");
    assert_eq!(findings(&[("a b.nmconnection", ETH0)]).len(), 1);
    assert_eq!(findings(&[]).len(), 1);
}

#[test]
fn a_profile_that_cannot_be_activated_is_refused_unless_somebody_can_give_the_secret() {
    let profile = |more: &str| ETH0.replace("[ipv4]", &format!("[802-1x]\nidentity=x\n{more}\n\n[ipv4]"));
    let missing = |key: &str| format!("error: eth0.nmconnection: 802-1x.{key} is missing");
    for (more, key) in [
        ("eap=md5;", "password"),
        ("eap=md5;\npassword-flags=4", "password"),
        ("eap=tls;\nclient-cert=/c\nprivate-key=/k", "private-key-password"),
    ] {
        let found = findings(&[("eth0.nmconnection", &profile(more))]);
        assert!(found.len() == 1 && found[0].starts_with(&missing(key)), "{more}: {found:#?}");
        let by_hand = profile(more).replace("[connection]\n", "[connection]\nautoconnect=false\n");
        let found = findings(&[("eth0.nmconnection", &by_hand)]);
        assert!(!found.iter().any(|found| found.contains("802-1x")), "{more}: {found:#?}");
    }
    for more in [
        "eap=md5;\npassword-raw=97;98;",
        "eap=md5;\noptional=true",
        "eap=tls;\nclient-cert=/c\nprivate-key=/k\nprivate-key-password-flags=4",
    ] {
        assert_eq!(findings(&[("eth0.nmconnection", &profile(more))]), Vec::<String>::new(), "{more}");
    }
}

/// Seen with NetworkManager 1.42: with `arp_validate`, the kernel watches no link at all.
#[test]
fn monitors_of_a_bond_that_networkmanager_leaves_out_are_warnings() {
    let targets = "arp_interval=200\narp_ip_target=192.0.2.1\n";
    for (options, unused) in [
        (
            format!("mode=active-backup\nmiimon=100\n{targets}arp_validate=active\n"),
            &["arp_interval", "arp_validate"][..],
        ),
        (format!("mode=active-backup\nmiimon=100\n{targets}"), &["arp_interval"]),
        ("mode=active-backup\nmiimon=100\narp_validate=active\n".to_owned(), &["arp_validate"]),
        ("mode=balance-rr\narp_validate=3\n".to_owned(), &["arp_validate"]),
        ("mode=balance-rr\narp_validate=0\n".to_owned(), &[]),
        ("mode=802.3ad\narp_validate=none\n".to_owned(), &["arp_validate"]),
        (format!("mode=active-backup\n{targets}arp_validate=active\n"), &[]),
        (format!("mode=active-backup\n{targets}updelay=200\ndowndelay=0\n"), &["updelay"]),
        ("mode=active-backup\nupdelay=200\n".to_owned(), &[]),
        (format!("mode=active-backup\nmiimon=0\n{targets}updelay=200\n"), &[]),
    ] {
        let bond = format!(
            "[connection]\nid=bond0\ntype=bond\ninterface-name=bond0\n[bond]\n{options}[ipv4]\nmethod=disabled\n[ipv6]\n\
             method=disabled\n"
        );
        let report = convert(&host(&[("bond0.nmconnection", &bond)])).1;
        let found = report.findings().iter().filter(|finding| finding.code == "keyfile-value-unused");
        let mut found: Vec<String> = found.map(|finding| finding.path.to_string()).collect();
        found.sort();
        let expected: Vec<String> = unused.iter().map(|key| format!("bond0.nmconnection: bond.{key}")).collect();
        assert_eq!(found, expected, "{options}");
    }
}

#[test]
fn what_is_odd_is_a_warning() {
    let any = "[connection]\nid=a\nid=b\ntype=ethernet\npermissions=user:joe;\n[ip4]\nmethod=auto\n[802-1x]\neap=peap;\n\
               identity=a\nphase2-auth=mschapv2\npassword-flags=1\n[ipv4]\nmethod=manual\naddress1=192.0.2.1\n";
    let found = findings(&[("a.nmconnection", any)]);
    for said in [
        "connection.id appears twice: NetworkManager ignores line 2",
        "ip4 is not a group that NetworkManager knows",
        "802-1x.password-flags says that the secret is not in the file",
        "connection.permissions names users",
        "has neither interface-name nor mac-address",
        "ipv4.address1 has no prefix length, and NetworkManager assumes 24",
    ] {
        let line = format!("warning: a.nmconnection: {said}");
        assert!(found.iter().any(|found| found.starts_with(&line)), "{said}: {found:#?}");
    }
    assert_eq!(found.len(), 6, "{found:#?}");
}

#[test]
fn profiles_of_one_host_must_not_be_in_each_others_way() {
    let uuid = "uuid=0523c0a1-5f5e-5603-bcf2-68155d5d322e\n";
    let one = ETH0.replacen("id=eth0\n", &format!("id=eth0\n{uuid}"), 1);
    let other = one.replacen("=eth0", "=eth1", 2).replacen("0523c0a1", "0523C0A1", 1);
    let found = findings(&[("a.nmconnection", &one), ("b.nmconnection", &other)]);
    assert_eq!(
        found,
        ["error: b.nmconnection: connection.uuid is the same as in a.nmconnection: NetworkManager would load only \
             one of the two"]
    );
    let found = findings(&[("a.nmconnection", ETH0), ("A.nmconnection", ETH0)]);
    assert!(found[0].starts_with("error: A.nmconnection: has the same name as a.nmconnection"), "{found:#?}");
    let found = findings(&[("a.nmconnection", ETH0), ("b.nmconnection", ETH0)]);
    assert!(
        found.iter().any(|found| found.starts_with("warning: b.nmconnection: connection.interface-name is \"eth0\""))
    );
    assert!(found.iter().any(|found| found.starts_with("warning: b.nmconnection: connection.id is \"eth0\"")));
}

proptest! {
    #[test]
    fn any_text_is_taken_or_refused(
        text in "(\\[connection\\]\n|\\[ipv4\\]\n|\\[ethernet\\]\n|type=|ethernet\n|address1=|192.0.2.1/24|,|;|method=|manual\n|mac-address=|master=|\n|\\\\|uuid=|a|=|\0){0,40}",
    ) {
        findings(&[("a.nmconnection", &text), ("b.nmconnection", &text)]);
    }
}
