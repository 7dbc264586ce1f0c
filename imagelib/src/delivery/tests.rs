mod competing;
mod coreos;
mod handover;
mod hard_links;
mod properties;
mod read_only;
mod root;

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::compression::Compression;
use crate::cpio::{FileKind, MemberPath};
use crate::initramfs::{Survey, survey, walk};
use vocabulary::answers::KICKSTART_ARGUMENT;

const SECRET: &str = "tops3cret";

fn path(text: &str) -> MemberPath {
    text.parse().unwrap()
}

/// An initramfs with these files, links (`path -> target`) and directories (`path/`), and the directories above them.
fn initramfs(entries: &[&str]) -> Vec<u8> {
    let mut archive = Archive::new();
    for entry in entries {
        match (entry.split_once(" -> "), entry.split_once(": "), entry.strip_suffix('/')) {
            (Some((link, target)), ..) => archive.symlink(path(link), target).unwrap(),
            (_, Some((file, content)), _) => archive.file(path(file), 0o644, content.to_owned()).unwrap(),
            (.., Some(directory)) => archive.directory(path(directory), 0o755).unwrap(),
            _ => archive.file(path(entry), 0o755, "").unwrap(),
        }
    }
    archive.add_parents(0o755).unwrap();
    Compression::Gzip.compress(&archive.to_bytes()).unwrap()
}

fn surveyed(image: &[u8]) -> Survey {
    survey(&image, &release_files(), RELEASE_FILE_LIMIT).unwrap()
}

fn tree(entries: &[&str]) -> Tree {
    surveyed(&initramfs(entries)).tree
}

fn additions() -> Additions {
    serde_json::from_value(json!({
        "keyfiles": [{"name": "eth0.nmconnection", "content": format!("[802-1x]\npassword={SECRET}\n")}],
        "no_auto_default": true,
        "hostname": "worker-0",
        "files": [{"path": "/srv/it's here", "mode": "0640", "user": 1000, "group": 100, "contents": "eA=="}],
    }))
    .unwrap()
}

fn with_units() -> Additions {
    let units = json!([{"name": "10-eth0.network", "content": "[Match]\nName=eth0\n"}]);
    Additions { networkd_units: serde_json::from_value(units).unwrap(), ..additions() }
}

fn planned(profile: DeliveryProfile, additions: &Additions, entries: &[&str]) -> Members {
    members(profile, additions, None, &tree(entries)).unwrap()
}

/// Mode, owner and content of what is in an archive, by path.
fn unpacked(archive: &Archive) -> BTreeMap<String, (String, String)> {
    let mut found = BTreeMap::new();
    walk(&archive.to_bytes(), |visit, reader| {
        let content = String::from_utf8(reader.content(1 << 20)?).unwrap();
        let kind = match visit.entry.kind() {
            FileKind::Directory => "d",
            FileKind::Symlink => "l",
            _ => "f",
        };
        let name = String::from_utf8(visit.entry.name.clone()).unwrap();
        found.insert(name, (format!("{kind} {:o}", visit.entry.mode & 0o7777), content));
        Ok(())
    })
    .unwrap();
    found
}

fn paths(archive: &Archive) -> Vec<String> {
    unpacked(archive).into_keys().collect()
}

const DRACUT: [&str; 5] = [
    "etc/initrd-release: ID=fedora\nPRETTY_NAME=\"Fedora Linux 44 dracut-107\"\n",
    "usr/lib/dracut/hooks/pre-pivot/20-apply-live-updates.sh",
    "lib -> usr/lib",
    "usr/sbin/NetworkManager",
    "usr/sbin/dmsquash-live-root",
];
const INITRAMFS_TOOLS: [&str; 5] =
    ["conf/initramfs.conf", "scripts/init-bottom/ORDER", "scripts/live", "bin -> usr/bin", "usr/bin/cp"];
const NETWORKD: [&str; 3] = [
    "etc/os-release: ID=debian\n",
    "usr/lib/systemd/systemd-networkd",
    "etc/systemd/system/multi-user.target.wants/systemd-networkd.service -> /lib/systemd/system/systemd-networkd.service",
];

