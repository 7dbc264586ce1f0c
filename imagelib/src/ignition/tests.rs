mod conflicts;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDvSCYUhGduzFdqUcE1zxjdSIlvJN/I3Vknp8ot8UKId ops@example";
const SECRET: &str = "tops3cret";

fn additions() -> Additions {
    let keyfile = json!({"name": "eth0.nmconnection", "content": format!("[802-1x]\npassword={SECRET}\n")});
    serde_json::from_value(json!({
        "keyfiles": [keyfile],
        "no_auto_default": true,
        "hostname": "worker-0",
        "ssh_authorized_keys": [ED25519],
        "files": [{"path": "/etc/motd", "contents": "dG9wczNjcmV0"}, {"path": "/etc/empty", "mode": "0600", "contents": ""}],
        "units": [{"name": "check.service", "enabled": true, "contents": format!("[Service]\nEnvironment=X={SECRET}\n")}],
    }))
    .unwrap()
}

fn user(value: &Value) -> Result<UserConfig, IgnitionError> {
    UserConfig::parse(value.to_string().as_bytes())
}

/// A user's config of spec 3.2.0 with these members.
fn user_with(members: &Value) -> UserConfig {
    let mut value = json!({"ignition": {"version": "3.2.0"}});
    value.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    user(&value).unwrap()
}

fn merged(additions: &Additions, user: Option<&UserConfig>) -> Value {
    let bytes = config(additions, user).unwrap();
    let (_, warnings) = ignition_config::Config::parse_slice(&bytes).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    serde_json::from_slice(&bytes).unwrap()
}

fn refused(additions: &Additions, members: &Value) -> String {
    config(additions, Some(&user_with(members))).unwrap_err().to_string()
}

