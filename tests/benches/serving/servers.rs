//! dayone and nginx, each on one processor and in a session of its own: in one session, the kernel shares the time of a processor
//! between server and client by their loads (`sched_autogroup_enabled`).

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::file_system::FileSystem;
use acceptance::peers::cache;
use acceptance::server::{Server, dayone, free_address, wait_for};
use rustix::fs::{Advice, fadvise};
use tempfile::TempDir;

use crate::Outcome;

/// A server to read from.
pub(crate) struct Peer {
    pub(crate) is_dayone: bool,
    pub(crate) process: u32,
    pub(crate) address: String,
    pub(crate) path: String,
    /// The certificate, where it speaks TLS.
    pub(crate) certificate: Option<String>,
}

/// What is between a client and the bytes.
#[derive(Clone, Copy)]
pub(crate) enum Over {
    /// HTTP, and a base in its place.
    Base,
    /// HTTP, and a base in its place on XFS, which shares blocks between files.
    SharedBlocks,
    /// HTTP, and a base that dayone has copied.
    OwnCopy,
    /// HTTPS.
    Tls,
}

/// All servers.
pub(crate) struct Servers {
    plain: [Peer; 2],
    /// dayone over a base on XFS. `None` if this user may not mount one.
    sharing: Option<Peer>,
    /// dayone over a copy of the base that is its own.
    own: Peer,
    secure: [Peer; 2],
    files: [PathBuf; 2],
    /// The size of the image in bytes.
    pub(crate) size: u64,
    _dayone: Vec<Server>,
    _nginx: [Process; 2],
    _xfs: Option<FileSystem>,
    _directory: TempDir,
}

