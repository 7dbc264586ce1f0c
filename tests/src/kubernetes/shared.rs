//! The API server that the tests of a run share, although nextest gives each test a process of its own.
//!
//! The first test that needs it starts it. Each test holds a lock on one of its files as long as it runs. A shell outlives the
//! test that started it, and ends the server when nobody has held the lock for some seconds.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::ApiServer;
use super::processes::Process;

/// Ends the process group `$1` and removes the directory `$2` when nobody holds a lock on its file `users` any more. Between two
/// tests there may be a moment without a user. `$3` is the directory of the run.
const REAPER: &str = r#"
free=0
until [ "$free" -ge 5 ] && flock --nonblock "$2/users" sh -c 'kill -s KILL -- "-$1"; sleep 0.2; rm -rf -- "$2"' end "$1" "$2"; do
  sleep 2
  if flock --nonblock "$2/users" true; then free=$((free + 1)); else free=0; fi
done
# A test that is starting another server holds this lock, and that server's reaper removes the directory.
flock --nonblock "$3/starting" sh -c 'if grep -qF -- "\"$1\"" "$2/server.json"; then rm -rf -- "$2"; fi' end "$2" "$3"
"#;

/// The file by which other tests find the server.
#[derive(Serialize, Deserialize)]
pub(super) struct Address {
    pub(super) origin: String,
    pub(super) authority: String,
    pub(super) directory: PathBuf,
}

/// A lock that shows that the server is in use.
pub(super) struct Use {
    _users: File,
}

impl Use {
    fn of(directory: &Path) -> Option<Self> {
        let users = File::open(directory.join("users")).ok()?;
        users.try_lock_shared().ok()?;
        Some(Self { _users: users })
    }
}

/// Returns the server of this run, and starts it if necessary. `None` if the tests of a binary run in one process.
pub(super) fn join() -> Option<ApiServer> {
    let run = std::env::temp_dir().join(format!("dayone-kubernetes-{}", std::env::var("NEXTEST_RUN_ID").ok()?));
    fs::create_dir_all(&run).expect("a directory");
    let starting = File::create(run.join("starting")).expect("a lock");
    starting.lock().expect("the lock");
    let known = fs::read(run.join("server.json")).ok().and_then(|json| serde_json::from_slice::<Address>(&json).ok());
    Some(known.and_then(ApiServer::of_others).unwrap_or_else(|| start(&run)))
}

/// Returns a lock on the server of another process, if it still runs.
pub(super) fn joined(address: &Address) -> Option<Use> {
    Use::of(&address.directory)
}

fn start(run: &Path) -> ApiServer {
    let server = ApiServer::start();
    File::create(server.directory().join("users")).expect("a file");
    let address = server.outlive(|leader, directory| reaper(leader, directory, run));
    // This test may have waited for the lock while a reaper removed the directory.
    fs::create_dir_all(run).expect("a directory");
    fs::write(run.join("server.json"), serde_json::to_vec(&address).expect("JSON")).expect("a file");
    ApiServer::of_others(address).expect("a server that was just started")
}

#[expect(clippy::zombie_processes, reason = "it outlives this process, whose end makes it a child of init")]
fn reaper(leader: &Process, directory: &Path, run: &Path) {
    let mut command = Command::new("sh");
    command.args(["-c", REAPER, "reaper", &leader.id().to_string()]).args([directory, run]);
    // In a group of its own: nextest ends the group of a test.
    command.process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a shell starts");
}