#[test]
fn additions_alone_are_a_config_of_the_oldest_spec_that_all_read() {
    let expected = include_str!("../../../fixtures/ignition/additions.ign");
    assert_eq!(String::from_utf8(config(&additions(), None).unwrap()).unwrap(), expected.trim_end());
    merged(&additions(), None);
    assert_eq!(config(&Additions::default(), None).unwrap(), br#"{"ignition":{"version":"3.2.0"}}"#);
    assert!(Additions::default().is_empty() && !additions().is_empty());
}

#[test]
fn owners_and_networkd_units_are_said_where_there_are_any() {
    let added = json!({
        "networkd_units": [{"name": "10-eth0.network", "content": "[Match]\nName=eth0\n"}],
        "files": [
            {"path": "/srv/a", "user": 1000, "group": 100, "contents": ""},
            {"path": "/srv/b", "group": 5, "contents": ""},
            {"path": "/srv/c", "contents": ""},
        ],
    });
    let added: Additions = serde_json::from_value(added).unwrap();
    let merged = merged(&added, None);
    let files = merged["storage"]["files"].as_array().unwrap();
    let owner = |file: &Value| (file["path"].clone(), file["user"]["id"].clone(), file["group"]["id"].clone());
    assert_eq!(
        files.iter().map(owner).collect::<Vec<_>>(),
        [
            (json!("/etc/systemd/network/10-eth0.network"), Value::Null, Value::Null),
            (json!("/srv/a"), json!(1000), json!(100)),
            (json!("/srv/b"), Value::Null, json!(5)),
            (json!("/srv/c"), Value::Null, Value::Null),
        ]
    );
    // Recipes that use neither are written as they were before there was either.
    let json = serde_json::to_string(&additions()).unwrap();
    assert!(!json.contains("user\"") && !json.contains("group\"") && !json.contains("networkd"), "{json}");
    assert_eq!(serde_json::from_value::<Additions>(serde_json::to_value(&added).unwrap()).unwrap(), added);
}

#[test]
fn the_users_config_is_kept_as_it_is() {
    let value = json!({
        "ignition": {"version": "3.3.0", "timeouts": {"httpTotal": 3}, "config": {"merge": [{"source": "https://a/b"}]}},
        "kernelArguments": {"shouldExist": ["quiet"]},
        "passwd": {"users": [{"name": "other"}, {"name": "core", "passwordHash": "x", "sshAuthorizedKeys": ["ssh-rsa A"]}]},
        "storage": {"files": [{"path": "/etc/a", "mode": 420}], "directories": [{"path": "/etc"}], "links": null},
        "systemd": null,
    });
    let result = merged(&additions(), Some(&user(&value).unwrap()));
    for pointer in ["/ignition", "/kernelArguments", "/passwd/users/0", "/storage/files/0", "/storage/directories"] {
        assert_eq!(result.pointer(pointer), value.pointer(pointer), "{pointer}");
    }
    let core = json!({"name": "core", "passwordHash": "x", "sshAuthorizedKeys": ["ssh-rsa A", ED25519]});
    assert_eq!(result["passwd"]["users"][1], core);
    assert_eq!(result["storage"]["files"].as_array().unwrap().len(), 6);
    assert_eq!(result["storage"]["files"][1]["path"], "/etc/NetworkManager/system-connections/eth0.nmconnection");
    assert_eq!(result["systemd"]["units"][0]["name"], "check.service");
    // Twice the same keys is once.
    let again = user(&result).unwrap();
    let keys_only = Additions { ssh_authorized_keys: additions().ssh_authorized_keys, ..Additions::default() };
    assert_eq!(merged(&keys_only, Some(&again)), result);
}

#[test]
fn versions_rise_only_as_far_as_they_must() {
    for (given, written) in [("3.0.0", "3.2.0"), ("3.1.0", "3.2.0"), ("3.2.0", "3.2.0"), ("3.6.0", "3.6.0")] {
        let user = user(&json!({"ignition": {"version": given}})).unwrap();
        assert_eq!(user.version(), given);
        assert_eq!(merged(&additions(), Some(&user))["ignition"]["version"], written);
    }
    // With spec 3.2.0, Ignition would encrypt the disk.
    let luks = json!({"ignition": {"version": "3.1.0"}, "storage": {"luks": [{"name": "a", "device": "/dev/sda"}]}});
    let user = user(&luks).unwrap();
    assert_eq!(user.unused_keys(), ["$.storage.luks"]);
    let bytes = config(&additions(), Some(&user)).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap()["ignition"]["version"], "3.1.0");
    let mut special = additions();
    special.files[0].mode = "4755".parse().unwrap();
    assert_eq!(merged(&special, None)["ignition"]["version"], "3.4.0");
    assert!(refused(&special, &json!({})).contains("mode 4755 of /etc/motd needs spec 3.4.0"));
}

