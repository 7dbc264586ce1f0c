//! From the arguments to what the API is asked for (`BootRequest` of its description).

use base64::prelude::*;
use imagelib::base::Format;
use imagelib::ignition::{ExtraFile, SshPublicKey, Unit};
use imagelib::kernel_arguments::KernelArgumentEdits;
use serde::Serialize;
use serde_json::Value;

use crate::arguments::{BootArguments, InputFile};
use crate::boots::{EjectWhen, Evidence};
use crate::commands::customisation::Customisation;
use crate::commands::failure::Failure;
use crate::commands::files::{self, ReadFile};

/// A request for boots.
#[derive(Serialize)]
pub(super) struct Order {
    documents: Vec<DocumentFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    base: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignition: Option<Value>,
    ssh_authorized_keys: Vec<SshPublicKey>,
    files: Vec<ExtraFile>,
    units: Vec<Unit>,
    auto_default: bool,
    kernel_arguments: KernelArgumentEdits,
    boot_entries: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rootfs_url: Option<String>,
    replace_embedded: bool,
    bmc: Bmc,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_for: Option<Vec<Evidence>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    booted_within: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shutdown_within: Option<u64>,
    eject: EjectWhen,
}

/// A file; text, or in base64 what is none.
#[derive(Serialize)]
struct DocumentFile {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
}

#[derive(Serialize)]
struct Bmc {
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disable_certificate_verification: Option<bool>,
}

impl Order {
    /// What is asked for, over the base of this name, with the credentials of this name.
    pub(super) fn new(
        arguments: &BootArguments,
        base: String,
        credentials: Option<String>,
        eject: EjectWhen,
    ) -> Result<Self, Failure> {
        let Customisation { ignition, ssh_keys, files, units, kernel_arguments } =
            Customisation::read(&arguments.customisation)?;
        let text = |path: &dyn ToString| path.to_string();
        let customisation = &arguments.customisation;
        Ok(Self {
            documents: documents(&arguments.documents)?,
            host: arguments.host_name.clone(),
            base,
            format: arguments.format,
            hostname: customisation.hostname.as_ref().map(|name| text(name)),
            // It was read as JSON already.
            ignition: ignition.and_then(|(_, config)| serde_json::from_slice(&config).ok()),
            ssh_authorized_keys: ssh_keys,
            files,
            units,
            auto_default: customisation.auto_default,
            kernel_arguments,
            boot_entries: customisation.boot_entry.clone(),
            profile: customisation.profile.map(|profile| text(&profile)),
            rootfs_url: customisation.rootfs_url.as_ref().map(|url| text(url)),
            replace_embedded: arguments.force,
            bmc: Bmc {
                address: arguments.bmc.clone(),
                credentials,
                disable_certificate_verification: arguments.access.insecure.then_some(true),
            },
            wait_for: Some(arguments.wait_for.clone()).filter(|signs| !signs.is_empty()),
            booted_within: arguments.booted_within,
            shutdown_within: arguments.shutdown_within,
            eject,
        })
    }
}

/// All files, with their names, so that findings say where in them something is.
fn documents(files: &[InputFile]) -> Result<Vec<DocumentFile>, Failure> {
    let file = |ReadFile { name, content, .. }| match String::from_utf8(content) {
        Ok(text) => DocumentFile { name, text: Some(text), data: None },
        Err(error) => DocumentFile { name, text: None, data: Some(BASE64_STANDARD.encode(error.as_bytes())) },
    };
    Ok(files::read_all(files)?.into_iter().map(file).collect())
}
