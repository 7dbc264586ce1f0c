//! The `MachineConfig` that brings the documents of a role to its hosts.

use base64::prelude::*;
use serde::Serialize;

use super::roles::by_role;
use super::{DIRECTORY, Role, SecondStepDocument};
use crate::yaml_text;
use vocabulary::host::HostSpec;
use vocabulary::report::{DocumentPath, Report};

/// The release of Ignition's configuration that all supported releases of `OpenShift` take in a `MachineConfig`.
const IGNITION_VERSION: &str = "3.2.0";

/// What etcd takes as one object is 1.5 MiB, of which some is the API server's.
const MAX_BYTES: usize = 1_500_000;

/// A `MachineConfig`: the documents of all hosts of one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineConfig {
    /// The role.
    pub role: Role,
    /// The names of its files on the hosts.
    pub files: Vec<String>,
    /// The object in YAML.
    pub yaml: String,
}

impl MachineConfig {
    /// The object's name.
    pub fn name(&self) -> String {
        name(&self.role)
    }
}

fn name(role: &Role) -> String {
    format!("10-br-ex-{role}")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Serialize)]
struct Metadata {
    labels: Labels,
    name: String,
}

#[derive(Serialize)]
struct Labels {
    #[serde(rename = "machineconfiguration.openshift.io/role")]
    role: String,
}

#[derive(Serialize)]
struct Spec {
    config: Config,
}

#[derive(Serialize)]
struct Config {
    ignition: Ignition,
    storage: Storage,
}

#[derive(Serialize)]
struct Ignition {
    version: &'static str,
}

#[derive(Serialize)]
struct Storage {
    files: Vec<File>,
}

#[derive(Serialize)]
struct File {
    contents: Contents,
    /// In decimal: readers of YAML 1.1 and of 1.2 take octal numbers for different ones.
    mode: u32,
    overwrite: bool,
    path: String,
}

#[derive(Serialize)]
struct Contents {
    source: String,
}

/// The `MachineConfig`s that bring `documents` to their hosts, by role. Roles are those of the documents and of the first
/// step; where neither says, `role`.
pub fn machine_configs(
    documents: &[SecondStepDocument],
    first_step: &[HostSpec],
    role: Option<&Role>,
) -> (Vec<MachineConfig>, Report) {
    let mut report = Report::new();
    let mut configs = Vec::new();
    for (role, documents) in by_role(documents, first_step, role, &mut report) {
        let files: Vec<String> = documents.iter().map(|document| document.target.file_name()).collect();
        let object = Object {
            api_version: "machineconfiguration.openshift.io/v1",
            kind: "MachineConfig",
            metadata: Metadata { labels: Labels { role: role.to_string() }, name: name(&role) },
            spec: Spec {
                config: Config {
                    ignition: Ignition { version: IGNITION_VERSION },
                    storage: Storage { files: documents.iter().map(|document| file(document)).collect() },
                },
            },
        };
        // Structures with texts for keys are always a value.
        let yaml = yaml_text::document(&serde_yaml::to_value(object).unwrap_or_default());
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

fn file(document: &SecondStepDocument) -> File {
    File {
        contents: Contents {
            source: format!("data:text/plain;charset=utf-8;base64,{}", BASE64_STANDARD.encode(&document.content)),
        },
        mode: 0o644,
        overwrite: true,
        path: format!("{DIRECTORY}/{}", document.target.file_name()),
    }
}