#[test]
fn what_both_write_is_an_error_that_names_it() {
    let keyfile = "/etc/NetworkManager/system-connections/eth0.nmconnection";
    for list in ["files", "links", "directories"] {
        let node = if list == "links" { json!({"path": keyfile, "target": "/x"}) } else { json!({"path": keyfile}) };
        let storage = json!({"storage": {list: [node]}});
        assert!(refused(&additions(), &storage).contains(keyfile), "{list}");
    }
    let file = |path: &str| json!({"storage": {"files": [{"path": path}]}});
    for path in
        ["/etc/hostname", "/etc/motd", "/etc/motd/beneath", "/etc/NetworkManager", "/etc/systemd/system/check.service"]
    {
        assert!(refused(&additions(), &file(path)).contains(&format!("has {path}, too")), "{path}");
    }
    let link = json!({"storage": {"links": [{"path": "/etc/NetworkManager/system-connections", "target": "/run/x"}]}});
    assert!(refused(&additions(), &link).contains("system-connections, too"));
    let unit = json!({"systemd": {"units": [{"name": "check.service", "enabled": false}]}});
    assert!(refused(&additions(), &unit).contains("check.service"));
    // Ignition writes units and drop-ins as files. From 2.15 on, it refuses a config with another file in such a place; before, the unit won.
    let drop_in = json!([{"name": "a.conf", "contents": "[Unit]\n"}, {"name": "empty.conf", "contents": ""}]);
    let units = json!({"units": [{"name": "a.service", "contents": "[Unit]\n", "dropins": drop_in}]});
    let mut placed = additions();
    for path in ["a.service", "a.service/beneath", "a.service.d/a.conf", "a.service.d/a.conf/beneath"] {
        placed.files[0].path = format!("/etc/systemd/system/{path}").parse().unwrap();
        let other = path.trim_end_matches("/beneath");
        let error = refused(&placed, &json!({ "systemd": units }));
        assert!(error.contains(&format!("the Ignition config has /etc/systemd/system/{other}, too")), "{error}");
    }
    placed.files[0].path = "/etc/systemd/system/a.service.d/empty.conf".parse().unwrap();
    config(&placed, Some(&user_with(&json!({ "systemd": units })))).unwrap();
    let twice = json!({"systemd": units, "storage": {"files": [{"path": "/etc/systemd/system/a.service.d/a.conf"}]}});
    assert!(refused(&additions(), &twice).contains("a.service.d/a.conf is in the Ignition config twice"));
    // Neither a similar path nor a directory above is a conflict.
    config(&additions(), Some(&user_with(&file("/etc/motd2")))).unwrap();
    config(&additions(), Some(&user_with(&json!({"storage": {"directories": [{"path": "/etc/NetworkManager"}]}}))))
        .unwrap();
}

#[test]
fn additions_that_contradict_each_other_are_refused() {
    let mut twice = additions();
    twice.files[0].path = "/etc/hostname".parse().unwrap();
    assert!(config(&twice, None).unwrap_err().to_string().contains("the request has /etc/hostname, too"));
    assert_eq!(files(&twice), config(&twice, None).map(|_| Vec::new()));
    assert_eq!(files(&additions()).unwrap().len(), 5);
    let mut units = additions();
    units.units.push(units.units[0].clone());
    assert_eq!(config(&units, None), Err(IgnitionError::UnitConflict("check.service".into())));
}

#[test]
fn configs_that_ignition_would_refuse_or_that_drop_the_network_are_refused() {
    let parse = |text: &str| UserConfig::parse(text.as_bytes()).unwrap_err();
    assert_eq!(parse("{}"), IgnitionError::VersionMissing);
    assert!(
        matches!(parse("variant: fcos\nversion: 1.4.0\n"), IgnitionError::Invalid { place, .. } if place == "line 1, column 1")
    );
    assert!(matches!(parse("[]"), IgnitionError::Shape(_)));
    for version in ["2.2.0", "3.7.0-experimental", "3.9.0", "1", "3.2"] {
        let config = json!({"ignition": {"version": version}});
        assert_eq!(user(&config).unwrap_err(), IgnitionError::Version(version.into()));
    }
    let replace = json!({"ignition": {"version": "3.2.0", "config": {"replace": {"source": "https://a/b"}}}});
    assert_eq!(user(&replace).unwrap_err(), IgnitionError::Replace);
    for path in ["etc/motd", "/etc/../motd", "/etc//motd", "/etc/motd/"] {
        let config = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": path}]}});
        assert_eq!(user(&config).unwrap_err(), IgnitionError::Path(path.into()));
    }
    let same = json!({"files": [{"path": "/a"}], "links": [{"path": "/a", "target": "/b"}]});
    let config = json!({"ignition": {"version": "3.2.0"}, "storage": same});
    assert_eq!(user(&config).unwrap_err(), IgnitionError::Duplicate("/a".into()));
    let config =
        json!({"ignition": {"version": "3.2.0"}, "systemd": {"units": [{"name": "a.service"}, {"name": "a.service"}]}});
    assert_eq!(user(&config).unwrap_err(), IgnitionError::Duplicate("a.service".into()));
    let config = json!({"ignition": {"version": "3.2.0"}, "systemd": {"units": [{"name": "/etc/hostname"}]}});
    assert_eq!(user(&config).unwrap_err(), IgnitionError::Unit("/etc/hostname".into()));
    for members in [json!({"storage": {"files": [{}]}}), json!({"passwd": 1}), json!({"systemd": {"units": {}}})] {
        let mut config = json!({"ignition": {"version": "3.2.0"}});
        config.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        assert!(matches!(user(&config), Err(IgnitionError::Invalid { .. })), "{config}");
    }
}

