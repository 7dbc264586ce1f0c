use proptest::prelude::*;

use super::*;
use crate::answers::testing::{self, BOND, INSTALLED, STATIC, file, installed};
use vocabulary::answers::Installer;

const DHCP: &str = "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true},
  ipv6: {enabled: true, autoconf: true, dhcp: true}}]";
const BY_NAME: &str = "
hostname: {config: worker-0.example.com}
interfaces:
- {name: eno1, type: ethernet, state: up, mtu: 9000,
   ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}, {ip: 192.0.2.11, prefix-length: 24}]},
   ipv6: {enabled: true, address: [{ip: '2001:db8::10', prefix-length: 64}]}}
- {name: eno2, type: ethernet, state: up}
- {name: br0, type: linux-bridge, state: up, bridge: {port: [{name: eno2}]}, ipv4: {enabled: true, dhcp: true, auto-dns: false, auto-gateway: false}}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1}
  - {destination: '::/0', next-hop-address: '2001:db8::1', next-hop-interface: eno1}
dns-resolver: {config: {server: [192.0.2.53, '2001:db8::53'], search: [example.com]}}
";

const BY_TABLE: &str = "
interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}]
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1, table-id: 100}]}
route-rules: {config: [{ip-from: 192.0.2.0/24, route-table: 100}]}
";

fn completed(nmstate: &str, text: &str) -> (Option<Vec<InstallerFile>>, Vec<String>) {
    testing::completed(Installer::Kickstart, nmstate, text)
}

/// The findings about a file, without what all of them begin and end with.
fn contradictions(nmstate: &str, text: &str) -> Vec<String> {
    let (files, findings) = completed(nmstate, text);
    assert_eq!(files.is_none(), !findings.is_empty(), "{findings:?}");
    let end = "; remove the command, which the installer does not need, or correct the one that is wrong \
               [answers-contradict-network]";
    let short = |finding: &str| Some(finding.strip_prefix("kickstart file: line ")?.strip_suffix(end)?.to_owned());
    findings.iter().map(|finding| short(finding).unwrap_or_else(|| finding.clone())).collect()
}

#[test]
fn the_file_is_kept_and_the_network_added() {
    let text = "lang en_US.UTF-8\nrootpw --plaintext hunter2";
    let (files, findings) = completed(STATIC, text);
    assert_eq!(findings, [""; 0]);
    let files = files.unwrap();
    let written = file(&files, KICKSTART_FILE);
    assert!(written.starts_with(&format!("{text}\n\n# Written by dayone")), "{written}");
    assert_eq!(files.len(), 1);
    assert_eq!(installed(written), INSTALLED);
    assert!(written.contains("\nd29ya2VyLTAuZXhhbXBsZS5jb20K\nEND\n%end\n"), "{written}");
    assert!(!format!("{files:?}").contains("hunter2"));
    assert!(file(&completed(BOND, "").0.unwrap(), KICKSTART_FILE).contains("/bond0.7.nmconnection"));
}

