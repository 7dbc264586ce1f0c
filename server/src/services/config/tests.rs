use super::*;

fn config(settings: Settings) -> Result<Config, String> {
    Config::new(settings, None).map_err(|error| error.to_string())
}

#[test]
fn an_api_without_tokens_must_listen_on_loopback() {
    let listen = |address: &str| Settings {
        api_listen: Some(address.parse().unwrap()),
        media_url: Some("http://192.0.2.1:8081".parse().unwrap()),
        ..Settings::default()
    };
    for address in ["127.0.0.1:1", "127.1.2.3:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        assert!(config(listen(address)).is_ok(), "{address}");
    }
    for address in ["0.0.0.0:7", "[::]:7", "192.0.2.1:7", "[::ffff:192.0.2.1]:7"] {
        let error = config(listen(address)).unwrap_err();
        assert!(error.contains("--api-token-file") && error.contains("127.0.0.1:7"), "{error}");
        assert!(Config::new(listen(address), Some("0123456789abcdef")).is_ok());
    }
}

#[test]
fn the_media_url_is_given_or_derived_from_the_address() {
    let listen = |address: &str| Settings { media_listen: Some(address.parse().unwrap()), ..Settings::default() };
    assert!(config(listen("192.0.2.1:80")).is_ok());
    assert!(config(listen("0.0.0.0:80")).unwrap_err().contains("--media-url http://ADDRESS:80"));
    assert!(config(Settings::default()).unwrap_err().contains("--media-url http://ADDRESS:8081"));
    let error = config(listen("[fe80::5%2]:80")).unwrap_err();
    assert!(error.contains("[fe80::5%2]:80 has a zone") && error.contains("--media-url"), "{error}");
    let with_url = Settings { media_url: Some("http://192.0.2.1".parse().unwrap()), ..listen("[fe80::5%2]:80") };
    assert!(config(with_url).is_ok());
}

#[test]
fn a_certificate_needs_its_key() {
    let settings = Settings { api_tls_cert: Some("cert.pem".into()), ..Settings::default() };
    assert!(config(settings).unwrap_err().contains("--api-tls-cert and --api-tls-key"));
}

#[test]
fn a_client_whose_token_is_also_elsewhere_keeps_its_name() {
    const OPS: &str = "ops-ops-ops-ops-ops";
    let texts = [format!("{OPS}\n"), format!("clients:\n- {{name: ops, role: boot, token: {OPS}}}\n")];
    let [tokens, clients] = texts.map(|text| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    });
    let settings = Settings {
        api_clients: Some(clients.path().to_owned()),
        api_token_file: vec![tokens.path().to_owned()],
        media_url: Some("http://192.0.2.1:8081".parse().unwrap()),
        ..Settings::default()
    };
    let config = Config::new(settings, Some(OPS)).unwrap();
    assert_eq!(config.api_clients.with_token(OPS).unwrap().identity.to_string(), "the token 'ops'");
}

/// The help text and the reference of settings have these defaults as text.
#[test]
fn the_defaults_are_those_that_the_reference_has() {
    let settings = crate::arguments::Program::Serve.settings();
    let default = |key: &str| settings.iter().find(|setting| setting.key == key).unwrap().default.clone().unwrap();
    let url = Some("http://192.0.2.1:8081".parse().unwrap());
    let config = config(Settings { media_url: url, ..Settings::default() }).unwrap();
    for (key, used) in [
        ("data-dir", config.data_dir.display().to_string()),
        ("api-listen", config.api_listen.to_string()),
        ("media-idle-seconds", config.media_idle.as_secs().to_string()),
        ("drain-seconds", config.drain.as_secs().to_string()),
        ("boots-at-once", config.boots.at_once.to_string()),
    ] {
        assert_eq!(default(key), used, "{key}");
    }
    assert!(default("media-listen").starts_with(&format!("[::]:{}", super::super::MEDIA_PORT)));
}

#[test]
fn the_two_addresses_do_not_overlap() {
    let both = |api: &str, media: &str| Settings {
        api_listen: Some(api.parse().unwrap()),
        media_listen: Some(media.parse().unwrap()),
        media_url: Some("http://192.0.2.1:8081".parse().unwrap()),
        ..Settings::default()
    };
    for (api, media) in [
        ("127.0.0.1:7", "127.0.0.1:7"),
        ("127.0.0.1:7", "0.0.0.0:7"),
        ("127.0.0.1:7", "[::]:7"),
        ("[::1]:7", "[::]:7"),
        ("127.0.0.1:7", "[::ffff:0.0.0.0]:7"),
        ("127.0.0.1:8081", "[::]:8081"),
    ] {
        let error = config(both(api, media)).unwrap_err();
        assert!(error.contains(api) && error.contains("--media-listen"), "{error}");
    }
    for (api, media) in [
        ("127.0.0.1:7", "127.0.0.1:8"),
        ("127.0.0.1:7", "192.0.2.1:7"),
        ("[::1]:7", "0.0.0.0:7"),
        ("127.0.0.1:7", "[::1]:7"),
        ("127.0.0.1:0", "0.0.0.0:0"),
    ] {
        assert_eq!(config(both(api, media)).err(), None, "{api} {media}");
    }
    // Its own address is that of the images, unless another one is given.
    let settings = Settings { media_listen: None, ..both("127.0.0.1:8081", "[::]:7") };
    assert!(config(settings).unwrap_err().contains("[::]:8081"));
}
