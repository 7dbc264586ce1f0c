//! Files of the base that defeat dayone's.

use super::*;

const BASE: [&str; 2] = ["usr/sbin/NetworkManager", "etc/"];
const NETPLAN: &str =
    "etc/netplan/01-all.yaml: network: {version: 2, ethernets: {all: {match: {name: 'en*'}, dhcp4: true}}}\n";
const GENERATOR: [&str; 2] =
    ["usr/libexec/netplan/generate", "usr/lib/systemd/system-generators/netplan -> ../../../libexec/netplan/generate"];

fn with_nic() -> Additions {
    let content = "[connection]\nid=eth0\ntype=ethernet\ninterface-name=eth0\n[ipv4]\ndns=192.0.2.53;\n";
    let keyfiles = json!([{"name": "eth0.nmconnection", "content": content}]);
    Additions { keyfiles: serde_json::from_value(keyfiles).unwrap(), no_auto_default: true, ..Additions::default() }
}

/// The findings about a base with these entries, as code and message.
fn found(profile: DeliveryProfile, additions: &Additions, entries: &[&str]) -> Vec<(&'static str, String)> {
    let report = planned(profile, additions, entries).report;
    report.findings().iter().map(|finding| (finding.code, finding.message.clone())).collect()
}

/// The one finding about a ramdisk with NetworkManager and these entries.
fn one(code: &str, entries: &[&str]) -> Option<String> {
    let mut found = found(DeliveryProfile::RootInInitramfs, &with_nic(), &[BASE.as_slice(), entries].concat());
    assert!(found.len() <= 1 && found.iter().all(|(other, _)| *other == code), "{entries:?}: {found:?}");
    found.pop().map(|(_, message)| message)
}