impl Servers {
    /// Starts dayone by `DAYONE_BIN`, and nginx on a processor.
    pub(crate) fn start(mebibytes: u64, processor: usize) -> Outcome<Self> {
        let directory = tempfile::tempdir()?;
        let place = directory.path();
        let [base, other] = [mebibytes, 8].map(|size| coreos_iso(&["--size-mib", &size.to_string()]));
        let key = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
        let [certificate_file, key_file] = ["certificate", "key"].map(|name| place.join(name));
        fs::write(&certificate_file, key.cert.pem())?;
        fs::write(&key_file, key.signing_key.serialize_pem())?;
        fs::set_permissions(&key_file, fs::Permissions::from_mode(0o600))?;

        let bases = base.parent().ok_or("a directory")?.display().to_string();
        let start = |tls: bool, own: bool, base: &Path| -> Outcome<(Server, Peer)> {
            let media = free_address();
            let (certificate, key) = (certificate_file.display().to_string(), key_file.display().to_string());
            let mut more = vec!["--log", "warn,dayone::store::open_base=info", "--base-source", &bases];
            if tls {
                more.extend(["--media-tls-cert", &certificate, "--media-tls-key", &key]);
            }
            // A copy's images are those of the base in its place, so they need a server without it.
            let first = if own { &other } else { base };
            let server = Server::start_at(&free_address(), &media, "coreos", first, &more);
            if own {
                let mut add = dayone();
                let status = add
                    .args(["base", "add", "own"])
                    .arg(base)
                    .args(["--server", &server.api])
                    .stdout(Stdio::null())
                    .status()?;
                assert!(status.success(), "dayone base add: {status}");
            }
            let peer = Peer {
                is_dayone: true,
                process: server.process_id(),
                address: media,
                path: image(&server, if own { "own" } else { "coreos" })?,
                certificate: tls.then(|| pem(&certificate_file)),
            };
            Ok((server, peer))
        };
        let xfs = FileSystem::make("xfs", 2 * mebibytes);
        let (plain, plain_peer) = start(false, false, &base)?;
        let (copying, own) = start(false, true, &base)?;
        let (secure, secure_peer) = start(true, false, &base)?;
        let mut dayone = vec![plain, copying, secure];
        let sharing = match &xfs {
            Some(xfs) => {
                let there = xfs.path().join("base.iso");
                fs::copy(&base, &there)?;
                let (server, peer) = start(false, false, &there)?;
                assert!(server.log().contains("shares its blocks"), "{}", server.log());
                dayone.push(server);
                Some(peer)
            }
            None => None,
        };

        // nginx serves the same bytes.
        let file = place.join("boot.iso");
        let status = Command::new("curl")
            .args(["-fsS", "-o"])
            .arg(&file)
            .arg(format!("http://{}{}", plain_peer.address, plain_peer.path))
            .status()?;
        assert!(status.success(), "curl: {status}");
        let nginx = |tls: bool| -> Outcome<(Process, Peer)> {
            let address = free_address();
            let (listen, more) = if tls {
                let (certificate, key) = (certificate_file.display(), key_file.display());
                (format!("{address} ssl"), format!("ssl_certificate {certificate}; ssl_certificate_key {key};"))
            } else {
                (address.clone(), String::new())
            };
            let own = place.join(if tls { "nginx-tls" } else { "nginx" });
            fs::create_dir(&own)?;
            let user = if rustix::process::getuid().is_root() { "user root;\n" } else { "" };
            let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
            let paths = paths.map(|name| format!("{name}_temp_path {}/{name};\n", own.display())).concat();
            let config = format!(
                "{user}daemon off; master_process off; pid {own}/pid; error_log {own}/errors;\nevents {{ worker_connections 4096; }}\n\
                 http {{\nsendfile on; tcp_nopush off; access_log off; open_file_cache max=100; keepalive_requests 1000000;\n{paths}\
                 server {{ listen {listen}; root {root}; {more} }}\n}}\n",
                own = own.display(),
                root = place.display(),
            );
            fs::write(own.join("nginx.conf"), config)?;
            let program = pinned(&own, &cache().join("bin/nginx"), processor)?;
            let mut command = Command::new(program);
            command.arg("-e").arg(own.join("errors")).arg("-c").arg(own.join("nginx.conf"));
            let process = Process(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
            while std::net::TcpStream::connect(&address).is_err() {
                std::thread::sleep(Duration::from_millis(20));
            }
            if !tls {
                let errors = || fs::read_to_string(own.join("errors")).unwrap_or_default();
                wait_for(&format!("http://{address}/boot.iso"), Duration::from_secs(60), errors);
            }
            let peer = Peer {
                is_dayone: false,
                process: process.0.id(),
                address,
                path: "/boot.iso".to_owned(),
                certificate: tls.then(|| pem(&certificate_file)),
            };
            Ok((process, peer))
        };
        let (plain_nginx, plain_nginx_peer) = nginx(false)?;
        let (secure_nginx, secure_nginx_peer) = nginx(true)?;
        // What is still to be written to the disk would be measured, too.
        rustix::fs::sync();
        Ok(Self {
            plain: [plain_peer, plain_nginx_peer],
            sharing,
            own,
            secure: [secure_peer, secure_nginx_peer],
            size: fs::metadata(&file)?.len(),
            files: [base, file],
            _dayone: dayone,
            _nginx: [plain_nginx, secure_nginx],
            _xfs: xfs,
            _directory: directory,
        })
    }

    /// dayone and nginx, if this user may have what is between them and the bytes.
    pub(crate) fn pair(&self, over: Over) -> Option<[&Peer; 2]> {
        Some(match over {
            Over::Base => self.plain.each_ref(),
            Over::SharedBlocks => [self.sharing.as_ref()?, &self.plain[1]],
            Over::OwnCopy => [&self.own, &self.plain[1]],
            Over::Tls => self.secure.each_ref(),
        })
    }

    /// Takes the files out of the page cache.
    pub(crate) fn forget_pages(&self) -> Outcome<()> {
        for file in &self.files {
            fadvise(File::open(file)?, 0, None, Advice::DontNeed)?;
        }
        Ok(())
    }
}

/// A program that is killed when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A script that starts a program on one processor, in a session of its own, and as the same process.
pub(crate) fn pinned(directory: &Path, program: &Path, processor: usize) -> Outcome<PathBuf> {
    let script = directory.join(format!("pinned-{}", program.file_name().ok_or("a name")?.display()));
    fs::write(&script, format!("#!/bin/sh\nexec setsid taskset -c {processor} '{}' \"$@\"\n", program.display()))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(script)
}

/// The path of an image over a base.
fn image(server: &Server, base: &str) -> Outcome<String> {
    let image = server.image(base, &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
    let url = image["url"].as_str().ok_or("a URL")?;
    Ok(format!("/{}", url.splitn(4, '/').nth(3).ok_or("a path")?))
}

fn pem(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}