#[test]
fn systems_are_told_by_their_files() {
    use DeliveryProfile::{Coreos, Dracut, Flatcar, InitramfsTools, RootInInitramfs, Unknown};
    let with_nm = [NETWORKD.as_slice(), &["usr/sbin/NetworkManager"]].concat();
    let coreos = [DRACUT.as_slice(), &["etc/coreos-live-initramfs"]].concat();
    let anaconda = [DRACUT.as_slice(), &["usr/lib/anaconda-lib.sh"]].concat();
    for (entries, profile, evidence) in [
        (
            DRACUT.as_slice(),
            Dracut,
            "etc/initrd-release: Fedora Linux 44 dracut-107\nusr/lib/dracut/hooks: made by dracut",
        ),
        (&["usr/lib/dracut/hooks/", "usr/lib/dracut/modules.d/"], Dracut, "made by dracut"),
        (
            &["var/lib/dracut/hooks/", "usr/lib/dracut/hooks -> ../../../var/lib/dracut/hooks"],
            Dracut,
            "var/lib/dracut/hooks: made",
        ),
        (&coreos, Coreos, "CoreOS live system"),
        (&anaconda, Dracut, "lib/anaconda-lib.sh: starts Anaconda"),
        (&INITRAMFS_TOOLS, InitramfsTools, "scripts/live: starts a live system with live-boot"),
        (&["conf/initramfs.conf", "scripts/casper"], InitramfsTools, "casper"),
        (&NETWORKD, DeliveryProfile::Networkd, "systemd-networkd"),
        (&with_nm, RootInInitramfs, "NetworkManager is in it"),
        // A system with dracut installed, to make other initramfs images with.
        (&["init", "usr/lib/dracut/modules.d/99base/", "usr/sbin/NetworkManager"], RootInInitramfs, "init"),
        (&["init", "bin/busybox"], RootInInitramfs, "NetworkManager is not in it"),
        (&["etc/os-release: NAME=x\nID=\"flatcar\"\n"], Flatcar, "flatcar"),
        (&["usr.squashfs", "etc/"], Flatcar, "usr.squashfs"),
        (&["usr.squashfs", "init"], RootInInitramfs, "init"),
        (&["init", "rootfs.sqsh"], DeliveryProfile::Talos, "rootfs.sqsh: a whole system and no shell"),
        (&["init", "rootfs.sqsh", "bin/sh"], RootInInitramfs, "init"),
        (&["init_functions", "hooks/"], Unknown, "mkinitcpio"),
        (&["init", "bin/busybox", "sbin/nlplug-findfs"], Unknown, "sbin/nlplug-findfs: made by Alpine's mkinitfs"),
        // A system of Alpine with mkinitfs installed.
        (&["init", "sbin/nlplug-findfs", "sbin/mkinitfs"], RootInInitramfs, "init"),
        (&["init -> /nix/store/x-stage-1-init.sh", "nix/store/x-stage-1-init.sh"], Unknown, "init: NixOS"),
        (&["etc/initrd-release: ID=arch\n", "usr/lib/systemd/systemd"], Unknown, "not made by dracut"),
    ] {
        let detected = detect(&surveyed(&initramfs(entries)));
        assert_eq!(detected.profile, profile, "{entries:?}");
        let lines = detected.evidence.join("\n");
        assert!(lines.contains(evidence), "{entries:?}: {lines}");
    }
    let odd = initramfs(&["etc/os-release: PRETTY_NAME=\"a\u{1b}[31m\0b\"\n"]);
    assert_eq!(detect(&surveyed(&odd)).evidence.first().unwrap(), "etc/os-release: a[31mb");
}

