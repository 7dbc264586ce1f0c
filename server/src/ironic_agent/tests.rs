use bytes::Bytes;
use serde_json::Value;

use super::*;

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDvSCYUhGduzFdqUcE1zxjdSIlvJN/I3Vknp8ot8UKId ops@example";
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMIIB+/=\n-----END CERTIFICATE-----\n";
const SECRET: &str = r#"{"auths":{"a":{"auth":"tops3cret"}}}"#;

fn secret() -> PullSecret {
    PullSecret::from_base64(SECRET.as_bytes()).unwrap()
}

fn certificate() -> IronicCaBundle {
    IronicCaBundle::from_pem(CERTIFICATE.into()).unwrap()
}

fn minimal() -> AgentSettings {
    AgentSettings {
        image: "registry.example.com/ironic-agent:v1".into(),
        ironic_urls: "http://ironic.example.com".into(),
        ..AgentSettings::default()
    }
}

fn rich() -> AgentSettings {
    AgentSettings {
        inspector_urls: "http://inspector.example.com".into(),
        pull_secret: Some(secret()),
        ip_options: "ip=dhcp42".into(),
        proxies: Proxies {
            http: "http://u:tops3cret@proxy:3128".into(),
            https: String::new(),
            no_proxy: "localhost,.example.com".into(),
        },
        ssh_keys: vec![KEY.parse().unwrap(), KEY.parse().unwrap()],
        ca_bundle: Some(Bytes::new()),
        registries_conf: Some(Bytes::from("I am registry")),
        ..minimal()
    }
}

const NO_HOST: AgentHost<'_> = AgentHost { hostname: None, has_network_data: false, keyfiles: 0 };
const MY_HOST: AgentHost<'_> = AgentHost { hostname: Some("my-host"), has_network_data: false, keyfiles: 0 };

/// The whole config, after it was read and written.
fn config(settings: &AgentSettings, host: &AgentHost<'_>) -> Value {
    let config = ignition(settings, host).unwrap();
    assert_eq!(config.unused_keys(), [""; 0]);
    serde_json::to_value(config).unwrap()
}

fn refused(settings: &AgentSettings, host: &AgentHost<'_>) -> String {
    ignition(settings, host).unwrap_err().to_string()
}

fn paths(config: &Value) -> Vec<&str> {
    config["storage"]["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect()
}

fn file<'c>(config: &'c Value, path: &str) -> &'c Value {
    config["storage"]["files"].as_array().unwrap().iter().find(|file| file["path"] == path).unwrap()
}

fn text(config: &Value, path: &str) -> String {
    let file = file(config, path);
    let source = file["contents"]["source"].as_str().or(file["append"][0]["source"].as_str()).unwrap();
    let encoded = source.strip_prefix("data:text/plain,").unwrap();
    let plus = encoded.replace('+', "%2B");
    url::form_urlencoded::parse(format!("x={plus}").as_bytes()).next().unwrap().1.into_owned()
}

fn unit(settings: &AgentSettings, host: &AgentHost<'_>) -> String {
    let config = config(settings, host);
    let unit = &config["systemd"]["units"][0];
    assert_eq!((unit["name"].as_str(), unit["enabled"].as_bool()), (Some("ironic-agent.service"), Some(true)));
    unit["contents"].as_str().unwrap().to_owned()
}