#[test]
fn lists_in_place_of_objects_are_refused() {
    for text in [
        r#"{"ignition": {"version": "3.2.0"}, "storage": [[{"path": "/a"}], [], [], [], [], [], []]}"#,
        r#"{"ignition": {"version": "3.2.0"}, "passwd": [[], []]}"#,
        r#"{"ignition": {"version": "3.2.0"}, "systemd": {"units": [[null, null, null, null, "a.service"]]}}"#,
    ] {
        let result = UserConfig::parse(text.as_bytes()).and_then(|user| config(&additions(), Some(&user)));
        assert!(matches!(result, Err(IgnitionError::Shape(_) | IgnitionError::Invalid { .. })), "{text}");
    }
}

#[test]
fn errors_name_the_place() {
    let config = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/a"}, {"path": "/b", "mode": "0644"}]}});
    let error = user(&config).unwrap_err().to_string();
    assert!(error.starts_with("the Ignition config is not valid at storage.files[1].mode: "), "{error}");
}

#[test]
fn a_users_config_is_stored_as_it_is_and_checked_when_it_is_read() {
    let value = json!({"ignition": {"version": "3.4.0"}, "z": null, "passwd": {}});
    let user: UserConfig = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_string(&user).unwrap(), value.to_string());
    assert!(serde_json::from_value::<UserConfig>(json!({"ignition": {"version": "2.2.0"}})).is_err());
}