#[test]
fn talos_takes_no_file() {
    let nothing = planned(DeliveryProfile::Talos, &Additions::default(), &["init", "rootfs.sqsh"]);
    assert!(nothing.archive.is_empty() && nothing.embedded.is_empty());
    assert_eq!(nothing.report.findings().first().map(|finding| finding.code), Some("talos-untested"));
    let without_dhcp = Additions { no_auto_default: true, ..Additions::default() };
    assert!(planned(DeliveryProfile::Talos, &without_dhcp, &["init"]).archive.is_empty());
    let error = members_error(DeliveryProfile::Talos, &["init", "rootfs.sqsh"]);
    assert_eq!(error, DeliveryError::TalosTakesNoFiles("keyfiles"));
    let named = Additions { hostname: Some("node-1".parse().unwrap()), ..Additions::default() };
    let tree = tree(&["init"]);
    let error = members(DeliveryProfile::Talos, &named, None, &tree).unwrap_err();
    assert_eq!(error, DeliveryError::TalosTakesNoFiles("a host name in a file"));
}

#[test]
fn profiles_have_one_name() {
    for profile in DeliveryProfile::ALL {
        assert_eq!(serde_json::to_value(profile).unwrap(), profile.as_str());
        assert_eq!(profile.as_str().parse(), Ok(profile));
    }
    let message = "Dracut".parse::<DeliveryProfile>().unwrap_err().to_string();
    assert!(DeliveryProfile::ALL.iter().all(|profile| message.contains(profile.as_str())), "{message}");
}

#[test]
fn a_system_in_its_initramfs_gets_files_in_their_places_and_no_competition() {
    let profile = DeliveryProfile::RootInInitramfs;
    let base = ["etc/NetworkManager/conf.d/", "usr/sbin/NetworkManager", "srv/"];
    let plain = [
        "etc/NetworkManager/conf.d/99-dayone-no-auto-default.conf",
        "etc/NetworkManager/system-connections",
        "etc/NetworkManager/system-connections/eth0.nmconnection",
        "etc/hostname",
        "srv/it's here",
    ];
    let members = planned(profile, &additions(), &base);
    assert_eq!(paths(&members.archive), plain);
    assert!(members.report.is_empty());
    assert!(!format!("{members:?}").contains(SECRET));

    for (units, masked) in [
        (&["usr/lib/systemd/system/glean@.service", "etc/udev/rules.d/99-glean.rules"][..], "glean@.service"),
        (&["etc/udev/rules.d/99-glean.rules"], "glean@.service"),
        (&["lib/systemd/system/glean-nm@.service"], "glean-nm@.service"),
        (&["etc/systemd/system/glean@.service -> /usr/lib/x"], "glean@.service"),
        (&["usr/lib/systemd/system/dhcp-interface@.service"], "dhcp-interface@.service"),
        (&["etc/udev/rules.d/99-dhcp-all-interfaces.rules"], "dhcp-interface@.service"),
        (&["usr/lib/systemd/system/glean@.service", "etc/udev/rules.d/99-dhcp-all-interfaces.rules"], "glean@.service"),
        (&["etc/udev/rules.d/99-glean.rules", "lib/systemd/system/dhcp-interface@.service"], "dhcp-interface@.service"),
    ] {
        let base = [&base, units].concat();
        let members = planned(profile, &additions(), &base);
        let link = format!("etc/systemd/system/{masked}");
        assert_eq!(unpacked(&members.archive)[&link], ("l 777".to_owned(), "/dev/null".to_owned()));
        assert!(members.embedded.iter().any(|file| file.path == format!("/{link}") && file.size == 9));
        // Without a network of ours, theirs is better than none.
        let without = Additions { keyfiles: vec![], ..additions() };
        assert!(!paths(&planned(profile, &without, &base).archive).contains(&link));
    }
    let codes: Vec<_> = planned(profile, &additions(), &["etc/"]).report.findings().iter().map(|f| f.code).collect();
    assert_eq!(codes, ["no-network-manager"]);
}