#[test]
fn commands_that_agree_with_the_documents_are_kept() {
    for (nmstate, text) in [
        (STATIC, "network --bootproto=static --ip=192.0.2.10 --netmask=255.255.255.0 --gateway=192.0.2.1"),
        (STATIC, "network --device=link --bootproto static --ip 198.51.100.10 --netmask=25 --nameserver=192.0.2.53"),
        (STATIC, "network --device=52:54:00:00:00:01 --bootproto=static --ip=192.0.2.10 --ipv6=2001:db8::10/64"),
        // The name of the NIC with this MAC address is the kernel's affair.
        (STATIC, "network --device=ens3 --bootproto=static --ip=192.0.2.10 --hostname=worker-0.example.com"),
        (STATIC, "network --hostname=worker-0.example.com"),
        (STATIC, "%post\nnetwork --device=eno1 --bootproto=dhcp\n%end"),
        (
            BY_NAME,
            "network --device=eno1 --boot=static --ip=192.0.2.11 --ipv6=2001:db8::10 --ipv6gateway=2001:db8::1 --mtu=9000",
        ),
        (BY_NAME, "network --device=br0 --bridgeslaves=eno2 --nodefroute --onboot=yes --ipv4-ignore-auto-dns"),
        (
            BY_NAME,
            "network --device=eno1 --bootproto=static --nameserver=2001:db8::53,192.0.2.53 --ipv4-dns-search=example.com",
        ),
        (DHCP, "network"),
        (DHCP, "network --device=eno1 --bootproto=dhcp --ipv6=auto --activate"),
        (
            BOND,
            "network --device=bond0 --bondslaves=eno1,eno2 --bondopts=mode=802.3ad,miimon=100 --vlanid=7 --bootproto=static --ip=192.0.2.10",
        ),
        (BOND, "network --device=bond0 --vlanid=7 --interfacename=bond0.7 --bootproto=static --noipv6"),
        (BOND, "network --device=bond0 --bondslaves=eno2,eno1 --bondopts=mode=4 --noipv4"),
    ] {
        let (files, findings) = completed(nmstate, text);
        assert_eq!(findings, [""; 0], "{text}");
        assert!(file(&files.unwrap(), KICKSTART_FILE).starts_with(text));
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn commands_that_contradict_the_documents_are_found() {
    for (nmstate, command, finding) in [
        (
            STATIC,
            "--device=eno2 --bootproto=dhcp",
            r#"says network --bootproto is "dhcp", and by the host's documents eno2 has the address "198.51.100.10/25""#,
        ),
        (
            STATIC,
            "--device=eno2",
            r#"says network --bootproto is "dhcp", and by the host's documents eno2 has the address "198.51.100.10/25""#,
        ),
        (
            STATIC,
            "--device=52:54:00:00:00:01 --bootproto=static --ip=192.0.2.11",
            r#"says network --ip is "192.0.2.11", and by the host's documents eno1 has the address "192.0.2.10/24""#,
        ),
        (
            BY_NAME,
            "--device=eno1 --bootproto=static --ip=192.0.2.10/24",
            r#"says network --ip is "192.0.2.10/24", and by the host's documents eno1 has the address "192.0.2.10/24", "192.0.2.11/24"; --ip takes no prefix length, and --netmask takes the netmask"#,
        ),
        (
            STATIC,
            "--bootproto=static --ip=192.0.2.10 --netmask=255.255.0.0",
            r#"says network --netmask is "255.255.0.0", and by the host's documents eno1 has the address "192.0.2.10/24""#,
        ),
        (
            STATIC,
            "--bootproto=static --ip=192.0.2.10 --gateway=192.0.2.254",
            r#"says network --gateway is "192.0.2.254", and by the host's documents eno1 has the default gateway "192.0.2.1""#,
        ),
        (
            STATIC,
            "--device=eno2 --bootproto=static --ip=198.51.100.10 --gateway=192.0.2.1",
            r#"says network --gateway is "192.0.2.1", and by the host's documents eno2 has the default gateway none"#,
        ),
        (
            BY_TABLE,
            "--device=eno1 --bootproto=static --gateway=192.0.2.1",
            r#"says network --gateway is "192.0.2.1", and by the host's documents eno1 has the default gateway none"#,
        ),
        (
            STATIC,
            "--bootproto=static --nameserver=192.0.2.53,192.0.2.54",
            r#"says network --nameserver is "192.0.2.53,192.0.2.54", and by the host's documents eno1 has the name servers "192.0.2.53", "2001:db8::53""#,
        ),
        (
            STATIC,
            "--hostname=worker-1",
            r#"says network --hostname is "worker-1", and the host's documents have "worker-0.example.com""#,
        ),
        (
            STATIC,
            "--essid=hunter2 --wpakey=hunter2",
            "says network --essid, and the host's documents have no wireless network",
        ),
        (
            STATIC,
            "--device=52:54:00:00:00:01 --bootproto=static --nodefroute",
            "says network --nodefroute, and by the host's documents eno1 has a default route",
        ),
        (
            STATIC,
            "--bootproto=static --nodns",
            r#"says network --nodns, and by the host's documents eno1 has the name servers "192.0.2.53", "2001:db8::53""#,
        ),
        (
            STATIC,
            "--device=br0 --bridgeslaves=eno2 --noipv4",
            r#"says network --device is "br0", and the host's documents have the interfaces "eno1", "eno2""#,
        ),
        (
            BY_NAME,
            "--device=eno3 --bootproto=dhcp",
            r#"says network --device is "eno3", and the host's documents have the interfaces "br0", "eno1", "eno2""#,
        ),
        (
            BY_NAME,
            "--device=eno1 --bootproto=static --noipv6",
            r#"says network --noipv6, and by the host's documents eno1 has the address "2001:db8::10/64""#,
        ),
        (
            BY_NAME,
            "--device=eno1 --bootproto=static --ipv6=auto",
            r#"says network --ipv6 is "auto", and by the host's documents eno1 has the address "2001:db8::10/64""#,
        ),
        (
            BY_NAME,
            "--device=eno1 --bootproto=static --ipv6=2001:db8::10/48",
            r#"says network --ipv6 is "2001:db8::10/48", and by the host's documents eno1 has the address "2001:db8::10/64""#,
        ),
        (
            BY_NAME,
            "--device=eno1 --bootproto=static --ipv6gateway=2001:db8::2",
            r#"says network --ipv6gateway is "2001:db8::2", and by the host's documents eno1 has the default gateway "2001:db8::1""#,
        ),
        (
            BY_NAME,
            "--device=eno1 --bootproto=static --mtu=1500",
            r#"says network --mtu is "1500", and by the host's documents eno1 has the MTU 9000"#,
        ),
        (
            BY_NAME,
            "--device=eno1 --bootproto=static --onboot=no",
            r#"says network --onboot is "no", and by the host's documents eno1 has the state up"#,
        ),
        (
            BY_NAME,
            "--device=br0 --bridgeslaves=eno1,eno2",
            r#"says network --bridgeslaves is "eno1,eno2", and by the host's documents br0 has the ports "eno2""#,
        ),
        (
            BY_NAME,
            "--device=eno1 --bootproto=static --ipv4-dns-search=example.org",
            r#"says network --ipv4-dns-search is "example.org", and by the host's documents eno1 has the search domains "example.com""#,
        ),
        (
            DHCP,
            "--bootproto=static --ip=192.0.2.1 --netmask=255.255.255.0",
            r#"says network --bootproto is "static", and by the host's documents eno1 has DHCP"#,
        ),
        (DHCP, "--noipv4", "says network --noipv4, and by the host's documents eno1 has DHCP"),
        (
            DHCP,
            "--device=eno1 --nodns",
            "says network --nodns, and by the host's documents eno1 has the name servers of the network",
        ),
        (
            DHCP,
            "--device=eno1 --ipv4-ignore-auto-dns",
            "says network --ipv4-ignore-auto-dns, and by the host's documents eno1 has the name servers of the network",
        ),
        (
            BOND,
            "--device=bond0 --vlanid=8 --noipv4",
            r#"says network --vlanid is "8", and the host's documents have the VLANs "bond0.7""#,
        ),
        (
            BOND,
            "--device=eno1 --vlanid=7 --noipv4",
            r#"says network --vlanid is "7", and the host's documents have the VLANs "bond0.7""#,
        ),
        (
            BOND,
            "--device=bond0 --bondslaves=eno1,eno3 --noipv4",
            r#"says network --bondslaves is "eno1,eno3", and by the host's documents bond0 has the ports "eno1", "eno2""#,
        ),
        (
            BOND,
            "--device=bond0 --bondopts=mode=1 --noipv4",
            r#"says network --bondopts is "mode=1", and by the host's documents bond0 has the mode "802.3ad""#,
        ),
        (
            BOND,
            "--device=bond0 --vlanid=7 --interfacename=vlan7 --bootproto=static",
            r#"says network --interfacename is "vlan7", and by the host's documents bond0.7 has this name"#,
        ),
        (
            BOND,
            "--device=bond0 --teamslaves=eno1,eno2",
            "says network --teamslaves, and the host's documents have no team",
        ),
        (
            BOND,
            "--device=eno1 --bootproto=dhcp",
            r#"says network --bootproto is "dhcp", and by the host's documents eno1 has no address"#,
        ),
    ] {
        assert_eq!(
            contradictions(nmstate, &format!("text\nnetwork {command}\n")),
            [format!("2 {finding}")],
            "{command}"
        );
    }
}

#[test]
fn a_nic_that_the_documents_keep_down_may_stay_off() {
    let first = "network --device=eno1 --bootproto=dhcp";
    for text in [
        format!("{first}\nnetwork --bootproto=dhcp --device=eno2 --onboot=off --ipv6=auto").as_str(),
        format!("{first}\nnetwork --device=52:54:00:00:00:09 --onboot=no").as_str(),
        "network --device=eno2 --onboot=off --no-activate",
    ] {
        assert_eq!(contradictions(DHCP, text), [""; 0], "{text}");
    }
    let unknown = r#"says network --device is "eno2", and the host's documents have the interfaces "eno1""#;
    for (text, line) in [
        // The installer brings up the device of the first command.
        ("network --device=eno2 --onboot=off", 1),
        (format!("{first}\nnetwork --device=eno2 --onboot=off --activate").as_str(), 2),
        (format!("{first}\nnetwork --device=eno2 --onboot=on").as_str(), 2),
    ] {
        assert_eq!(contradictions(DHCP, text), [format!("{line} {unknown}")], "{text}");
    }
    let found = contradictions(BY_NAME, "network --hostname=worker-0.example.com\nnetwork --device=br0 --onboot=off");
    assert!(found.len() == 1 && found[0].contains("br0 has the state up"), "{found:?}");
    let down = "interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}},
  {name: eno2, type: ethernet, state: down}]";
    let of_the_file = |text: &str| -> Vec<String> {
        let findings = completed(down, text).1;
        findings.into_iter().filter(|finding| finding.starts_with("kickstart file: ")).collect()
    };
    let off = format!("{first}\nnetwork --bootproto=dhcp --device=eno2 --onboot=off");
    assert_eq!(of_the_file(&off), [""; 0]);
    let found = of_the_file(&format!("{off} --activate"));
    assert!(found.len() == 1 && found[0].contains("line 2 says network --bootproto is \"dhcp\""), "{found:?}");
}

#[test]
fn the_mtu_may_be_the_one_that_the_kernel_gives() {
    let jumbo = BOND.replace("type: bond,", "type: bond, mtu: 9000,");
    let infiniband = "interfaces: [{name: ib0, type: infiniband, infiniband: {mode: datagram, pkey: '0xffff'},
  ipv4: {enabled: true, dhcp: true}}]";
    let vlan = "--device=bond0 --vlanid=7 --bootproto=static";
    for (nmstate, command, mtu) in [
        (DHCP, "--device=eno1", 1500),
        (DHCP, "--device=eno1", 0),
        (BOND, "--device=bond0 --noipv4", 1500),
        (BOND, vlan, 1500),
        (jumbo.as_str(), vlan, 9000),
        (infiniband, "--device=ib0", 0),
    ] {
        assert_eq!(contradictions(nmstate, &format!("network {command} --mtu={mtu}")), [""; 0], "{nmstate} {mtu}");
    }
    for (nmstate, command, mtu, has) in [
        (DHCP, "--device=eno1", 9000, "eno1 has the MTU none"),
        (BY_NAME, "--device=eno1 --bootproto=static", 0, "eno1 has the MTU 9000"),
        (jumbo.as_str(), vlan, 1500, "bond0.7 has the MTU none"),
        (infiniband, "--device=ib0", 1500, "ib0 has the MTU none"),
    ] {
        let found = contradictions(nmstate, &format!("network {command} --mtu={mtu}"));
        assert!(found.len() == 1 && found[0].ends_with(has), "{nmstate} {mtu}: {found:?}");
    }
}

