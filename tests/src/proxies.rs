//! Proxies in front of a server, set up as `docs/commands.md` says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::nginx::Nginx;
use crate::peers::{cache, peer};
use crate::server::{Server, free_address, wait_for};

/// Where a proxy finds the server.
#[derive(Debug, Clone, Copy)]
pub struct Upstream<'a> {
    /// The address of the API.
    pub api: &'a str,
    /// The address of the images.
    pub media: &'a str,
}

/// A proxy on a port of its own, ended when dropped: the API is at its root, and the images are below `/media/`.
pub struct Proxy {
    /// Its name in the documentation.
    pub name: &'static str,
    /// Its address.
    pub address: String,
    _program: Program,
}

enum Program {
    Nginx { _server: Nginx },
    Other { process: Child, _directory: TempDir },
}

impl Proxy {
    /// Every proxy of the documentation, in front of one server.
    pub fn all(server: &Server, media: &str) -> Vec<Self> {
        let upstream = Upstream { api: server.api.strip_prefix("http://").expect("an address"), media };
        vec![
            nginx(upstream),
            Self::start("HAProxy", upstream, haproxy),
            Self::start("Apache httpd", upstream, apache),
            Self::start("Caddy", upstream, caddy),
            Self::start("Traefik", upstream, traefik),
            Self::start("Envoy", upstream, envoy),
        ]
    }