#[test]
fn profiles_of_the_base_are_named() {
    for (entry, expected) in [
        (
            "etc/NetworkManager/system-connections/any.nmconnection: [connection]\ntype=ethernet\n",
            Some("/etc/NetworkManager/system-connections/any.nmconnection (for every NIC of its type"),
        ),
        (
            "usr/lib/NetworkManager/system-connections/a.nmconnection: [connection]\ninterface-name=eth9\n",
            Some("/usr/lib/NetworkManager/system-connections/a.nmconnection (interface-name=eth9)"),
        ),
        ("etc/NetworkManager/system-connections/no-suffix: [connection]\n", Some("/no-suffix")),
        ("run/NetworkManager/system-connections/a.nmconnection: [connection]\n", Some("/run/NetworkManager")),
        ("etc/NetworkManager/system-connections/a.nmconnection -> /opt/a", Some("dayone did not read it")),
        ("usr/lib/NetworkManager/system-connections/no-suffix: [connection]\n", None),
        ("etc/NetworkManager/system-connections/.hidden: [connection]\n", None),
        // dayone's own takes its place.
        ("etc/NetworkManager/system-connections/eth0.nmconnection: [connection]\n", None),
        ("etc/NetworkManager/system-connections/a.nmconnection: [connection]\nautoconnect=false\n", None),
        ("etc/NetworkManager/system-connections/a.nmconnection: [connection]\ntype=wifi\n", None),
        ("etc/NetworkManager/system-connections/lo.nmconnection: [connection]\ntype=loopback\n", None),
    ] {
        let message = one("base-has-profiles", &[entry]);
        assert_eq!(message.is_some(), expected.is_some(), "{entry}: {message:?}");
        assert!(message.unwrap_or_default().contains(expected.unwrap_or_default()), "{entry}");
    }
    // systemd hides what the initramfs has in /run.
    let run = "run/NetworkManager/system-connections/a.nmconnection: [connection]\n";
    assert_eq!(one("base-has-profiles", &[run, "usr/lib/systemd/systemd"]), None);
    // Elsewhere, NetworkManager finds a profile in two directories, of which one is a link to the other.
    let entries = [
        "etc/NetworkManager/system-connections/a.nmconnection: [connection]\n",
        "run/NetworkManager/system-connections -> /etc/NetworkManager/system-connections",
    ];
    assert_eq!(one("base-has-profiles", &entries).unwrap().matches("a.nmconnection").count(), 1);
    // Without a network to deliver, they are wanted. An inspection shows them.
    let entries = [BASE.as_slice(), &["etc/NetworkManager/system-connections/a: [connection]\n"]].concat();
    let named = Additions { hostname: Some("node-1".parse().unwrap()), ..Additions::default() };
    assert!(found(DeliveryProfile::RootInInitramfs, &named, &entries).is_empty());
    let inspected = report(DeliveryProfile::RootInInitramfs, &tree(&entries), None, &DocumentPath::document("initrd"));
    assert_eq!(inspected.findings().first().unwrap().code, "base-has-profiles");
    let many: Vec<String> =
        (0..300).map(|n| format!("etc/NetworkManager/system-connections/{n}: [connection]\n")).collect();
    let message = one("base-has-profiles", &many.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(message.unwrap().ends_with(", and 295 more"));
}

#[test]
fn configuration_that_defeats_keyfiles_is_named() {
    const INTERFACES: &str =
        "etc/network/interfaces: auto lo\niface lo inet loopback\nauto eth0\niface eth0 inet dhcp\n";
    const ONLY_LO: &str = "etc/network/interfaces: auto lo\niface lo inet loopback\n";
    const DEBIAN: &str =
        "etc/NetworkManager/NetworkManager.conf: [main]\nplugins=ifupdown,keyfile\n\n[ifupdown]\nmanaged=false\n";
    const UBUNTU: &str = "usr/lib/NetworkManager/conf.d/10-globally-managed-devices.conf: [keyfile]\n\
                          unmanaged-devices=*,except:type:wifi,except:type:gsm,except:type:cdma\n";
    for (entries, expected) in [
        (
            &[UBUNTU][..],
            Some(
                "/usr/lib/NetworkManager/conf.d/10-globally-managed-devices.conf ([keyfile] unmanaged-devices=*,except",
            ),
        ),
        // How Ubuntu switches it off.
        (&[UBUNTU, "etc/NetworkManager/conf.d/10-globally-managed-devices.conf"], None),
        (&[UBUNTU, "etc/NetworkManager/conf.d/10-globally-managed-devices.conf -> /dev/null"], None),
        (&[UBUNTU, "etc/NetworkManager/conf.d/10-globally-managed-devices.conf -> ../../../dev/null"], None),
        (&[UBUNTU, "etc/NetworkManager/conf.d/a.conf: [keyfile]\nunmanaged-devices=none\n"], None),
        (&[UBUNTU, "etc/NetworkManager/conf.d/a.conf: [keyfile]\nunmanaged-devices+=except:type:ethernet\n"], None),
        (&["etc/NetworkManager/conf.d/a.conf: [keyfile]\nunmanaged-devices=interface-name:e*\n"], Some("a.conf")),
        (&["etc/NetworkManager/conf.d/a.conf: [keyfile]\nunmanaged-devices=interface-name:docker0;type:wifi\n"], None),
        // The documents are for eth0 alone.
        (&["etc/NetworkManager/conf.d/a.conf: [keyfile]\nunmanaged-devices=*,except:interface-name:eth0\n"], None),
        (
            &["etc/NetworkManager/conf.d/a.conf: [keyfile]\nunmanaged-devices=*,except:interface-name:eth1\n"],
            Some("a.conf"),
        ),
        (&["etc/NetworkManager/conf.d/a.conf: [device-x]\nmatch-device=type:ethernet\nmanaged=0\n"], Some("managed=0")),
        (&["etc/NetworkManager/conf.d/a.conf: [device-x]\nmatch-device=type:wifi\nmanaged=0\n"], None),
        (&["etc/NetworkManager/conf.d/a: [device]\nmanaged=0\n"], None),
        (&[DEBIAN, INTERFACES], Some("[main] plugins=ifupdown,keyfile")),
        (&[DEBIAN, ONLY_LO], None),
        (&[INTERFACES], None),
        (&["etc/NetworkManager/conf.d/a.conf: [keyfile]\npath=/srv/profiles\n"], Some("path=/srv/profiles")),
        (
            &["etc/NetworkManager/conf.d/a.conf: [global-dns-domain-*]\nservers=192.0.2.1\n"],
            Some("[global-dns-domain-*]"),
        ),
        (&["etc/NetworkManager/conf.d/a.conf: [main]\ndns=none\n"], Some("dns=none")),
        (&[NETPLAN, GENERATOR[0], GENERATOR[1]], Some("/etc/netplan/01-all.yaml (read by netplan)")),
        // dayone's file is 99-dayone-no-auto-default.conf.
        (&["etc/NetworkManager/conf.d/zz.conf: [main]\nno-auto-default=\n"], Some("[main] no-auto-default=")),
        (&["etc/NetworkManager/conf.d/00.conf: [main]\nno-auto-default=\n"], None),
    ] {
        let message = one("base-configures-network-manager", entries);
        assert_eq!(message.is_some(), expected.is_some(), "{entries:?}: {message:?}");
        assert!(message.unwrap_or_default().contains(expected.unwrap_or_default()), "{entries:?}");
    }
}

#[test]
fn units_of_the_base_before_dayones_are_named() {
    let units = json!([
        {"name": "10-eth0.network", "content": "[Match]\nName=eth0\n"},
        {"name": "11-dayone-unmentioned.network", "content": "[Match]\nType=ether\n"},
    ]);
    let all_nics = Additions { networkd_units: serde_json::from_value(units).unwrap(), ..with_units() };
    let found = |additions: &Additions, entries: &[&str]| {
        let all = [NETWORKD.as_slice(), entries].concat();
        let mut found = found(DeliveryProfile::Networkd, additions, &all);
        assert!(found.len() <= 1 && found.iter().all(|(code, _)| *code == "base-has-units"), "{entries:?}: {found:?}");
        found.pop().map(|(_, message)| message)
    };
    for (entries, expected) in [
        (&["etc/systemd/network/10-all.network: [Match]\nName=*\n"][..], Some("10-all.network (Name=*)")),
        (&["usr/lib/systemd/network/05-x.network: [Match]\nType=ether\n"], Some("05-x.network (Type=ether)")),
        (&["usr/lib/systemd/network/05-x.network: [Network]\nDHCP=yes\n"], Some("(matches everything)")),
        (&["etc/systemd/network/10-eth0.network.d/a.conf: [Network]\n"], Some("a.conf (changes 10-eth0.network)")),
        (&["etc/systemd/network/zz-default.network: [Match]\nName=*\n"], None),
        (&["usr/lib/systemd/network/10-eth0.network: [Match]\nName=*\n"], None),
        (&["usr/lib/systemd/network/05-lo.network: [Match]\nName=lo\n"], None),
        (&["usr/lib/systemd/network/05-wlan.network: [Match]\nType=wlan\n"], None),
        (&["usr/lib/systemd/network/05-x.network: [Match]\nName=lo\nName=eth0\n"], Some("(Name=lo eth0)")),
        (&["usr/lib/systemd/network/05-x.network: [Match]\nName=lo\nName=\n"], Some("(matches everything)")),
        (
            &[
                "usr/lib/systemd/network/05-x.network: [Match]\nName=*\n",
                "etc/systemd/network/05-x.network -> /dev/null",
            ],
            None,
        ),
        // netplan's unit is 10-netplan-all.network.
        (&[NETPLAN, GENERATOR[0], GENERATOR[1]], Some("/etc/netplan/01-all.yaml (read by netplan)")),
        (&[NETPLAN, "lib/systemd/system-generators/netplan"], Some("/etc/netplan/01-all.yaml (read by netplan)")),
        (&["etc/netplan/a.yaml -> /opt/a", GENERATOR[0], GENERATOR[1]], Some("a.yaml (dayone did not read it)")),
        (&[NETPLAN], None),
        (&[NETPLAN, GENERATOR[1]], None),
        (&["etc/netplan/a.yml: network: {bonds: {}}\n", GENERATOR[0], GENERATOR[1]], None),
        (
            &[
                "lib/netplan/a.yaml: network: {bonds: {}}\n",
                "etc/netplan/a.yaml -> /dev/null",
                GENERATOR[0],
                GENERATOR[1],
            ],
            None,
        ),
        (
            &[
                "etc/netplan/a.yaml: # ethernets\nnetwork:\n  version: 2\n  renderer: NetworkManager\n",
                GENERATOR[0],
                GENERATOR[1],
            ],
            None,
        ),
    ] {
        let message = found(&all_nics, entries);
        assert_eq!(message.is_some(), expected.is_some(), "{entries:?}: {message:?}");
        assert!(message.unwrap_or_default().contains(expected.unwrap_or_default()), "{entries:?}");
    }
    // netplan's units sort behind 10-eth0.network.
    assert_eq!(found(&with_units(), &[NETPLAN, GENERATOR[0], GENERATOR[1]]), None);
}

#[test]
fn dracut_is_said_to_read_them_only_with_a_network() {
    let profile = "etc/NetworkManager/system-connections/any.nmconnection: [connection]\n";
    let setting = "etc/NetworkManager/conf.d/a.conf: [main]\ndns=none\n";
    for (of, entries, is_said) in
        [(DeliveryProfile::Dracut, DRACUT.as_slice(), true), (DeliveryProfile::RootInInitramfs, &BASE, false)]
    {
        let found = found(of, &with_nic(), &[entries, &[profile, setting]].concat());
        assert_eq!(
            found.iter().map(|(code, _)| *code).collect::<Vec<_>>(),
            ["base-has-profiles", "base-configures-network-manager"]
        );
        for (_, message) in found {
            assert_eq!(message.ends_with("(such as with rd.neednet=1)"), is_said, "{message}");
        }
    }
}

#[test]
fn files_that_a_mount_hides_are_named() {
    let entries = [
        "etc/NetworkManager/system-connections -> /run/NetworkManager/system-connections",
        "run/NetworkManager/system-connections/",
    ];
    let message = one("files-behind-mounts", &entries).unwrap();
    let place = "/etc/NetworkManager/system-connections/eth0.nmconnection (in \
                 /run/NetworkManager/system-connections/eth0.nmconnection)";
    assert!(message.ends_with(place), "{message}");
    assert_eq!(one("files-behind-mounts", &["etc/NetworkManager/system-connections -> /srv/x", "srv/x/"]), None);
    // What is handed over comes to its place before the system mounts them, too.
    let files = json!([{"path": "/run/x", "mode": "0644", "contents": ""}]);
    let with_file = Additions { files: serde_json::from_value(files).unwrap(), ..with_nic() };
    for (profile, entries) in
        [(DeliveryProfile::Dracut, DRACUT.as_slice()), (DeliveryProfile::InitramfsTools, &INITRAMFS_TOOLS)]
    {
        let mut found = found(profile, &with_file, entries);
        found.retain(|(code, _)| *code == "files-behind-mounts");
        assert!(matches!(found.as_slice(), [(_, message)] if message.ends_with(": /run/x")), "{found:?}");
    }
}

#[test]
fn secrets_of_the_base_are_in_no_debug_output() {
    let entry = format!("etc/NetworkManager/system-connections/a: [802-1x]\npassword={SECRET}\n");
    assert!(!format!("{:?}", tree(&[&entry])).contains(SECRET));
}