/// A config that its recipe could not contain would fail only when somebody reads the recipe.
#[test]
fn a_config_that_is_nested_too_deeply_is_refused() {
    let nested = |levels: usize| {
        let inner = "[".repeat(levels - 1) + &"]".repeat(levels - 1);
        UserConfig::parse(format!(r#"{{"ignition": {{"version": "3.2.0"}}, "x": {inner}}}"#).as_bytes())
    };
    for too_deep in [126, 127, 128, 1000] {
        assert_eq!(nested(too_deep).unwrap_err(), IgnitionError::TooDeep(125));
    }
    let json = serde_json::to_string(&nested(125).unwrap()).unwrap();
    let recipe = format!(r#"{{"recipe": {{"ignition": {json}}}}}"#);
    assert!(serde_json::from_str::<serde_json::Value>(&recipe).is_ok());
}

#[test]
fn a_config_with_too_many_values_is_refused() {
    let with = |count: usize| {
        let lists = "[0],".repeat(count);
        format!(r#"{{"ignition": {{"version": "3.2.0"}}, "x": [{lists}0]}}"#)
    };
    assert!(UserConfig::parse(with(40_000).as_bytes()).is_ok());
    let more = with(50_000);
    assert_eq!(UserConfig::parse(more.as_bytes()).unwrap_err(), IgnitionError::TooManyValues(100_000));
    // An image that was made before there was a limit is still read.
    assert!(serde_json::from_str::<UserConfig>(&more).is_ok());
}

#[test]
fn misspelt_keys_are_told() {
    let user = user_with(&json!({"storage": {"files": [{"path": "/a", "contnets": {}}]}}));
    assert_eq!(user.unused_keys(), ["$.storage.files.0.contnets"]);
}

#[test]
fn no_secret_is_shown() {
    let shown = format!("{:?} {:?}", additions(), user_with(&json!({"passwd": {"users": [{"name": SECRET}]}})));
    assert!(!shown.contains(SECRET) && shown.contains("/etc/motd") && shown.contains("3.2.0"), "{shown}");
    let errors = [
        user(&json!({"ignition": {"version": "3.2.0"}, "storage": SECRET})).unwrap_err(),
        user(&json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/a", "mode": SECRET}]}}))
            .unwrap_err(),
    ];
    assert!(!format!("{errors:?} {}", errors[1]).contains(SECRET), "{errors:?}");
    let file = serde_json::from_value::<ExtraFile>(json!({"path": "/a", "contents": format!("{SECRET}!")}));
    assert!(!file.unwrap_err().to_string().contains(SECRET));
}

#[test]
fn additions_have_a_form_for_apis() {
    let value = serde_json::to_value(additions()).unwrap();
    assert_eq!(value["files"][0], json!({"path": "/etc/motd", "mode": "0644", "contents": "dG9wczNjcmV0"}));
    assert_eq!(serde_json::from_value::<Additions>(value).unwrap(), additions());
    assert_eq!(serde_json::from_value::<Additions>(json!({})).unwrap(), Additions::default());
    for bad in [
        json!({"hostnames": "a"}),
        json!({"hostname": "a b"}),
        json!({"ssh_authorized_keys": ["ssh-rsa"]}),
        json!({"files": [{"path": "motd", "contents": ""}]}),
        json!({"files": [{"path": "/motd", "mode": 420, "contents": ""}]}),
        json!({"units": [{"name": "a"}]}),
    ] {
        assert!(serde_json::from_value::<Additions>(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn values_are_what_their_names_say() {
    for bad in ["", "/", "etc", "/etc/", "/a/../b", "/a\nb"] {
        assert!(bad.parse::<AbsolutePath>().is_err(), "{bad:?}");
    }
    for (text, bits) in [("0644", 0o644), ("600", 0o600), ("07777", 0o7777)] {
        assert_eq!(text.parse::<FileMode>().unwrap().bits(), bits);
    }
    for bad in ["", "8", "10000", "+644", "0o644", "644 "] {
        assert!(bad.parse::<FileMode>().is_err(), "{bad:?}");
    }
    for good in ["a.service", "getty@tty1.service", r"dev-disk-by\x2dlabel-x.mount"] {
        assert!(good.parse::<UnitName>().is_ok(), "{good}");
    }
    for bad in ["", "service", ".service", "a.conf", "../a.service", "a b.service", "a.service/b"] {
        assert!(bad.parse::<UnitName>().is_err(), "{bad:?}");
    }
}

#[test]
fn ssh_keys_are_whole_public_keys() {
    let with_options = format!("from=\"10.0.0.0/8, x\",no-pty {ED25519}");
    let bare = ED25519.trim_end_matches(" ops@example");
    for good in [ED25519, &with_options, bare, &format!("{ED25519}\n")] {
        assert_eq!(good.parse::<SshPublicKey>().unwrap().as_str(), good.trim());
    }
    let kind_changed = ED25519.replacen("ssh-ed25519", "ssh-rsa", 1);
    for bad in ["", "ssh-ed25519", &ED25519[..60], &bare[..bare.len() - 4], &kind_changed, &ED25519[12..]] {
        assert_eq!(bad.parse::<SshPublicKey>(), Err(SshPublicKeyError::NotAKey), "{bad:?}");
    }
    assert_eq!(format!("{ED25519}\n{ED25519}").parse::<SshPublicKey>(), Err(SshPublicKeyError::Lines));
    let private = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA";
    assert_eq!(private.parse::<SshPublicKey>(), Err(SshPublicKeyError::Private));
}

proptest! {
    #[test]
    fn arbitrary_text_does_no_harm(text in ".{0,200}") {
        drop(UserConfig::parse(text.as_bytes()));
        drop(text.parse::<SshPublicKey>());
    }

    #[test]
    fn mutated_configs_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = config(&additions(), None).unwrap();
        for (index, value) in changes {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(user) = UserConfig::parse(&bytes) {
            drop(config(&additions(), Some(&user)));
        }
    }
}