/// What the unit of `minimal()` is, with what follows the host name and with the variables before.
fn expected_unit(options: &str, copy_network: bool, hostname: &str, behind: &str) -> String {
    let lines = [
        "[Unit]",
        "Description=Ironic Agent",
        "After=network-online.target",
        "Wants=network-online.target",
        "StartLimitIntervalSec=0",
        "[Service]",
        r#"Environment="HTTP_PROXY=""#,
        r#"Environment="HTTPS_PROXY=""#,
        r#"Environment="NO_PROXY=""#,
        "TimeoutStartSec=0",
        "Restart=on-failure",
        "RestartSec=5",
        "Type=notify",
        "ExecStartPre=/bin/rm -f %t/%n.ctr-id",
        "ExecStart=/bin/podman run --detach --cgroups=no-conmon --sdnotify=conmon --rm --cidfile=%t/%n.ctr-id --privileged --network host --mount type=bind,src=/etc/ironic-python-agent.conf,dst=/etc/ironic-python-agent/ignition.conf --mount type=bind,src=/dev,dst=/dev --mount type=bind,src=/sys,dst=/sys --mount type=bind,src=/run/dbus/system_bus_socket,dst=/run/dbus/system_bus_socket --mount type=bind,src=/,dst=/mnt/coreos --mount type=bind,src=/run/udev,dst=/run/udev --ipc=host --uts=host --env \"IPA_COREOS_IP_OPTIONS=OPTIONS\" --env IPA_COREOS_COPY_NETWORK=COPY --env \"IPA_DEFAULT_HOSTNAME=HOST\"BEHIND --name ironic-agent registry.example.com/ironic-agent:v1",
        "ExecStop=/bin/podman stop --ignore --cidfile=%t/%n.ctr-id",
        "ExecStopPost=/bin/podman rm -f --ignore --cidfile=%t/%n.ctr-id",
        "[Install]",
        "WantedBy=multi-user.target",
        "",
    ];
    let unit = lines.join("\n").replace("OPTIONS\"", &format!("{options}\"")).replace("BEHIND", behind);
    unit.replace("COPY ", &format!("{copy_network} ")).replace("HOST\"", &format!("{hostname}\""))
}

#[test]
fn the_unit_has_exactly_this_text() {
    assert_eq!(unit(&minimal(), &NO_HOST), expected_unit("", false, "", ""));
    let mut settings = AgentSettings { ip_options: "ip=dhcp6\n".into(), ..minimal() };
    assert_eq!(unit(&settings, &MY_HOST), expected_unit("ip=dhcp6", false, "my-host", ""));
    settings.pull_secret = Some(secret());
    let authfile = " --authfile=/etc/authfile.json";
    assert_eq!(unit(&settings, &MY_HOST), expected_unit("ip=dhcp6", false, "my-host", authfile));
    let copy = AgentHost { keyfiles: 1, ..MY_HOST };
    assert_eq!(unit(&settings, &copy), expected_unit("ip=dhcp6", true, "my-host", authfile));
    settings.ironic_ca_bundle = Some(certificate());
    let ca = "/etc/ironic-python-agent/ironic-ca.crt";
    let trust = format!(
        "{authfile} --mount type=bind,src={ca},dst={ca},ro --env REQUESTS_CA_BUNDLE={ca} --env SSL_CERT_FILE={ca}"
    );
    assert_eq!(unit(&settings, &copy), expected_unit("ip=dhcp6", true, "my-host", &trust));
}

