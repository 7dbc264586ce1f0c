//! Playbooks of the collection in `deploy/ansible`, run by Ansible itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use acceptance::bases::fixtures;
use acceptance::peers::peer;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Ansible with a home of its own, which knows the collection and a server.
pub(crate) struct Ansible {
    directory: TempDir,
    api: String,
    token: Option<String>,
}

/// What a task has returned.
pub(crate) struct TaskResult {
    pub(crate) result: Value,
    /// Everything that Ansible has printed with the most verbose output, and written to the system's log.
    pub(crate) printed: String,
}

/// Python runs this file first. The file records what a module writes to the log of the host that it runs on.
const LOGGING: &str = "\
import os, sys, syslog
sys.modules['systemd'] = None
def log(*arguments):
    with open(os.environ['HOME'] + '/log', 'a') as file:
        file.write(repr(arguments) + chr(10))
syslog.syslog = log
";

impl TaskResult {
    #[track_caller]
    pub(crate) fn changed(self, expected: bool) -> Value {
        assert!(!self.result["failed"].as_bool().unwrap_or(false), "{:#}", self.result);
        assert_eq!(self.result["changed"], json!(expected), "{:#}", self.result);
        self.result
    }

    #[track_caller]
    pub(crate) fn failed(self, words: &str) -> Value {
        assert_eq!(self.result["failed"], true, "{:#}", self.result);
        assert!(self.result["msg"].as_str().is_some_and(|msg| msg.contains(words)), "{words}: {:#}", self.result);
        self.result
    }
}

impl Ansible {
    pub(crate) fn new(api: &str, token: Option<&str>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir(directory.path().join("python")).expect("a directory");
        fs::write(directory.path().join("python/sitecustomize.py"), LOGGING).expect("a file");
        Self { directory, api: api.to_owned(), token: token.map(str::to_owned) }
    }

    /// Where the collections are.
    pub(crate) fn collections() -> PathBuf {
        fs::canonicalize(fixtures("../deploy/ansible")).expect("a directory")
    }

    /// A program of Ansible.
    pub(crate) fn command(&self, name: &str) -> Command {
        let mut command = peer(name);
        command.env("HOME", self.directory.path()).env("ANSIBLE_COLLECTIONS_PATH", Self::collections());
        command.env("ANSIBLE_NOCOLOR", "1").env("ANSIBLE_LOCALHOST_WARNING", "false").env("LC_ALL", "C.UTF-8");
        command.env("ANSIBLE_INVENTORY_UNPARSED_WARNING", "false").env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("DAYONE_URL", &self.api).current_dir(self.directory.path());
        command.envs(self.token.iter().map(|token| ("DAYONE_API_TOKEN", token)));
        command
    }

    /// Runs one task, which may fail.
    pub(crate) fn task(&self, module: &str, arguments: &Value, more: &[&str]) -> TaskResult {
        self.tasks(&[(module, arguments.clone())], more).remove(0)
    }

    /// Runs tasks in one playbook, which costs less time than one for each. They may fail. All have the output of the playbook.
    pub(crate) fn tasks(&self, tasks: &[(&str, Value)], more: &[&str]) -> Vec<TaskResult> {
        let result = self.directory.path().join("results.json");
        // An earlier playbook may have left it.
        let _ = fs::remove_file(&result);
        let names = (0..tasks.len()).map(|number| format!("result_{number}")).collect::<Vec<_>>();
        let run = tasks.iter().zip(&names).map(|((module, arguments), name)| {
            json!({(format!("dayone.dayone.{module}")): arguments, "register": name, "ignore_errors": true})
        });
        // A module that writes a file would take as long as all the rest.
        let write = format!(
            "{{{{ lookup('ansible.builtin.pipe', 'printf %s ' ~ ([{}] | to_json | quote) ~ ' > {}') }}}}",
            names.join(", "),
            result.display()
        );
        let keep = json!({"ansible.builtin.debug": {"msg": write}});
        let play = json!([{
            "hosts": "localhost",
            "gather_facts": false,
            "tasks": run.chain([keep]).collect::<Vec<_>>(),
        }]);
        let output = self.play(&play, more);
        let printed = self.printed(&output);
        assert!(output.status.success(), "{printed}");
        let text = fs::read_to_string(&result).unwrap_or_else(|error| panic!("{error}\n{printed}"));
        let results: Vec<Value> = serde_json::from_str(&text).expect("JSON");
        assert_eq!(results.len(), tasks.len(), "{text}");
        results.into_iter().map(|result| TaskResult { result, printed: printed.clone() }).collect()
    }

    /// What a playbook has printed, and its modules have logged.
    fn printed(&self, output: &Output) -> String {
        // dayone's modules log nothing.
        let logged = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        let [out, err] = [&output.stdout, &output.stderr].map(|printed| String::from_utf8_lossy(printed));
        format!("{out}{err}{logged}")
    }

    fn play(&self, play: &Value, more: &[&str]) -> Output {
        let path: &Path = &self.directory.path().join("play.json");
        fs::write(path, play.to_string()).expect("a file");
        let python = self.directory.path().join("python");
        self.command("ansible-playbook")
            .env("PYTHONPATH", python)
            // A port on which no program listens: a request that uses the proxy fails.
            .env("http_proxy", "http://127.0.0.1:1")
            .arg("-vvv")
            .args(more)
            .arg(path)
            .output()
            .expect("ansible starts")
    }
}

/// The tests would not see a secret there otherwise.
#[test]
fn what_modules_log_is_recorded() {
    let ansible = Ansible::new("http://127.0.0.1:1", None);
    let play = json!([{
        "hosts": "localhost",
        "gather_facts": false,
        "tasks": [{"ansible.builtin.ping": {"data": "hunter2"}}],
    }]);
    let output = ansible.play(&play, &[]);
    assert!(output.status.success(), "{output:?}");
    let printed = ansible.printed(&output);
    assert!(printed.contains("Invoked with data=hunter2"), "{printed}");
}
