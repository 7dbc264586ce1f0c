//! A network of the test's own: a network namespace with the calling thread in it.

use std::fs::{self, File};
use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::peers::{run, run_text};

/// What processes of tests begin their namespaces' names with.
const PREFIX: &str = "dayone-";

/// A network namespace. The thread that made it is in it, and so is everything that this thread starts from then on.
/// When it is dropped, all processes in it are ended, and the thread is back where it was.
pub struct Namespace {
    name: String,
    outside: File,
    /// To be dropped by the thread that is in it.
    _thread: PhantomData<*const ()>,
}

impl Namespace {
    /// Makes one, with nothing in it but loopback, and moves this thread into it.
    pub fn enter() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        assert!(
            rustix::process::geteuid().is_root(),
            "this test boots a machine on a network of its own, which only root can make: run it as root, as CI does"
        );
        remove_abandoned();
        let name = format!("{PREFIX}{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        run(Command::new("ip").args(["netns", "add", &name]));
        let outside = File::open("/proc/thread-self/ns/net").expect("a thread has a namespace");
        let namespace = Self { name, outside, _thread: PhantomData };
        move_into(&File::open(Path::new("/run/netns").join(&namespace.name)).expect("the namespace"));
        run(Command::new("ip").args(["link", "set", "lo", "up"]));
        namespace
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        move_into(&self.outside);
        remove(&self.name);
    }
}

fn move_into(namespace: &File) {
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).expect("root may change namespaces");
}

fn remove(name: &str) {
    let processes = run_text(Command::new("ip").args(["netns", "pids", name]));
    let own = std::process::id().to_string();
    for process in processes.split_whitespace().filter(|process| *process != own) {
        if let Some(process) = process.parse().ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(process, Signal::KILL);
        }
    }
    let _ = Command::new("ip").args(["netns", "delete", name]).status();
}

/// Ends what tests have left behind that were killed themselves.
fn remove_abandoned() {
    for entry in fs::read_dir("/run/netns").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
        if process.is_some_and(|(process, _)| !Path::new("/proc").join(process).exists()) {
            remove(&name);
        }
    }
}