#[test]
fn no_value_becomes_a_directive_or_an_argument() {
    let mut settings = AgentSettings { ip_options: r#"a="b" c\d $HOME 10%"#.into(), ..minimal() };
    settings.proxies.http = r#"http://u:p%41$x"\@proxy"#.into();
    let unit = unit(&settings, &NO_HOST);
    assert!(unit.contains(r#"--env "IPA_COREOS_IP_OPTIONS=a=\"b\" c\\d $$HOME 10%%" --env"#), "{unit}");
    assert!(unit.contains("\nEnvironment=\"HTTP_PROXY=http://u:p%%41$x\\\"\\\\@proxy\"\n"), "{unit}");
    let proxies = |proxies| AgentSettings { proxies, ..minimal() };
    for (reason, settings) in [
        ("IP_OPTIONS holds", AgentSettings { ip_options: "a\nExecStart=/bin/b".into(), ..minimal() }),
        ("HTTP_PROXY holds", proxies(Proxies { http: "a\nb".into(), ..Proxies::default() })),
        ("HTTPS_PROXY holds", proxies(Proxies { https: "a\rb".into(), ..Proxies::default() })),
        ("NO_PROXY holds", proxies(Proxies { no_proxy: "a\0b".into(), ..Proxies::default() })),
        ("NO_PROXY is too long", proxies(Proxies { no_proxy: "x".repeat(2026), ..Proxies::default() })),
        ("IRONIC_AGENT_IMAGE holds", AgentSettings { image: "a\nb".into(), ..minimal() }),
        ("\"a iburst\" is neither", AgentSettings { ntp_servers: vec!["a iburst".into()], ..minimal() }),
    ] {
        let error = refused(&settings, &NO_HOST);
        assert!(error.contains(reason), "{reason}: {error}");
    }
    for image in ["--rm", "a b", "a;b", "a$b", "a\"b", "a%b", "'a'", "a\\b"] {
        let error = refused(&AgentSettings { image: image.into(), ..minimal() }, &NO_HOST);
        assert!(error.contains("is not the name of a container image"), "{image}: {error}");
    }
    for image in ["http://example.com/foo:latest", "[2001:db8::1]:5000/a/b_c@sha256:00ff", "localhost/a+b"] {
        ignition(&AgentSettings { image: image.into(), ..minimal() }, &NO_HOST).unwrap();
    }
}

#[test]
fn files_are_in_upstreams_order() {
    let config = config(&minimal(), &NO_HOST);
    let four = [
        "/etc/ironic-python-agent.conf",
        "/etc/NetworkManager/conf.d/clientid.conf",
        "/etc/issue.d/ipa.issue",
        "/etc/motd.d/ipa.motd",
    ];
    assert_eq!(paths(&config), four);
    assert_eq!(config["ignition"]["version"], "3.2.0");
    assert_eq!(config.get("passwd"), None);

    let config = super::tests::config(&rich(), &MY_HOST);
    let eight = [
        "/etc/ironic-python-agent.conf",
        "/etc/authfile.json",
        "/etc/pki/ca-trust/source/anchors/ca.crt",
        "/etc/NetworkManager/conf.d/clientid.conf",
        "/etc/NetworkManager/dispatcher.d/01-hostname",
        "/etc/containers/registries.conf",
        "/etc/issue.d/ipa.issue",
        "/etc/motd.d/ipa.motd",
    ];
    assert_eq!(paths(&config), eight);
    assert_eq!(config["passwd"], json!({"users": [{"name": "core", "sshAuthorizedKeys": [KEY]}]}));

    let settings = AgentSettings {
        ntp_servers: ["ntp.example.com", "", " 192.0.2.1 ", "ntp.example.com"].map(String::from).to_vec(),
        ironic_ca_bundle: Some(certificate()),
        ..rich()
    };
    let config = super::tests::config(&settings, &MY_HOST);
    let all = [&eight[..4], &["/etc/chrony.conf"], &eight[4..], &[IRONIC_CA_PATH]].concat();
    assert_eq!(paths(&config), all);
    assert_eq!(text(&config, "/etc/chrony.conf"), "\nserver ntp.example.com iburst\nserver 192.0.2.1 iburst\n");
    for (path, mode, existing) in [
        ("/etc/ironic-python-agent.conf", 0o644, Some(false)),
        ("/etc/authfile.json", 0o600, Some(false)),
        ("/etc/pki/ca-trust/source/anchors/ca.crt", 0o644, Some(false)),
        ("/etc/NetworkManager/conf.d/clientid.conf", 0o644, Some(false)),
        ("/etc/chrony.conf", 0o644, None),
        ("/etc/NetworkManager/dispatcher.d/01-hostname", 0o744, Some(false)),
        ("/etc/containers/registries.conf", 0o644, Some(true)),
        ("/etc/issue.d/ipa.issue", 0o644, Some(false)),
        ("/etc/motd.d/ipa.motd", 0o644, Some(false)),
        (IRONIC_CA_PATH, 0o644, Some(false)),
    ] {
        let file = file(&config, path);
        assert_eq!((file["mode"].as_u64(), file["overwrite"].as_bool()), (Some(mode), existing), "{path}");
    }
    let registries = AgentSettings { registries_conf: Some(Bytes::new()), ..minimal() };
    assert_eq!(paths(&super::tests::config(&registries, &NO_HOST)), four);
    let empty = AgentHost { hostname: Some(""), ..NO_HOST };
    assert_eq!(paths(&super::tests::config(&minimal(), &empty)), four);
}

#[test]
fn contents_are_data_urls_byte_for_byte() {
    let registries = "\n[[registry]]\n  prefix = \"\"\n  location = \"r.example.com/a-b\" # ü\n";
    let settings = AgentSettings {
        registries_conf: Some(registries.into()),
        ca_bundle: Some(Bytes::from_static(b"\0+\xff~")),
        ..rich()
    };
    let config = config(&settings, &NO_HOST);
    assert_eq!(
        file(&config, "/etc/containers/registries.conf")["contents"]["source"],
        "data:text/plain,%0A%5B%5Bregistry%5D%5D%0A%20%20prefix%20%3D%20%22%22%0A%20%20location%20%3D%20%22r.example.com%2Fa-b%22%20%23%20%C3%BC%0A"
    );
    let ca = "/etc/pki/ca-trust/source/anchors/ca.crt";
    assert_eq!(file(&config, ca)["contents"]["source"], "data:text/plain,%00%2B%FF~");
    assert_eq!(
        file(&config, "/etc/authfile.json")["contents"]["source"],
        "data:;base64,eyJhdXRocyI6eyJhIjp7ImF1dGgiOiJ0b3BzM2NyZXQifX19"
    );
    let client_id = "[connection]\nipv6.dhcp-duid=ll\nipv6.dhcp-iaid=mac";
    assert_eq!(text(&config, "/etc/NetworkManager/conf.d/clientid.conf"), client_id);
}

fn conf(settings: &AgentSettings, host: &AgentHost<'_>) -> String {
    let conf = agent_configuration(settings, host).unwrap();
    assert_eq!(text(&config(settings, host), "/etc/ironic-python-agent.conf"), conf);
    conf
}

#[test]
fn the_agents_configuration_has_the_urls_and_the_inspection_options() {
    let mut settings = AgentSettings {
        ironic_urls: "http://example.com/foo".into(),
        inspector_urls: "http://example.com/bar".into(),
        ..minimal()
    };
    let basic = "\n[DEFAULT]\napi_url = http://example.com:6385/foo\n\
                 inspection_callback_url = http://example.com:5050/bar/v1/continue\n\
                 insecure = True\nenable_vlan_interfaces = all\n";
    assert_eq!(conf(&settings, &NO_HOST), basic);
    let no_vlans = basic.replace("= all", "= ");
    let described = AgentHost { has_network_data: true, ..NO_HOST };
    assert_eq!(conf(&settings, &described), no_vlans);
    for (text, undescribed, of_described) in
        [("Always", "all", "all"), ("NEVER ", "", ""), ("", "all", ""), ("other", "all", "")]
    {
        settings.vlan_interfaces = text.into();
        for (host, vlans) in [(&NO_HOST, undescribed), (&described, of_described)] {
            assert!(conf(&settings, host).contains(&format!("\nenable_vlan_interfaces = {vlans}\n")), "{text}");
        }
    }
    let two = AgentSettings { ironic_urls: "http://192.0.2.1,https://[2001:db8::1]".into(), ..minimal() };
    assert_eq!(
        conf(&two, &NO_HOST),
        "\n[DEFAULT]\napi_url = http://192.0.2.1:6385,https://[2001:db8::1]:6385\n\
         inspection_callback_url = \ninsecure = True\nenable_vlan_interfaces = all\n"
    );
    let dollar = AgentSettings { ironic_urls: "http://a/$x".into(), ..minimal() };
    assert!(conf(&dollar, &NO_HOST).contains("api_url = http://a:6385/$$x\n"));
}

#[test]
fn errors_name_the_missing_setting() {
    let image = AgentSettings { image: " ".into(), ..minimal() };
    assert!(refused(&image, &NO_HOST).starts_with("ironicAgentImage is required"));
    let url = AgentSettings { ironic_urls: ",".into(), ..minimal() };
    assert!(refused(&url, &NO_HOST).starts_with("ironicBaseURL is required"));
    let bad = AgentSettings { ironic_urls: "ironic:tops3cret@x".into(), ..minimal() };
    assert_eq!(refused(&bad, &NO_HOST), AgentError::Urls("IRONIC_BASE_URL").to_string());
    assert!(!refused(&bad, &NO_HOST).contains("tops3cret"));
    let bad = AgentSettings { inspector_urls: "http//x".into(), ..minimal() };
    assert_eq!(ignition(&bad, &NO_HOST), Err(AgentError::Urls("IRONIC_INSPECTOR_BASE_URL")));
}

#[test]
fn ironic_is_verified_with_a_ca_bundle() {
    let with = AgentSettings { ironic_ca_bundle: Some(certificate()), ..minimal() };
    assert!(conf(&with, &NO_HOST).contains(&format!("\ninsecure = False\ncafile = {IRONIC_CA_PATH}\n")));
    assert_eq!(text(&config(&with, &NO_HOST), IRONIC_CA_PATH), CERTIFICATE);
    let files = ramdisk_files(&with, &NO_HOST).unwrap();
    let [configuration, bundle] = &files[..] else { panic!("{files:?}") };
    assert_eq!(configuration.path.as_str(), "/etc/ironic-python-agent.d/90-dayone.conf");
    assert_eq!(configuration.contents, conf(&with, &NO_HOST));
    assert_eq!((bundle.path.as_str(), bundle.contents.as_ref()), (IRONIC_CA_PATH, CERTIFICATE.as_bytes()));
    // A ramdisk that starts the agent needs no image of it.
    let no_image = AgentSettings { image: String::new(), ..minimal() };
    assert_eq!(ramdisk_files(&no_image, &NO_HOST).unwrap().len(), 1);
    let without = config(&minimal(), &NO_HOST).to_string();
    for word in [IRONIC_CA_PATH, "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "cafile"] {
        assert!(!without.contains(word), "{word}");
    }
}

#[test]
fn banners_show_the_settings() {
    let config = config(&rich(), &MY_HOST);
    let (issue, motd) = (text(&config, "/etc/issue.d/ipa.issue"), text(&config, "/etc/motd.d/ipa.motd"));
    for text in [&issue, &motd] {
        assert!(text.contains("Ironic Python Agent") && text.contains("discovery image"), "{text}");
    }
    let shown = ["http://ironic.example.com:6385", "inspector.example.com", "registry.example.com/ironic-agent:v1"];
    for word in shown.into_iter().chain(["my-host", "Useful commands", "journalctl"]) {
        assert!(motd.contains(word), "{word} is not in\n{motd}");
    }
    assert!(!motd.contains("Custom NMState"), "{motd}");
    let described = AgentHost { has_network_data: true, ..NO_HOST };
    let motd = text(&super::tests::config(&minimal(), &described), "/etc/motd.d/ipa.motd");
    assert!(motd.contains("Custom NMState") && !motd.contains("Host name") && !motd.contains("Inspection"), "{motd}");
}

#[test]
fn invalid_host_names_are_refused() {
    let script = "/etc/NetworkManager/dispatcher.d/01-hostname";
    let named = |name| config(&minimal(), &AgentHost { hostname: Some(name), ..NO_HOST });
    let lines = text(&named("worker-0.example.com"), script);
    assert!(lines.starts_with("#!/bin/bash\n"), "{lines}");
    assert!(lines.ends_with("\n    hostnamectl set-hostname --transient -- 'worker-0.example.com'\nfi\n"), "{lines}");
    for bad in ["a'b", "a b", "$(reboot)", "a\nb", "-a", "a..b"] {
        let error = refused(&minimal(), &AgentHost { hostname: Some(bad), ..NO_HOST });
        assert!(error.contains("is not a host name"), "{bad}: {error}");
    }
    // Longer than Linux allows, and a name for Kubernetes.
    let long = format!("worker-0.{}.example.com", "x".repeat(60));
    assert!(text(&named(&long), script).contains("-- 'worker-0'\n"));
    let too_long = AgentHost { hostname: Some(&format!("worker-0.{}'", "x".repeat(62))), ..NO_HOST };
    assert!(refused(&minimal(), &too_long).contains("is not a host name"));
}

#[test]
fn secrets_are_not_shown() {
    let shown = format!("{:?} {:?} {:?}", rich(), rich().proxies, rich().pull_secret);
    assert!(shown.contains("ironic-agent:v1") && !shown.contains("tops3cret"), "{shown}");
}
