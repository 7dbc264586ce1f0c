//! Kernel arguments by which an initramfs of dracut makes profiles beside dayone's, or Ignition takes another config.
//!
//! `nm-initrd-generator` makes them with the priority -100. They match every NIC, unless the argument names one, use DHCP, unless it has
//! addresses, and stay when the root file system starts. With keyfiles in the initramfs, `rd.neednet=1` alone makes none.

use std::collections::BTreeSet;

use crate::delivery::{DeliveryProfile, has_network_manager};
use crate::ignition::Additions;
use crate::initramfs::Tree;
use crate::kernel_arguments::key_of;
use vocabulary::report::{DocumentPath, Report};

/// The keys of the arguments that bring up NICs which the documents do not mention, although the additions keep such NICs down.
pub(crate) fn network_arguments<'a>(
    profile: DeliveryProfile,
    tree: &Tree,
    additions: &Additions,
    arguments: impl Iterator<Item = &'a str>,
) -> BTreeSet<String> {
    if profile != DeliveryProfile::Dracut
        || !additions.no_auto_default
        || additions.keyfiles.is_empty()
        || !has_network_manager(tree)
    {
        return BTreeSet::new();
    }
    let arguments: Vec<&str> = arguments.collect();
    let reads_bootif =
        !arguments.iter().any(|argument| matches!(*argument, "rd.bootif=0" | "rd.bootif=no" | "rd.bootif=off"));
    let makes_profile = |argument: &&&str| {
        let (key, value) = argument.split_once('=').unwrap_or((argument, ""));
        match key {
            "ip" => {
                let method = value.split_once(':').map_or(value, |(_, rest)| rest);
                !matches!(method, "" | "off" | "none")
            }
            "bond" | "bridge" | "team" => true,
            "bootdev" | "rd.ethtool" | "rd.route" | "vlan" => !value.is_empty(),
            "BOOTIF" => reads_bootif && !value.is_empty(),
            _ => false,
        }
    };
    arguments.iter().filter(makes_profile).map(|argument| key_of(argument)).collect()
}

/// Warns about such arguments, whose values may be secret.
pub(crate) fn warn_of_arguments(report: &mut Report, keys: &BTreeSet<String>, path: &DocumentPath) {
    if keys.is_empty() {
        return;
    }
    let keys = keys.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let message = format!(
        "have {keys}, of which the initramfs makes profiles beside dayone's: NICs that the documents do not mention may come up, with \
         DHCP, and bring default routes and name servers"
    );
    report.warning("network-kernel-arguments", path, message);
}

/// The key of the argument by which Ignition takes the config at a URL, if these arguments have one, and so not what dayone delivers to a
/// system of this profile. Ignition looks for it before anything else (`fetchProviderConfig` in its `engine.go`); Flatcar's also knows the
/// keys of earlier releases (`internal-prv-cmdline-backport-flatcar-patch.patch`).
pub(crate) fn config_argument<'a>(
    profile: DeliveryProfile,
    mut arguments: impl Iterator<Item = &'a str>,
) -> Option<&'static str> {
    const KEYS: [&str; 3] = ["ignition.config.url", "flatcar.config.url", "coreos.config.url"];
    let keys = match profile {
        DeliveryProfile::Coreos => &KEYS[..1],
        DeliveryProfile::Flatcar => &KEYS[..],
        _ => &[],
    };
    arguments.find_map(|argument| {
        let (key, url) = argument.split_once('=')?;
        keys.iter().copied().find(|known| *known == key && !url.is_empty())
    })
}

/// Warns about such an argument, whose value may be secret.
pub(crate) fn warn_of_config(report: &mut Report, key: &str, path: &DocumentPath) {
    let message = format!(
        "have {key}: Ignition takes the config there, and ignores the image's, with the host name, files, units and SSH keys"
    );
    report.warning("ignition-config-url", path, message);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpio::Archive;
    use crate::initramfs::survey;

    /// What `nm-initrd-generator` 1.42 does with a keyfile in `/etc/NetworkManager/system-connections`.
    #[test]
    fn arguments_that_make_profiles_are_known() {
        let keyfiles = serde_json::json!([{"name": "eth0.nmconnection", "content": ""}]);
        let keyfiles = serde_json::from_value(keyfiles).unwrap();
        let additions = Additions { keyfiles, no_auto_default: true, ..Additions::default() };
        let mut archive = Archive::new();
        archive.file("usr/sbin/NetworkManager".parse().unwrap(), 0o755, "").unwrap();
        archive.add_parents(0o755).unwrap();
        let tree = survey(&archive.to_bytes(), &[], 0).unwrap().tree;
        let found_in = |tree: &Tree, profile, additions: &Additions, line: &str| {
            network_arguments(profile, tree, additions, line.split(' ')).into_iter().collect::<Vec<_>>().join(" ")
        };
        let found = |profile, additions: &Additions, line: &str| found_in(&tree, profile, additions, line);
        for (line, expected) in [
            ("quiet root=live:CDLABEL=X rd.neednet=1 ifname=eth9:52:54:00:aa:00:01 nameserver=192.0.2.53", ""),
            ("ip=off ip=none ip= ip=eth0:off ip=eth0:none vlan= rd.bootif=0 BOOTIF=01-52-54-00-aa-00-01", ""),
            ("ip=dhcp", "ip"),
            ("ip=eth0:dhcp", "ip"),
            ("ip=off ip=192.0.2.5::192.0.2.1:24::eth0:none", "ip"),
            ("BOOTIF=01-52-54-00-aa-00-01", "BOOTIF"),
            ("bond bridge=br0:eth0 team=team0:eth0", "bond bridge team"),
            ("vlan=eth0.5:eth0 rd.route=192.0.2.0/24:192.0.2.1 bootdev=eth0", "bootdev rd.route vlan"),
        ] {
            assert_eq!(found(DeliveryProfile::Dracut, &additions, line), expected, "{line}");
        }
        assert_eq!(found(DeliveryProfile::Coreos, &additions, "ip=dhcp"), "");
        assert_eq!(
            found_in(&Tree::default(), DeliveryProfile::Dracut, &additions, "ip=dhcp"),
            "",
            "without the generator"
        );
        let with_others = Additions { no_auto_default: false, ..additions };
        assert_eq!(found(DeliveryProfile::Dracut, &with_others, "ip=dhcp"), "");
    }

    #[test]
    fn arguments_that_name_another_config_are_known() {
        const URL: &str = "ignition.config.url";
        for (line, coreos, flatcar) in [
            ("ignition.firstboot ignition.platform.id=metal", None, None),
            ("ignition.config.url= ignition.config.urls=x", None, None),
            ("ignition.firstboot ignition.config.url=https://192.0.2.9/x.ign", Some(URL), Some(URL)),
            ("flatcar.config.url=https://192.0.2.9/x.ign", None, Some("flatcar.config.url")),
            ("coreos.config.url=https://192.0.2.9/x.ign", None, Some("coreos.config.url")),
        ] {
            let found = |profile| config_argument(profile, line.split(' '));
            assert_eq!(found(DeliveryProfile::Coreos), coreos, "{line}");
            assert_eq!(found(DeliveryProfile::Flatcar), flatcar, "{line}");
            assert_eq!(found(DeliveryProfile::Dracut), None, "{line}");
        }
    }
}
