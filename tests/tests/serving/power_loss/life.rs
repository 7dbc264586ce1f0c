//! A server under strace, from its start until it is killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use acceptance::server::{dayone, wait_for};
use rustix::process::{Pid, Signal, kill_process};

use super::trace::{CALLS, Trace};
use super::workload::Site;

/// A server under strace.
pub(crate) struct Life {
    strace: Child,
    log: PathBuf,
}

impl Life {
    pub(crate) fn begin(site: &Site, number: usize, keys: Option<&Path>) -> Self {
        let log = site.place.path().join(format!("strace-{number}"));
        let output = fs::File::create(site.place.path().join(format!("log-{number}"))).unwrap();
        let mut command = Command::new("strace");
        command.args(["-f", "-ttt", "-xx", "-y", "-s", "16777216", "-e", CALLS, "-o"]).arg(&log);
        command.arg(dayone().get_program()).arg("serve").arg("--data-dir").arg(site.data());
        command.args(["--base", &site.base, "--api-listen", &site.api, "--media-listen", &site.media]);
        command.args(["--media-url", &format!("http://{}", site.media), "--base-source", &site.nginx.url("")]);
        command.arg("--base-source").arg(site.place.path().join("sources"));
        if let Some(keys) = keys {
            command.arg("--data-key-file").arg(keys);
        }
        command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        let strace = command.spawn().expect("strace; see scripts/setup-peers.sh");
        let life = Self { strace, log };
        let said = || fs::read_to_string(site.place.path().join(format!("log-{number}"))).unwrap_or_default();
        wait_for(&format!("http://{}/readyz", site.api), Duration::from_secs(90), said);
        life
    }

    /// The server, which strace has started.
    fn server(&self) -> Option<Pid> {
        let strace = self.strace.id();
        let children = fs::read_to_string(format!("/proc/{strace}/task/{strace}/children")).ok()?;
        Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
    }

    /// Kills the server, and reads what it did.
    pub(crate) fn end(mut self, root: &Path, trace: &mut Trace) {
        kill_process(self.server().expect("it runs"), Signal::KILL).unwrap();
        self.strace.wait().unwrap();
        trace.add(&fs::read_to_string(&self.log).unwrap(), root);
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Ok(None) = self.strace.try_wait() {
            if let Some(server) = self.server() {
                let _ = kill_process(server, Signal::KILL);
            }
            let _ = self.strace.wait();
        }
    }
}
