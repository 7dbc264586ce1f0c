//! What Helm makes of the chart.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::bases::fixtures;
use crate::kustomize::objects;
use crate::peers::{peer, run_text};

/// The release's name.
pub const RELEASE: &str = "dayone";

/// Helm, with a home of its own.
pub struct Helm(TempDir);

impl Helm {
    /// Makes the home.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    /// The chart of this repository.
    pub fn chart() -> PathBuf {
        fixtures("../deploy/chart/dayone")
    }

    /// A command of Helm, such as `lint`.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = peer("helm");
        command.args(arguments).env_remove("KUBECONFIG");
        for home in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(home, self.0.path());
        }
        command
    }

    /// `helm template` with values, whatever becomes of it.
    pub fn try_template(&self, namespace: &str, values: &Value) -> Output {
        self.template_command(namespace, values).output().expect("helm starts")
    }

    /// The objects that `helm template` makes of values.
    pub fn template(&self, namespace: &str, values: &Value) -> Vec<Value> {
        objects(&run_text(&mut self.template_command(namespace, values)))
    }

    /// Values as a file, for `--values`.
    pub fn values(&self, values: &Value) -> PathBuf {
        let path = self.0.path().join("values.json");
        std::fs::write(&path, values.to_string()).expect("a file");
        path
    }

    fn template_command(&self, namespace: &str, values: &Value) -> Command {
        let mut command = self.command(&["template", RELEASE, "--namespace", namespace, "--values"]);
        command.arg(self.values(values)).arg(Self::chart());
        command
    }
}

impl Default for Helm {
    fn default() -> Self {
        Self::new()
    }
}