#[test]
fn dracut_reads_keyfiles_itself_and_hands_all_files_over() {
    let members = planned(DeliveryProfile::Dracut, &additions(), &DRACUT);
    let unpacked = unpacked(&members.archive);
    let keyfile = format!("[802-1x]\npassword={SECRET}\n");
    for (path, mode, content) in [
        ("etc/NetworkManager/system-connections/eth0.nmconnection", "f 600", keyfile.as_str()),
        ("usr/lib/dayone/root/etc/NetworkManager/system-connections/eth0.nmconnection", "f 600", &keyfile),
        ("usr/lib/dayone/root/etc/hostname", "f 644", "worker-0\n"),
        ("usr/lib/dayone/root/srv/it's here", "f 640", "x"),
        (
            "usr/lib/dayone/files",
            "f 644",
            "/etc/NetworkManager/system-connections/eth0.nmconnection\n\
             /etc/NetworkManager/conf.d/99-dayone-no-auto-default.conf\n/etc/hostname\n/srv/it's here\n",
        ),
        (
            "usr/lib/dayone/labels.conf",
            "f 644",
            "z /etc - - - -\nz /etc/NetworkManager - - - -\nz /etc/NetworkManager/conf.d - - - -\n\
             z /etc/NetworkManager/conf.d/99-dayone-no-auto-default.conf - - - -\n\
             z /etc/NetworkManager/system-connections - - - -\n\
             z /etc/NetworkManager/system-connections/eth0.nmconnection - - - -\nz /etc/hostname - - - -\n\
             z /srv - - - -\nz \"/srv/it's here\" - - - -\n",
        ),
    ] {
        assert_eq!(unpacked[path], (mode.to_owned(), content.to_owned()), "{path}");
    }
    assert_eq!(unpacked["usr/lib/dracut/hooks/pre-pivot/90-dayone.sh"].0, "f 755");
    let shown = |by| members.embedded.iter().filter(move |file| file.delivered_by == by).map(|file| file.path.as_str());
    assert_eq!(
        shown(DeliveredBy::Handover).collect::<Vec<_>>(),
        [
            "/etc/NetworkManager/system-connections/eth0.nmconnection",
            "/etc/NetworkManager/conf.d/99-dayone-no-auto-default.conf",
            "/etc/hostname",
            "/srv/it's here",
        ]
    );
    assert!(shown(DeliveredBy::Initramfs).any(|path| path == "/usr/lib/dayone/deliver"));
    assert!(!shown(DeliveredBy::Initramfs).any(|path| path.contains("/root/")), "the files are shown once");
    assert!(members.report.is_empty());
}

#[test]
fn what_dracut_lacks_decides_what_it_gets() {
    // Nothing reads keyfiles there: an empty directory would even keep it from DHCP.
    let newer = ["var/lib/dracut/hooks/pre-pivot/", "lib/dracut/hooks -> ../../var/lib/dracut/hooks", "usr/"];
    let members = planned(DeliveryProfile::Dracut, &additions(), &newer);
    let paths = paths(&members.archive);
    assert!(!paths.iter().any(|path| path.starts_with("etc/")), "{paths:?}");
    assert!(paths.contains(&"var/lib/dracut/hooks/pre-pivot/90-dayone.sh".to_owned()), "{paths:?}");
    assert_eq!(members.report.findings().first().unwrap().code, "network-manager-assumed");
    // A changed medium no longer has a checksum.
    let drop_in = "etc/systemd/system/checkisomd5@.service.d/dayone.conf".to_owned();
    assert!(!paths.contains(&drop_in));
    for unit in ["etc/systemd/system/checkisomd5@.service", "usr/lib/systemd/system/checkisomd5@.service"] {
        let members = planned(DeliveryProfile::Dracut, &additions(), &[DRACUT.as_slice(), &[unit]].concat());
        assert!(unpacked(&members.archive)[&drop_in].1.contains("SuccessExitStatus=1 2"));
    }
    // Through the link, into the directory that is there.
    let linked = planned(DeliveryProfile::Dracut, &additions(), &["a/dracut/hooks/pre-pivot/", "lib -> a", "usr/"]);
    assert!(unpacked(&linked.archive).contains_key("a/dracut/hooks/pre-pivot/90-dayone.sh"));
    // Nothing to deliver, nothing delivered.
    assert!(planned(DeliveryProfile::Dracut, &Additions::default(), &DRACUT).archive.is_empty());
    let error = members_error(DeliveryProfile::Dracut, &["etc/"]);
    assert!(matches!(error, DeliveryError::OtherSystem { .. }), "{error}");
}

