//! Writes the `MachineConfig` that brings the documents of a role to its hosts.

use base64::prelude::*;
use serde_yaml::Value;

use super::roles::by_role;
use super::{DIRECTORY, FirstStep, Role, SecondStepDocument};
use crate::members::mapping;
use crate::yaml_text;
use vocabulary::report::{DocumentPath, Report};

/// The version of Ignition configs that all supported releases of `OpenShift` accept in a `MachineConfig`.
const IGNITION_VERSION: &str = "3.2.0";

/// etcd accepts objects of 1.5 MiB, and the API server adds some bytes.
const MAX_BYTES: usize = 1_500_000;

/// A `MachineConfig`: the documents of all hosts of one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineConfig {
    /// The role.
    pub role: Role,
    /// The names of the files on the hosts.
    pub files: Vec<String>,
    /// The object, in YAML.
    pub yaml: String,
}

impl MachineConfig {
    /// Returns the object's name.
    pub fn name(&self) -> String {
        name(&self.role)
    }
}

fn name(role: &Role) -> String {
    format!("10-br-ex-{role}")
}

/// Makes the `MachineConfig`s that bring `documents` to their hosts, one for each role. Roles come from the documents and the
/// first step. `role` is the default, and one of the roles of a document for all hosts.
pub fn machine_configs(
    documents: &[SecondStepDocument],
    first_step: &FirstStep,
    role: Option<&Role>,
) -> (Vec<MachineConfig>, Report) {
    let mut report = Report::new();
    let mut configs = Vec::new();
    for (role, documents) in by_role(documents, first_step, role, &mut report) {
        let files: Vec<String> = documents.iter().map(|document| document.target.file_name()).collect();
        let yaml = yaml_text::document(&object(&role, &documents));
        if yaml.len() > MAX_BYTES {
            let message = format!(
                "has {} bytes with its {} files, and Kubernetes stores at most {MAX_BYTES}: split the hosts into \
                 several roles (pools)",
                yaml.len(),
                files.len()
            );
            let path = DocumentPath::document(&format!("MachineConfig/{}", name(&role)));
            report.error("machine-config-too-large", &path, message);
        }
        configs.push(MachineConfig { role, files, yaml });
    }
    (configs, report)
}

fn object(role: &Role, documents: &[&SecondStepDocument]) -> Value {
    let labels = mapping([("machineconfiguration.openshift.io/role", role.as_str().into())]);
    let files: Vec<Value> = documents.iter().map(|document| file(document)).collect();
    let config = mapping([
        ("ignition", mapping([("version", IGNITION_VERSION.into())]).into()),
        ("storage", mapping([("files", files.into())]).into()),
    ]);
    let object = mapping([
        ("apiVersion", "machineconfiguration.openshift.io/v1".into()),
        ("kind", "MachineConfig".into()),
        ("metadata", mapping([("labels", labels.into()), ("name", name(role).into())]).into()),
        ("spec", mapping([("config", config.into())]).into()),
    ]);
    object.into()
}

fn file(document: &SecondStepDocument) -> Value {
    let source = format!("data:text/plain;charset=utf-8;base64,{}", BASE64_STANDARD.encode(&document.content));
    let file = mapping([
        ("contents", mapping([("source", source.into())]).into()),
        // In decimal, because readers of YAML 1.1 and 1.2 read octal numbers differently.
        ("mode", 0o644.into()),
        ("overwrite", true.into()),
        ("path", format!("{DIRECTORY}/{}", document.target.file_name()).into()),
    ]);
    file.into()
}
