//! nginx, which serves a directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::peers::peer;
use crate::server::{free_address, wait_for};

/// nginx on a port of its own, ended when dropped.
pub struct Nginx {
    process: Option<Child>,
    address: String,
    tls: Option<[String; 2]>,
    directory: TempDir,
}

impl Nginx {
    /// Serves a directory of its own, over HTTPS if a certificate and its key are given.
    pub fn start(tls: Option<[String; 2]>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir(directory.path().join("root")).expect("a directory");
        fs::write(directory.path().join("root/ready"), "").expect("a file");
        let mut nginx = Self { process: None, address: free_address(), tls, directory };
        nginx.start_again("");
        nginx
    }

    /// Starts it again, with more directives for its server.
    pub fn start_again(&mut self, directives: &str) {
        let place = self.directory.path().display();
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let paths = paths.map(|name| format!("{name}_temp_path {place}/{name};\n")).concat();
        let (listen, tls) = match &self.tls {
            None => (self.address.clone(), String::new()),
            Some([certificate, key]) => {
                (format!("{} ssl", self.address), format!("ssl_certificate {certificate}; ssl_certificate_key {key};"))
            }
        };
        // Workers of another user could not read the temporary directory.
        let user = if rustix::process::getuid().is_root() { "user root;\n" } else { "" };
        let config = format!(
            "{user}daemon off; master_process off; pid {place}/pid; error_log {place}/errors;\nevents {{}}\nhttp {{\n\
             log_format short '$uri $status $body_bytes_sent $http_range'; access_log {place}/requests short;\n{paths}\
             server {{ listen {listen}; root {place}/root; {tls} {directives} }}\n}}\n"
        );
        let file = self.path("nginx.conf");
        fs::write(&file, config).expect("the configuration");
        let mut command = peer("nginx");
        command.arg("-e").arg(self.path("errors")).arg("-c").arg(&file);
        let streams = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.process = Some(streams.spawn().expect("nginx starts"));
        let plain = self.tls.is_none();
        if plain {
            let errors = || fs::read_to_string(self.path("errors")).unwrap_or_default();
            wait_for(&self.url("ready"), Duration::from_secs(20), errors);
        } else {
            let deadline = std::time::Instant::now() + Duration::from_secs(20);
            while std::net::TcpStream::connect(&self.address).is_err() {
                assert!(std::time::Instant::now() < deadline, "nginx does not listen");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// Kills it, with all its connections.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// The URL of a file.
    pub fn url(&self, file: &str) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/{file}", self.address)
    }

    /// Where files are that it serves.
    pub fn root(&self) -> PathBuf {
        self.path("root")
    }

    /// The requests for a file: `STATUS BYTES RANGE`.
    pub fn requests(&self, file: &str) -> Vec<String> {
        let log = fs::read_to_string(self.path("requests")).unwrap_or_default();
        let prefix = format!("/{file} ");
        log.lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        let directory: &Path = self.directory.path();
        directory.join(name)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.kill();
    }
}