fn members_error(profile: DeliveryProfile, entries: &[&str]) -> DeliveryError {
    members(profile, &additions(), None, &tree(entries)).unwrap_err()
}

#[test]
fn initramfs_tools_hands_files_over() {
    let members = planned(DeliveryProfile::InitramfsTools, &additions(), &INITRAMFS_TOOLS);
    let paths = paths(&members.archive);
    assert_eq!(
        paths.iter().filter(|path| !path.starts_with("usr/")).collect::<Vec<_>>(),
        ["conf/conf.d", "conf/conf.d/zz-dayone"]
    );
    assert!(paths.contains(&"usr/lib/dayone/root/etc/hostname".to_owned()));
    assert_eq!(members.report.findings().first().unwrap().code, "network-manager-assumed");
    for without in ["conf/initramfs.conf", "usr/bin/cp"] {
        let entries: Vec<&str> = INITRAMFS_TOOLS.into_iter().filter(|entry| *entry != without).collect();
        let error = members_error(DeliveryProfile::InitramfsTools, &entries);
        assert!(matches!(error, DeliveryError::OtherSystem { .. }), "{error}");
    }
}

#[test]
fn systemd_networkd_gets_units_and_nothing_of_network_managers() {
    let members = planned(DeliveryProfile::Networkd, &with_units(), &NETWORKD);
    assert_eq!(
        paths(&members.archive),
        ["etc/hostname", "etc/systemd/network", "etc/systemd/network/10-eth0.network", "srv", "srv/it's here"]
    );
    assert_eq!(unpacked(&members.archive)["etc/systemd/network/10-eth0.network"].0, "f 644");
    for profile in [DeliveryProfile::Networkd, DeliveryProfile::Flatcar] {
        assert_eq!(profile.network_files(), NetworkFiles::NetworkdUnits);
        assert_eq!(members_error(profile, &NETWORKD), DeliveryError::NeedsNetworkdUnits);
    }
    // Other systems can be told to take them as well.
    let members = planned(DeliveryProfile::InitramfsTools, &with_units(), &INITRAMFS_TOOLS);
    assert!(paths(&members.archive).contains(&"usr/lib/dayone/root/etc/systemd/network/10-eth0.network".to_owned()));
}

#[test]
fn flatcar_gets_an_ignition_config_with_the_units() {
    let members = planned(DeliveryProfile::Flatcar, &with_units(), &["usr.squashfs"]);
    let unpacked = unpacked(&members.archive);
    assert_eq!(unpacked.keys().collect::<Vec<_>>(), ["usr", "usr/share", "usr/share/oem", "usr/share/oem/config.ign"]);
    let (mode, config) = &unpacked["usr/share/oem/config.ign"];
    assert_eq!(mode, "f 600");
    assert!(config.contains("/etc/systemd/network/10-eth0.network") && !config.contains("NetworkManager"), "{config}");
    assert!(members.embedded.iter().any(|file| file.delivered_by == DeliveredBy::Ignition));
}

