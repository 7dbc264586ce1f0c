//! Ignition fails at a file that it cannot write, and the boot with it.

use serde_json::Value;

use super::*;

fn with_file(path: &str) -> Additions {
    let files = serde_json::from_value(json!([{"path": path, "contents": ""}])).unwrap();
    Additions { files, ..Additions::default() }
}

/// Ignition 2.14 fails at each of these over a squashfs whose `/etc` and `/var` are in memory, and whose links are those of `rpm-ostree`.
#[test]
fn a_file_at_a_place_that_is_read_only_is_refused() {
    let coreos = tree(&["etc/coreos-live-initramfs"]);
    let taken = |additions: &Additions, config: Option<&UserConfig>| {
        let iso = embed_area(additions, config, true).map(drop);
        assert_eq!(members(DeliveryProfile::Coreos, additions, config, &coreos).map(drop), iso);
        iso
    };
    for path in
        ["/usr/bin/x", "/usr/local", "/bin/x", "/boot/x", "/run/x", "/tmp/x", "/dev/x", "/media/x", "/x", "/etcetera/x"]
    {
        let error = taken(&with_file(path), None).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("dayone cannot deliver {path}: a live CoreOS is read-only there")),
            "{error}"
        );
    }
    for path in
        ["/etc/x", "/var/x", "/home/core/x", "/mnt/x", "/opt/bin/x", "/root/x", "/srv/run/x", "/usr/local/bin/x"]
    {
        taken(&with_file(path), None).unwrap();
    }
    // What the user's own config writes fails as well, and so does what that merges.
    let user = |config: &Value| {
        let config = json!({"ignition": {"version": "3.3.0"}, "storage": config});
        let source = format!("data:,{}", config.to_string().replace('"', "%22"));
        let merging = json!({"ignition": {"version": "3.3.0", "config": {"merge": [{"source": source}]}}});
        [config, merging].map(|config| UserConfig::parse(config.to_string().as_bytes()).unwrap())
    };
    for (storage, is_taken) in [
        (json!({"files": [{"path": "/usr/bin/x"}]}), false),
        (json!({"links": [{"path": "/boot/x", "target": "/etc/x"}]}), false),
        (json!({"directories": [{"path": "/usr/share"}]}), true),
        (json!({"files": [{"path": "/boot/x"}], "filesystems": [{"device": "/dev/sda1", "path": "/boot"}]}), true),
        (json!({"files": [{"path": "/boots/x"}], "filesystems": [{"device": "/dev/sda1", "path": "/boot"}]}), false),
    ] {
        for config in user(&storage) {
            let result = taken(&Additions::default(), Some(&config));
            assert_eq!(!matches!(result, Err(DeliveryError::ReadOnly { .. })), is_taken, "{storage}: {result:?}");
        }
    }
}

/// <https://github.com/flatcar/Flatcar/issues/434>: the host boots over and over.
#[test]
fn flatcar_has_its_programs_on_a_file_system_that_is_read_only() {
    let flatcar = tree(&["usr.squashfs"]);
    let taken = |path: &str| members(DeliveryProfile::Flatcar, &with_file(path), None, &flatcar);
    for path in ["/usr/server.key", "/bin/x", "/lib/modules/x", "/lib64/x", "/sbin/x"] {
        assert!(matches!(taken(path), Err(DeliveryError::ReadOnly { .. })), "{path}");
    }
    for path in ["/opt/x", "/usr/share/oem/grub.cfg", "/oem/grub.cfg", "/x"] {
        taken(path).unwrap();
    }
}