    fn start(name: &'static str, upstream: Upstream, command: impl FnOnce(Upstream, &str, &Path) -> Command) -> Self {
        let (address, directory) = (free_address(), tempfile::tempdir().expect("a directory"));
        let mut command = command(upstream, &address, directory.path());
        let log = directory.path().join("log");
        let file = fs::File::create(&log).expect("a log");
        command.current_dir(directory.path()).env("HOME", directory.path()).stdin(Stdio::null());
        let process = command.stdout(file.try_clone().expect("a log")).stderr(file).spawn().expect("the proxy starts");
        let proxy = Self { name, address, _program: Program::Other { process, _directory: directory } };
        let log = || fs::read_to_string(&log).unwrap_or_default();
        wait_for(&format!("http://{}/readyz", proxy.address), Duration::from_secs(60), log);
        proxy
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Self::Other { process, .. } = self {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The block of the documentation that follows this sentence, without its indentation, and with the addresses of the server.
#[track_caller]
fn documented(sentence: &str, upstream: Upstream) -> String {
    let (_, rest) = include_str!("../../docs/commands.md").split_once(sentence).expect(sentence);
    let block = rest.lines().skip_while(|line| !line.starts_with("    ")).take_while(|line| line.starts_with("    "));
    let block = block.map(|line| format!("{}\n", &line[4..])).collect::<String>();
    block.replace("127.0.0.1:8080", upstream.api).replace("127.0.0.1:8081", upstream.media)
}

/// Puts `lines` behind the line `after`.
#[track_caller]
fn insert(text: &str, after: &str, lines: &str) -> String {
    let (before, rest) = text.split_once(after).unwrap_or_else(|| panic!("{after:?} is not in {text}"));
    format!("{before}{after}{lines}{rest}")
}

fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, text).expect("a file");
    path
}

fn nginx(upstream: Upstream) -> Proxy {
    let mut server = Nginx::start(None);
    server.kill();
    server.start_again(&format!("location = /ready {{}}\n{}", documented("In nginx:", upstream)));
    let address = server.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    Proxy { name: "nginx", address, _program: Program::Nginx { _server: server } }
}

fn haproxy(upstream: Upstream, address: &str, directory: &Path) -> Command {
    let text = documented("In HAProxy,", upstream);
    let text = insert(
        &text,
        "frontend images\n",
        &format!(
            "    mode http\n    bind {address}\n    use_backend images if {{ path_beg /media/ }}\n    default_backend api\n"
        ),
    );
    let text = insert(
        &text,
        "backend api\n",
        &format!("    mode http\n    timeout connect 5s\n    server dayone {}\n", upstream.api),
    );
    let images = format!(
        "backend images\n    mode http\n    timeout connect 5s\n    timeout server 300s\n    \
         http-request replace-path /media/(.*) /\\1\n    server dayone {}\n",
        upstream.media
    );
    let mut command = peer("haproxy");
    command.args(["-db", "-f"]).arg(write(directory, "haproxy.cfg", &(text + &images)));
    command
}

fn apache(upstream: Upstream, address: &str, directory: &Path) -> Command {
    let modules = ["mpm_event", "authz_core", "proxy", "proxy_http"];
    let modules =
        modules.map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")).concat();
    let Upstream { api, media } = upstream;
    let place = directory.display();
    // Its workers are not root's.
    let user = if rustix::process::getuid().is_root() { "User nobody\nGroup nogroup\n" } else { "" };
    let text = format!(
        "{modules}{user}ServerRoot {place}\nPidFile {place}/pid\nDefaultRuntimeDir {place}\nErrorLog {place}/log\nListen {address}\n\
         ServerName {address}\n{}ProxyPass /media/ http://{media}/\nProxyPass / http://{api}/\n",
        documented("In Apache httpd:", upstream)
    );
    let mut command = Command::new("/usr/sbin/apache2");
    command.args(["-D", "FOREGROUND", "-f"]).arg(write(directory, "apache.conf", &text));
    command
}

fn caddy(upstream: Upstream, address: &str, directory: &Path) -> Command {
    let text = documented("In Caddy:", upstream);
    let rest = text.strip_prefix(":80 {").expect("the address");
    let text = format!("{{\n    admin off\n}}\nhttp://{address} {{{rest}");
    let mut command = pip_program("caddy");
    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(write(directory, "Caddyfile", &text));
    command
}

fn traefik(upstream: Upstream, address: &str, directory: &Path) -> Command {
    let dynamic = write(directory, "routes.yaml", &documented("In Traefik,", upstream));
    let text = documented("Its entry point", upstream).replace(":80", address);
    let text = format!(
        "{text}providers: {{file: {{filename: {}}}}}\nglobal: {{checkNewVersion: false, sendAnonymousUsage: false}}\n",
        dynamic.display()
    );
    let mut command = pip_program("traefik");
    command.arg(format!("--configFile={}", write(directory, "traefik.yaml", &text).display()));
    command
}

fn envoy(upstream: Upstream, address: &str, directory: &Path) -> Command {
    const TYPES: &str = "type.googleapis.com/envoy.extensions.filters";
    let manager = documented("In Envoy,", upstream).replace('\n', "\n          ");
    let (host, port) = address.rsplit_once(':').expect("an address");
    let cluster = |name: &str, address: &str| {
        let (host, port) = address.rsplit_once(':').expect("an address");
        let endpoint = format!("{{socket_address: {{address: {host}, port_value: {port}}}}}");
        format!(
            "  - name: {name}\n    load_assignment:\n      cluster_name: {name}\n      endpoints: [{{lb_endpoints: [{{endpoint: \
             {{address: {endpoint}}}}}]}}]\n"
        )
    };
    let text = format!(
        "static_resources:\n  listeners:\n  - address: {{socket_address: {{address: {host}, port_value: {port}}}}}\n    \
         filter_chains:\n    - filters:\n      - name: http\n        typed_config:\n          \"@type\": \
         {TYPES}.network.http_connection_manager.v3.HttpConnectionManager\n          stat_prefix: http\n          \
         http_filters: [{{name: router, typed_config: {{\"@type\": {TYPES}.http.router.v3.Router}}}}]\n          {manager}\n  \
         clusters:\n{}{}",
        cluster("api", upstream.api),
        cluster("images", upstream.media)
    );
    let mut command = pip_program("envoy");
    // Tests at the same time have an Envoy, too.
    command.args(["--disable-hot-restart", "--concurrency", "1", "-c"]).arg(write(directory, "envoy.yaml", &text));
    command
}

/// A proxy that `scripts/setup-peers.sh` installs with pip.
fn pip_program(name: &str) -> Command {
    let path = cache().join(PROXIES).join("bin").join(name);
    assert!(path.exists(), "{} is missing; run scripts/setup-peers.sh", path.display());
    Command::new(path)
}

/// The directory of the proxies from pip, below [`cache`].
const PROXIES: &str = "proxies-caddy-2.11.7-traefik-3.7.15-envoy-1.40.0";
