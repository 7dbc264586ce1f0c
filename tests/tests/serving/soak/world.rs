//! What all threads of a run share: the server, what is known of it, and what has been seen.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use acceptance::nginx::Nginx;
use acceptance::server::free_address;

use super::client::Target;
use super::process::Process;
use super::random::Random;
use super::site::{Site, write_secret};
use super::windows::{Window, Windows};

/// What has happened so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Answers and broken connections that a fault excused.
    pub(crate) excused: AtomicU64,
    pub(crate) published: AtomicU64,
    pub(crate) deleted: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) bases_added: AtomicU64,
    pub(crate) bases_removed: AtomicU64,
    pub(crate) restarts: AtomicU64,
    /// The most memory that a process had, in KiB.
    pub(crate) peak_memory: AtomicU64,
}

pub(crate) fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

/// Whether one of the servers has done something wrong, which ends the runs of all.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

pub(crate) struct World {
    pub(crate) name: &'static str,
    pub(crate) seed: u64,
    pub(crate) site: Site,
    pub(crate) process: Process,
    pub(crate) windows: Windows,
    /// Open while the file system of the data directory is full.
    pub(crate) disk: Window,
    pub(crate) media: Target,
    pub(crate) media_url: String,
    pub(crate) api: String,
    /// The API's token. Whoever uses the API holds it for reading.
    pub(crate) token: RwLock<String>,
    /// Held for writing while a configured base is not what its images need: nobody orders images over it then.
    pub(crate) bases: [RwLock<()>; 2],
    pub(crate) nginx: Nginx,
    pub(crate) counts: Counts,
    pub(crate) faults: Mutex<std::collections::BTreeMap<&'static str, u64>>,
    failure: Mutex<Option<String>>,
    is_over: AtomicBool,
    pub(crate) begun: Instant,
    pub(crate) length: Duration,
}

impl World {
    pub(crate) fn start(name: &'static str, seed: u64, tls: bool, length: Duration) -> Self {
        let mut random = Random::new(seed, name);
        let site = Site::new(&mut random, tls);
        let nginx = Nginx::start(None);
        for (path, _) in &site.rolling {
            std::fs::copy(path, nginx.root().join(path.file_name().unwrap())).unwrap();
        }
        let (api, media) = (free_address(), free_address());
        let token = format!("{:032x}", random.next());
        write_secret(&site.path("token"), &token);
        let scheme = if tls { "https" } else { "http" };
        let media_url = format!("{scheme}://{media}");
        let mut arguments = vec!["serve".to_owned()];
        let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        option("--data-dir", site.path("data").display().to_string());
        option("--api-listen", api.clone());
        option("--api-token-file", site.path("token").display().to_string());
        option("--media-listen", media.clone());
        option("--media-url", media_url.clone());
        option("--base-source", nginx.url(""));
        for base in site.bases() {
            option("--base", base);
        }
        let address: SocketAddr = media.parse().unwrap();
        let mut target = Target { address, tls: None };
        if let Some(authority) = &site.authority {
            authority.renew();
            let [certificate, key] = authority.files().map(|path| path.display().to_string());
            option("--media-tls-cert", certificate);
            option("--media-tls-key", key);
            target.tls = Some(authority.client());
        }
        let process = Process::start(site.path("").as_path(), arguments);
        Self {
            name,
            seed,
            process,
            windows: Windows::default(),
            disk: Window::default(),
            media: target,
            media_url,
            api: format!("http://{api}"),
            token: RwLock::new(token),
            bases: Default::default(),
            nginx,
            counts: Counts::default(),
            faults: Mutex::default(),
            failure: Mutex::default(),
            is_over: AtomicBool::new(false),
            begun: Instant::now(),
            length,
            site,
        }
    }

    pub(crate) fn random(&self, user: &str) -> Random {
        Random::new(self.seed, &format!("{} {user}", self.name))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst) || HAS_FAILED.load(Ordering::SeqCst)
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// Notes that the server has done something wrong, which ends the run. The first failure counts.
    pub(crate) fn fail(&self, what: &str) {
        let after = self.begun.elapsed().as_secs_f64();
        let failure = format!("{} server, SOAK_SEED={}, after {after:.3} s: {what}", self.name, self.seed);
        let mut first = self.failure.lock().unwrap();
        if first.is_none() {
            eprintln!("FAILED: {failure}");
            *first = Some(failure);
        }
        HAS_FAILED.store(true, Ordering::SeqCst);
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap().clone()
    }

    /// Waits, but not beyond the end of the run.
    pub(crate) fn pause(&self, length: Duration) {
        let until = Instant::now() + length;
        while Instant::now() < until && !self.is_over() {
            std::thread::sleep(Duration::from_millis(20).min(length));
        }
    }
}
