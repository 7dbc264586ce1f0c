//! The binary itself.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// The binary `dayone`: that of `DAYONE_BIN`, or the one that was built beside the tests.
pub fn dayone() -> Command {
    let path = std::env::var_os("DAYONE_BIN").map_or_else(beside_the_tests, PathBuf::from);
    assert!(path.exists(), "{} is missing; run cargo build -p dayone", path.display());
    let mut command = Command::new(path);
    command.env("NO_COLOR", "1");
    command
}

fn beside_the_tests() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test");
    let directory = test.ancestors().nth(2).expect("target/debug/deps/test");
    directory.join("dayone")
}

/// A running `dayone serve`. It ends with this value.
pub struct Serving {
    child: Child,
    /// The API's address: `127.0.0.1:12345`.
    pub api: String,
}

impl Serving {
    /// Starts a server on ports that are free, with its state in `data_dir`, and waits until it serves.
    pub fn start(data_dir: &Path, bases: &[String]) -> Self {
        let mut command = dayone();
        command.arg("serve").arg("--data-dir").arg(data_dir);
        command.args(["--api-listen", "127.0.0.1:0", "--media-listen", "127.0.0.1:0", "--log-format", "json"]);
        for base in bases {
            command.arg("--base").arg(base);
        }
        let mut child = command.stderr(Stdio::piped()).stdin(Stdio::null()).spawn().expect("dayone starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let api = loop {
            let line = lines.next().expect("dayone serves").expect("a line of the log");
            let line: Value = serde_json::from_str(&line).expect("JSON");
            if let (Some("dayone serves"), Some(api)) = (line["message"].as_str(), line["api"].as_str()) {
                break api.to_owned();
            }
        };
        // What is not read would block the server when the pipe is full.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, api }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
