//! Clients of the API that show certificates.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use dayone::services::{Config, Server, StartError};
use media::listen::Tls;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use reqwest::{Certificate, Client, ClientBuilder, Identity, tls};

use super::support::{Answer, Dayone, NMSTATE, Place, TOKEN};

const DAYONE: &str = env!("CARGO_BIN_EXE_dayone");

/// A certificate authority.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = parameters.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(parameters, key) }
    }

    /// A certificate with its key, in PEM.
    fn issue(&self, common_name: &str, names: &[&str]) -> (String, String) {
        self.issue_with(common_name, names, |_| {})
    }

    /// The same with other parameters.
    fn issue_with(
        &self,
        common_name: &str,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> (String, String) {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut parameters = CertificateParams::new(names).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, common_name);
        change(&mut parameters);
        let key = KeyPair::generate().unwrap();
        (parameters.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

struct World {
    servers: Authority,
    clients: Authority,
}

impl World {
    fn new() -> Self {
        Self { servers: Authority::new(), clients: Authority::new() }
    }

    fn config(&self, place: &Place) -> Config {
        let (certificate, key) = self.servers.issue("dayone", &["127.0.0.1"]);
        let path = |name| place.path(name);
        fs::write(path("tls.crt"), certificate).unwrap();
        fs::write(path("tls.key"), key).unwrap();
        fs::write(path("clients-ca.pem"), &self.clients.pem).unwrap();
        fs::write(path("servers-ca.pem"), &self.servers.pem).unwrap();
        let mut config = place.config();
        let tls = Tls::for_clients_of(&path("tls.crt"), &path("tls.key"), &path("clients-ca.pem"));
        config.api_tls = Some(tls.unwrap());
        config
    }

    fn client(&self, identity: Option<(String, String)>) -> Client {
        self.builder(identity).build().unwrap()
    }

    fn builder(&self, identity: Option<(String, String)>) -> ClientBuilder {
        let root = Certificate::from_pem(self.servers.pem.as_bytes()).unwrap();
        let mut builder = Client::builder().tls_certs_only([root]).https_only(true);
        if let Some((certificate, key)) = identity {
            builder = builder.identity(Identity::from_pem(format!("{certificate}{key}").as_bytes()).unwrap());
        }
        builder
    }
}

fn url(dayone: &Dayone, path: &str) -> String {
    format!("https://{}{path}", dayone.server.api_address())
}

fn write_clients(place: &Place) -> PathBuf {
    let path = place.path("clients.yaml");
    let text = format!(
        "clients:\n- {{name: ops, role: boot, certificate: ops.example}}\n\
         - {{name: dashboard, role: read, certificate: dashboard}}\n- {{name: ci, role: build, token: {TOKEN}}}\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

#[tokio::test]
async fn a_client_without_a_certificate_of_the_authority_is_refused_in_the_handshake() {
    let (world, place) = (World::new(), Place::new());
    let mut config = world.config(&place);
    config.api_clients.add(TOKEN, "the test").unwrap();
    let dayone = Dayone::start_with(place, config).await;
    let foreign = Authority::new().issue("ops", &["ops.example"]);
    for identity in [None, Some(foreign)] {
        let request = world.client(identity).get(url(&dayone, "/healthz")).bearer_auth(TOKEN);
        assert!(request.send().await.is_err());
    }
    let client = world.client(Some(world.clients.issue("anybody", &[])));
    assert_eq!(Answer::of(client.get(url(&dayone, "/healthz"))).await.status, 200);
    // The certificate belongs to no client, so that the token decides.
    assert_eq!(Answer::of(client.get(url(&dayone, "/v1/bases"))).await.status, 401);
    assert_eq!(Answer::of(client.get(url(&dayone, "/v1/bases")).bearer_auth(TOKEN)).await.status, 200);
    assert_eq!(Answer::of(client.get(url(&dayone, "/v1/bases")).bearer_auth("wrong")).await.status, 401);
}

#[tokio::test]
async fn a_name_in_a_certificate_has_a_role() {
    let (world, place) = (World::new(), Place::new());
    let mut config = world.config(&place);
    config.api_clients.add_client_file(&write_clients(&place)).unwrap();
    let dayone = Dayone::start_with(place, config).await;
    let status = async |client: &Client, method: &str, path: &str| {
        Answer::of(client.request(method.parse().unwrap(), url(&dayone, path))).await.status.as_u16()
    };
    let ops = world.client(Some(world.clients.issue("somebody", &["ops.example"])));
    assert_eq!(status(&ops, "GET", "/v1/bases").await, 200);
    assert_eq!(status(&ops, "DELETE", "/v1/bases/nothing").await, 404);
    let dashboard = world.client(Some(world.clients.issue("dashboard", &["any.example"])));
    assert_eq!(status(&dashboard, "GET", "/v1/bases").await, 200);
    let order = || dashboard.post(url(&dayone, "/v1/images?base=coreos")).header("content-type", "text/yaml");
    let refused = Answer::of(order().body(NMSTATE)).await;
    let problem = refused.problem("role-too-small");
    assert!(problem["detail"].as_str().unwrap().contains("the certificate 'dashboard'"), "{problem}");
    // A token that is given decides.
    assert_eq!(Answer::of(order().body(NMSTATE).bearer_auth(TOKEN)).await.status, 201);
    // A page of another web site can make a browser send a request, and the browser shows its certificate.
    let foreign = ops.get(url(&dayone, "/v1/bases")).header("sec-fetch-site", "cross-site");
    Answer::of(foreign).await.problem("foreign-origin");
    let page = ops.get(url(&dayone, "/")).header("accept", "text/html");
    assert!(String::from_utf8(Answer::of(page).await.body).unwrap().contains("documents-form"));
    let page = world.client(Some(world.clients.issue("anybody", &[]))).get(url(&dayone, "/"));
    let page = Answer::of(page.header("accept", "text/html")).await;
    assert!(String::from_utf8(page.body).unwrap().contains("action=\"/login\""));
}

#[tokio::test]
async fn without_clients_every_certificate_of_the_authority_may_do_everything() {
    let (world, place) = (World::new(), Place::new());
    let mut config = world.config(&place);
    // The authority decides, so that the API may leave the machine.
    config.api_listen = "0.0.0.0:0".parse().unwrap();
    let dayone = Dayone::start_with(place, config).await;
    let client = world.client(Some(world.clients.issue("anybody", &[])));
    let url = format!("https://127.0.0.1:{}/v1/images?base=coreos", dayone.server.api_address().port());
    let made = client.post(url).header("content-type", "text/yaml").body(NMSTATE);
    assert_eq!(Answer::of(made).await.status, 201);
}

#[tokio::test]
async fn curl_and_the_commands_show_their_certificates() {
    let (world, place) = (World::new(), Place::new());
    let mut config = world.config(&place);
    config.api_clients.add_client_file(&write_clients(&place)).unwrap();
    let dayone = Dayone::start_with(place, config).await;
    let (certificate, key) = world.clients.issue("dashboard", &[]);
    let pem = dayone.place.path("client.pem");
    fs::write(&pem, format!("{certificate}{key}")).unwrap();
    let (address, ca) = (dayone.server.api_address(), dayone.place.path("servers-ca.pem"));
    let run = move |program: &str, arguments: Vec<String>| {
        let output = Command::new(program).args(arguments).env_remove("DAYONE_API_TOKEN").output().unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let run = async |program: &'static str, arguments: &[&str]| {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        tokio::task::spawn_blocking(move || run(program, arguments)).await.unwrap()
    };
    let (ca, pem, url) = (ca.to_str().unwrap(), pem.to_str().unwrap(), format!("https://{address}"));
    let bases = format!("{url}/v1/bases");
    let (succeeds, output) = run("curl", &["-sS", "--fail", "--cacert", ca, "--cert", pem, &bases]).await;
    assert!(succeeds && output.contains("coreos"), "{output}");
    let (succeeds, _) = run("curl", &["-sS", "--fail", "--cacert", ca, &bases]).await;
    assert!(!succeeds);
    let list = ["images", "--server", &url, "--server-ca", ca];
    let (succeeds, output) = run(DAYONE, &[&list[..], &["--client-cert", pem]].concat()).await;
    assert!(succeeds && output.contains("HOST"), "{output}");
    let (succeeds, output) = run(DAYONE, &list).await;
    assert!(!succeeds && output.contains("requires a client certificate: give one with --client-cert"), "{output}");
    let (succeeds, output) = run(DAYONE, &list[..3]).await;
    assert!(!succeeds && output.contains("no trusted authority has signed its certificate: give"), "{output}");
    assert!(output.contains("with --server-ca") && !output.contains("BMC"), "{output}");
    // Half of the file.
    for (half, reason) in [
        (&certificate, "-----BEGIN PRIVATE KEY-----; put the key of the certificate into the same file"),
        (&key, "it has no line that begins with -----BEGIN CERTIFICATE-----"),
    ] {
        fs::write(pem, half).unwrap();
        let (succeeds, output) = run(DAYONE, &[&list[..], &["--client-cert", pem]].concat()).await;
        assert!(!succeeds && output.contains(reason) && output.contains(pem), "{output}");
    }
}

#[tokio::test]
async fn a_reload_takes_over_another_authority() {
    let (world, place) = (World::new(), Place::new());
    let mut config = world.config(&place);
    config.api_clients.add(TOKEN, "the test").unwrap();
    let dayone = Dayone::start_with(place, config).await;
    let other = World { clients: Authority::new(), servers: world.servers };
    let answers =
        async |world: &World, identity| world.client(Some(identity)).get(url(&dayone, "/healthz")).send().await.is_ok();
    let (old, new) = (world.clients.issue("old", &[]), other.clients.issue("new", &[]));
    assert!(answers(&other, old.clone()).await && !answers(&other, new.clone()).await);
    let kept = other.client(Some(old.clone()));
    let asks = async || match kept.get(url(&dayone, "/healthz")).send().await {
        Ok(answer) => answer.bytes().await.is_ok(),
        Err(_) => false,
    };
    assert!(asks().await);
    let mut config = other.config(&dayone.place);
    config.api_clients.add(TOKEN, "the test").unwrap();
    dayone.server.configure(config);
    assert!(!answers(&other, old).await && answers(&other, new).await);
    // The connections of the former authority's clients end, at the latest after their next answer.
    let deadline = Instant::now() + Duration::from_secs(20);
    while asks().await {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn an_expired_certificate_is_refused_also_to_clients_that_are_known_already() {
    let (world, place) = (World::new(), Place::new());
    let mut config = world.config(&place);
    config.api_clients.add_client_file(&write_clients(&place)).unwrap();
    let dayone = Dayone::start_with(place, config).await;
    // The first keeps its connection. The others connect for each request, and would resume their TLS sessions.
    let changes: [fn(ClientBuilder) -> ClientBuilder; 3] = [
        |builder| builder,
        |builder| builder.pool_max_idle_per_host(0),
        |builder| builder.pool_max_idle_per_host(0).tls_version_max(tls::Version::TLS_1_2),
    ];
    for change in changes {
        let end = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() + Duration::from_secs(4);
        let identity = world.clients.issue_with("dashboard", &[], |parameters| {
            parameters.not_after = rcgen::date_time_ymd(1970, 1, 1) + end;
        });
        let client = change(world.builder(Some(identity))).build().unwrap();
        let mut events = client.get(url(&dayone, "/v1/boots/events")).send().await.unwrap();
        assert_eq!(events.status(), 200);
        let asks = async || match client.get(url(&dayone, "/v1/bases")).send().await {
            Ok(answer) => answer.status() == 200 && answer.bytes().await.is_ok(),
            Err(_) => false,
        };
        assert!(asks().await);
        let deadline = Instant::now() + Duration::from_secs(20);
        while asks().await {
            assert!(Instant::now() < deadline);
            // Each question of two of the clients is a handshake.
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        while let Ok(Some(_)) = events.chunk().await {
            assert!(Instant::now() < deadline, "the events go on");
        }
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_could_show_is_refused() {
    let place = Place::new();
    let mut config = place.config();
    config.api_clients.add_client_file(&write_clients(&place)).unwrap();
    let error = Server::start(config).await.unwrap_err();
    assert!(matches!(error, StartError::Config(_)) && error.to_string().contains("--api-client-ca"), "{error}");
}
