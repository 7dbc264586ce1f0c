use super::*;
use vocabulary::network_files::Keyfile;

fn build(spec: &DataSpec) -> DataImage {
    DataImage::build(spec).unwrap()
}

fn text<'a>(image: &'a DataImage, path: &str) -> &'a str {
    std::str::from_utf8(&image.files[&path.parse().unwrap()].content).unwrap()
}

fn paths(image: &DataImage) -> Vec<&str> {
    image.files.keys().map(IsoPath::as_str).collect()
}

fn combustion(script: Option<&'static str>) -> Combustion {
    let keyfile = Keyfile { name: "eth0.nmconnection".parse().unwrap(), content: "[connection]\n".to_owned() };
    let hostname = Some("node-1".parse().unwrap());
    Combustion { keyfiles: vec![keyfile], hostname, script: script.map(Bytes::from), ..Combustion::default() }
}

#[test]
fn a_config_drive_has_what_its_readers_ask_for() {
    let spec = ConfigDrive {
        network_data: Some("{\"links\": []}".into()),
        hostname: Some("node-1".parse().unwrap()),
        publisher: "node-1".to_owned(),
        ..ConfigDrive::default()
    };
    let image = build(&DataSpec::ConfigDrive(spec.clone()));
    assert_eq!(paths(&image), ["openstack/latest/meta_data.json", "openstack/latest/network_data.json"]);
    assert_eq!(text(&image, "openstack/latest/network_data.json"), "{\"links\": []}");
    let meta_data = |image: &DataImage| -> serde_json::Value {
        serde_json::from_str(text(image, "openstack/latest/meta_data.json")).unwrap()
    };
    assert_eq!(meta_data(&image)["hostname"], "node-1");
    assert_eq!(meta_data(&image)["uuid"].as_str().unwrap().len(), 36);
    assert_eq!(image, build(&DataSpec::ConfigDrive(spec.clone())));

    // Another content is another instance.
    for other in [
        ConfigDrive { user_data: Some("#!/bin/sh".into()), ..spec.clone() },
        ConfigDrive { hostname: Some("node-2".parse().unwrap()), ..spec.clone() },
    ] {
        assert_ne!(meta_data(&build(&DataSpec::ConfigDrive(other)))["uuid"], meta_data(&image)["uuid"]);
    }
    let given = "{\"uuid\": \"1\",  \"x\": 1}";
    let image = build(&DataSpec::ConfigDrive(ConfigDrive { meta_data: Some(given.into()), ..spec }));
    assert_eq!(text(&image, "openstack/latest/meta_data.json"), given);
}

#[test]
fn a_seed_of_cloud_init_has_the_files_that_must_be_there() {
    let hostname = Some("123".parse().unwrap());
    let image = build(&DataSpec::NoCloud(NoCloud { hostname, ..NoCloud::default() }));
    assert_eq!(paths(&image), ["meta-data", "user-data"]);
    assert!(text(&image, "meta-data").ends_with("local-hostname: \"123\"\n"), "{}", text(&image, "meta-data"));
    assert!(text(&image, "user-data").starts_with("#cloud-config\n"));
}

#[test]
fn what_readers_would_stumble_over_is_refused() {
    let config = |spec: ConfigDrive| DataSpec::ConfigDrive(spec);
    let seed = |spec: NoCloud| DataSpec::NoCloud(spec);
    let large = Bytes::from(vec![0; (64 << 20) + 1]);
    let mut occupied = combustion(None);
    occupied.files.insert("script".to_owned(), Bytes::new());
    for (spec, reason) in [
        (config(ConfigDrive::default()), "would be empty"),
        (seed(NoCloud::default()), "would be empty"),
        (DataSpec::Combustion(Combustion::default()), "would be empty"),
        (
            config(ConfigDrive { network_data: Some("[psk]".into()), ..ConfigDrive::default() }),
            "network_data.json is not a JSON object",
        ),
        (config(ConfigDrive { meta_data: Some("{}".into()), ..ConfigDrive::default() }), "has no \"uuid\""),
        (
            seed(NoCloud { network_config: Some("psk".into()), ..NoCloud::default() }),
            "network-config is not a YAML mapping",
        ),
        (seed(NoCloud { meta_data: Some("a: psk".into()), ..NoCloud::default() }), "has no instance-id"),
        (config(ConfigDrive { user_data: Some(large), ..ConfigDrive::default() }), "the limit is 64 MiB"),
        (DataSpec::Combustion(occupied), "\"combustion/script\" is on the drive already"),
    ] {
        let message = DataImage::build(&spec).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
        assert!(!message.contains("psk"), "{message}");
    }
}

#[test]
fn a_users_script_is_run_as_it_asks_for() {
    let script = |script| {
        let image = build(&DataSpec::Combustion(combustion(script)));
        text(&image, "combustion/script").to_owned()
    };
    assert!(script(None).starts_with("#!/bin/bash\n# combustion: prepare\n"));
    let own = script(Some("#!/bin/sh\necho\n"));
    assert!(own.contains("# combustion: prepare\n") && own.ends_with("\nexec ./user-script\n"), "{own}");
    assert!(!own.contains("exec ./user-script --prepare"));
    let own = script(Some("#!/bin/sh\n# combustion: network prepare\necho\n"));
    assert!(own.contains("# combustion: prepare network\n") && own.contains("exec ./user-script --prepare\n"), "{own}");
}

#[test]
fn nothing_shows_the_contents() {
    let spec = DataSpec::NoCloud(NoCloud { user_data: Some("password".into()), ..NoCloud::default() });
    let shown = format!("{spec:?} {:?} {:?}", build(&spec), build(&spec).iso().unwrap());
    assert!(!shown.contains("password"), "{shown}");
}