#[test]
fn what_dayone_cannot_compare_is_said() {
    let (files, findings) = completed(DHCP, "%include /tmp/network\nnetwork --new-option x --device=eno1\n");
    let expected = [
        "kickstart file: line 2 has the option \"--new-option\" of network, which dayone does not know [answers-unchecked]",
        "kickstart file: line 1 includes a file, and dayone does not see what that says of the network [answers-unchecked]",
    ];
    assert_eq!(findings, expected);
    assert!(files.is_some());
}

#[test]
fn findings_show_nothing_of_lines_that_may_be_secret() {
    for text in ["rootpw 'hunter2", "network hunter2", "network --wpakey", "%post\nhunter2", "network --wepkey=hunter2"]
    {
        let (files, findings) = completed(DHCP, text);
        assert!(files.is_none() && findings.len() == 1 && findings[0].contains(" line 1 "), "{findings:?}");
        assert!(!findings[0].contains("hunter2"), "{findings:?}");
    }
    let (files, findings) = completed(DHCP, &"#".repeat(LIMIT + 1));
    assert!(files.is_none() && findings[0].ends_with("may have 1048576 [answers-invalid]"), "{findings:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5 * ProptestConfig::default().cases / 4, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is in a file, dayone keeps it and adds its sections behind it, where the installer reads them as such.
    #[test]
    fn any_file_is_kept_or_refused(
        lines in prop::collection::vec("(network |%post|%end|%include |#|rootpw )?[-=a-z0-9.:/ '\"\\\\\u{b}\u{85}]{0,20}", 0..8),
        end in "\n?",
    ) {
        let text = lines.join("\n") + &end;
        let (files, findings) = completed(STATIC, &text);
        match files {
            Some(files) => {
                let written = file(&files, KICKSTART_FILE);
                prop_assert!(written.starts_with(&text));
                prop_assert!(Kickstart::read(written).mistakes.is_empty());
            }
            None => prop_assert!(!findings.is_empty()),
        }
    }
}
