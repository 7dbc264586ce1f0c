//! Configs that Ignition would refuse on the host, or in which something else would win.

use std::time::{Duration, Instant};

use base64::prelude::*;

use super::*;

/// A request has room for tens of thousands. To compare each with all others would take minutes.
#[test]
#[expect(clippy::disallowed_methods, reason = "the library has no clock; this test has one")]
fn thousands_of_files_units_and_keys_are_merged_in_seconds() {
    let begun = Instant::now();
    let each = |make: &dyn Fn(u32) -> Value| (0..60_000).map(make).collect::<Vec<_>>();
    let additions: Additions = serde_json::from_value(json!({
        "ssh_authorized_keys": each(&|n| json!(format!("{ED25519}{n}"))),
        "files": each(&|n| json!({"path": format!("/srv/{n}"), "contents": ""})),
        "units": each(&|n| json!({"name": format!("u{n}.service"), "enabled": false, "contents": "[Service]\n"})),
    }))
    .unwrap();
    super::config(&additions, None).unwrap();
    assert_eq!(files(&additions).unwrap().len(), 60_000);
    let mut above = additions;
    above.files[0].path = "/srv/7/beneath/it".parse().unwrap();
    assert!(super::config(&above, None).unwrap_err().to_string().contains("/srv/7"));
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}

/// What a merged config writes wins.
#[test]
fn what_a_merged_config_writes_too_is_an_error_that_names_it() {
    let merging = |config: &Value| {
        let source = format!("data:;base64,{}", BASE64_STANDARD.encode(config.to_string()));
        json!({"ignition": {"version": "3.3.0", "config": {"merge": [{"source": source}]}}})
    };
    let refused = |config: &Value| {
        let user = user(&merging(config)).unwrap();
        super::config(&additions(), Some(&user)).unwrap_err().to_string()
    };
    let keyfile = "/etc/NetworkManager/system-connections/eth0.nmconnection";
    let config = json!({"ignition": {"version": "3.0.0"}, "storage": {"files": [{"path": keyfile}]}});
    let expected = format!("has {keyfile}, too; remove one of them");
    for config in [config.clone(), merging(&config)] {
        let error = refused(&config);
        assert!(error.contains("a config that the Ignition config merges") && error.ends_with(&expected), "{error}");
    }
    let units = json!([{"name": "check.service", "enabled": false}]);
    assert!(refused(&json!({"systemd": {"units": units}})).contains("check.service"));
    // A directory that takes the place of a file is not in the way of what dayone writes below it.
    let at =
        |list: &str| json!({"ignition": {"version": "3.3.0"}, "storage": {list: [{"path": "/etc/NetworkManager"}]}});
    let mut nested = merging(&at("directories"));
    nested["storage"] = at("files")["storage"].clone();
    super::config(&additions(), Some(&user(&merging(&nested)).unwrap())).unwrap();
    // What dayone does not write may be in both.
    let both = json!({"storage": {"directories": [{"path": "/etc/NetworkManager"}], "files": [{"path": "/etc/x"}]}});
    let mut parent = merging(&both);
    parent["storage"] = both["storage"].clone();
    super::config(&additions(), Some(&user(&parent).unwrap())).unwrap();
}

/// As `ignition-validate` 2.14 does.
#[test]
fn entries_that_are_there_twice_are_refused() {
    for (section, list, key) in [
        ("passwd", "users", "name"),
        ("passwd", "groups", "name"),
        ("storage", "disks", "device"),
        ("storage", "filesystems", "device"),
    ] {
        let of = |names: [&str; 2]| json!({section: {list: names.map(|name| json!({key: name}))}});
        let error = refused(&additions(), &of(["a", "a"]));
        assert!(error.starts_with(&format!("{section}.{list}: a is in the Ignition config twice")), "{error}");
        config(&additions(), Some(&user_with(&of(["a", "b"])))).unwrap();
    }
    let keys = |keys: [&str; 2]| json!({"passwd": {"users": [{"name": "me", "sshAuthorizedKeys": keys}]}});
    assert!(refused(&additions(), &keys(["ssh-rsa A", "ssh-rsa A"])).starts_with("an SSH key of me is in"));
    config(&additions(), Some(&user_with(&keys(["ssh-rsa A", "ssh-rsa A b"])))).unwrap();
}

#[test]
fn paths_beneath_a_link_of_the_same_config_are_refused() {
    let storage = |path: &str| {
        let links = json!([{"path": "/a", "target": "/b"}]);
        json!({"storage": {"links": links, "files": [{"path": path}]}})
    };
    let expected = "/a/c/d in the Ignition config is beneath its link /a, which Ignition refuses";
    assert!(refused(&additions(), &storage("/a/c/d")).starts_with(expected));
    config(&additions(), Some(&user_with(&storage("/ab/c")))).unwrap();
}

#[test]
fn the_root_directory_is_a_directory_of_a_config() {
    let root = |list: &str| json!({"ignition": {"version": "3.2.0"}, "storage": {list: [{"path": "/", "mode": 493}]}});
    config(&additions(), Some(&user(&root("directories")).unwrap())).unwrap();
    assert_eq!(user(&root("files")).unwrap_err(), IgnitionError::Path("/".into()));
}

/// The host would stop in its initramfs.
#[test]
fn units_that_ignition_would_refuse_are_refused() {
    let expected = "Ignition would refuse /etc/systemd/system/check.service, and the whole config with it: it has a line \
                    without '='";
    let mut broken = additions();
    broken.units[0].contents = Some(format!("[Service]\n{SECRET}\n"));
    assert_eq!(config(&broken, None).unwrap_err().to_string(), expected);
    for unit in [
        json!({"name": "a.service", "contents": "[Service]\nno value\n"}),
        json!({"name": "a.service", "dropins": [{"name": "a.conf", "contents": "[Service]\nno value\n"}]}),
    ] {
        let error = refused(&additions(), &json!({"systemd": {"units": [unit]}}));
        assert!(error.starts_with("Ignition would refuse /etc/systemd/system/a.service"), "{error}");
    }
}