#[test]
fn what_a_system_cannot_take_is_refused() {
    let keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDvSCYUhGduzFdqUcE1zxjdSIlvJN/I3Vknp8ot8UKId"];
    let keys = Additions { ssh_authorized_keys: serde_json::from_value(json!(keys)).unwrap(), ..with_units() };
    let units = json!([{"name": "x.service", "contents": "[Unit]\n"}]);
    let units = Additions { units: serde_json::from_value(units).unwrap(), ..with_units() };
    let user = UserConfig::parse(br#"{"ignition": {"version": "3.2.0"}}"#).unwrap();
    let tree = tree(&[DRACUT.as_slice(), &INITRAMFS_TOOLS].concat());
    for profile in DeliveryProfile::ALL {
        for (additions, user) in [(&keys, None), (&units, None), (&with_units(), Some(&user))] {
            let result = members(profile, additions, user, &tree);
            match profile {
                DeliveryProfile::Unknown => assert_eq!(result.unwrap_err(), DeliveryError::UnknownSystem),
                DeliveryProfile::Talos => {
                    assert!(matches!(result, Err(DeliveryError::TalosTakesNoFiles(_))), "{result:?}");
                }
                _ if profile.reads_ignition() => drop(result.unwrap()),
                _ => assert!(matches!(result, Err(DeliveryError::NeedsIgnition { .. })), "{profile}"),
            }
        }
    }
    // What would hide a directory behind a link, or is one.
    for taken in ["/etc", "/lib"] {
        let mut additions = additions();
        additions.files.first_mut().unwrap().path = taken.parse().unwrap();
        additions.hostname = None;
        additions.keyfiles.clear();
        additions.no_auto_default = false;
        let result = members(DeliveryProfile::RootInInitramfs, &additions, None, &tree);
        assert!(matches!(result, Err(DeliveryError::Placement(PlacementError::Directory(_)))), "{taken}: {result:?}");
    }
}

/// Each comes with a file that only that installer reads.
#[test]
fn a_completed_answer_file_is_for_its_installer_alone() {
    let planned = |path: &str, profile, tree: &Tree| {
        let file = json!([{"path": path, "mode": "0755", "contents": ""}]);
        let additions = Additions { files: serde_json::from_value(file).unwrap(), ..Additions::default() };
        (members(profile, &additions, None, tree), embed_area(&additions, None, true).unwrap_err())
    };
    let debian = tree(&["init", "lib/debian-installer-startup.d/S10syslog"]);
    let anaconda = tree(&[DRACUT.as_slice(), &["usr/lib/anaconda-lib.sh"]].concat());
    let agama = tree(&[DRACUT.as_slice(), &["usr/lib/dracut/hooks/cmdline/99-agama-cmdline-conf.sh"]].concat());
    let casper = tree(&[INITRAMFS_TOOLS.as_slice(), &["scripts/casper"]].concat());
    let others = [tree(&["init"]), tree(&DRACUT), tree(&INITRAMFS_TOOLS)];
    for (path, profile, own, foreign, installer) in [
        (PRESEED_PROGRAM, DeliveryProfile::RootInInitramfs, &debian, &anaconda, Installer::Preseed),
        (KICKSTART_FILE, DeliveryProfile::Dracut, &anaconda, &debian, Installer::Kickstart),
        (AUTOINSTALL_FILE, DeliveryProfile::InitramfsTools, &casper, &anaconda, Installer::Autoinstall),
        (AGAMA_FILE, DeliveryProfile::Dracut, &agama, &anaconda, Installer::Agama),
    ] {
        assert!(planned(path, profile, own).0.is_ok(), "{path}");
        for other in others.iter().chain([foreign]) {
            let (refused, of_coreos) = planned(path, profile, other);
            assert_eq!([refused.unwrap_err(), of_coreos], [not_the_installer(installer), not_the_installer(installer)]);
        }
    }
    // Elsewhere the file would not be where the kernel argument says.
    let (refused, _) = planned(KICKSTART_FILE, DeliveryProfile::RootInInitramfs, &anaconda);
    assert_eq!(refused.unwrap_err(), not_the_installer(Installer::Kickstart));
    let file = "usr/lib/dayone/root/usr/lib/dayone/host.ks";
    let (planned, _) = planned(KICKSTART_FILE, DeliveryProfile::Dracut, &anaconda);
    assert!(paths(&planned.unwrap().archive).contains(&file.to_owned()));
    assert_eq!(KICKSTART_ARGUMENT, format!("inst.ks=file:/{file}"));
}
