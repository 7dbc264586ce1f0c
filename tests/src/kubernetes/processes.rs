//! The processes of an API server: etcd, kube-apiserver, and a guard that ends them if the test cannot.

use std::fs::{File, OpenOptions};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::peers::peer;

/// A process. Dropping it kills it.
pub(super) struct Process(Child);

impl Process {
    /// Starts a peer in `directory`, with the log `NAME.log`. It leads a new process group, or joins `group`.
    pub(super) fn start(name: &str, arguments: &[String], directory: &Path, group: Option<&Process>) -> Self {
        let log = OpenOptions::new().create(true).append(true).open(directory.join(format!("{name}.log")));
        let log: File = log.expect("a log");
        let group = group.map_or(0, |leader| leader.0.id().cast_signed());
        let mut command = peer(name);
        command.args(arguments).current_dir(directory).process_group(group).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        Self(command.spawn().unwrap_or_else(|error| panic!("{name} does not start: {error}")))
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("its state").is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A shell that waits until this process has ended in any way. Then it kills a process group and removes a
/// directory, because nothing drops what the tests of a file share.
pub(super) struct Guard(Child);

impl Guard {
    pub(super) fn of(leader: &Process, directory: &Path) -> Self {
        let script = "read -r _; kill -s KILL -- \"-$1\"; sleep 0.2; exec rm -rf -- \"$2\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, "guard", &leader.0.id().to_string()]).arg(directory);
        // In a group of its own, which no terminal interrupts.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("a shell starts"))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn when_the_test_is_killed_nothing_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("server");
        std::fs::create_dir(&path).expect("a directory");
        let sleep = |group| Command::new("sleep").arg("300").process_group(group).spawn().expect("it starts");
        let mut leader = Process(sleep(0));
        let mut member = Process(sleep(leader.0.id().cast_signed()));
        let mut guard = Guard::of(&leader, &path);
        assert!(!leader.has_ended() && !member.has_ended() && path.exists());
        // As the kernel does at the end of a process.
        drop(guard.0.stdin.take());
        let deadline = Instant::now() + Duration::from_secs(20);
        while !(leader.has_ended() && member.has_ended()) || path.exists() {
            assert!(Instant::now() < deadline, "something is left");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
