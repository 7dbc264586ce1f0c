//! Makes a request for boots (the API's `BootRequest`) from the arguments.

use std::num::NonZeroU32;

use base64::prelude::*;
use imagelib::base::Format;
use imagelib::ignition::{ExtraFile, SshPublicKey, Unit};
use imagelib::kernel_arguments::KernelArgumentEdits;
use media::access::{Network, Ttl};
use serde::Serialize;
use serde_json::Value;
use vocabulary::answers::Answers;

use crate::arguments::{BootArguments, InputFile};
use crate::boots::{BootMethod, EjectWhen, Evidence};
use crate::commands::customisation::Customisation;
use crate::commands::failure::Failure;
use crate::commands::files::{self, ReadFile};

/// A request for boots. The API accepts null for absent members.
#[derive(Serialize)]
pub(super) struct Order {
    documents: Vec<DocumentFile>,
    host: Option<String>,
    base: String,
    format: Option<Format>,
    method: Option<BootMethod>,
    firmware_interface: Option<String>,
    hostname: Option<String>,
    ignition: Option<Value>,
    ssh_authorized_keys: Vec<SshPublicKey>,
    files: Vec<ExtraFile>,
    units: Vec<Unit>,
    answers: Option<Answers>,
    auto_default: bool,
    kernel_arguments: KernelArgumentEdits,
    boot_entries: Vec<String>,
    profile: Option<String>,
    rootfs_url: Option<String>,
    replace_embedded: bool,
    ttl: Option<Ttl>,
    max_reads: Option<NonZeroU32>,
    only_from: Option<Vec<Network>>,
    bmc: Bmc,
    wait_for: Option<Vec<Evidence>>,
    booted_within: Option<u64>,
    shutdown_within: Option<u64>,
    eject: EjectWhen,
    ignore_secure_boot: bool,
}

/// A file; its content is text if possible, otherwise base64.
#[derive(Serialize)]
#[serde(untagged)]
enum DocumentFile {
    Text { name: String, text: String },
    Data { name: String, data: String },
}

#[derive(Serialize)]
struct Bmc {
    address: Option<String>,
    credentials: Option<String>,
    disable_certificate_verification: Option<bool>,
}

impl Order {
    /// Makes the request, with the names of the base and of the credentials.
    pub(super) fn new(
        arguments: &BootArguments,
        base: String,
        credentials: Option<String>,
        eject: EjectWhen,
    ) -> Result<Self, Failure> {
        let Customisation { ignition, ssh_keys, files, units, kernel_arguments, answers } =
            Customisation::read(&arguments.customisation)?;
        let text = |path: &dyn ToString| path.to_string();
        let customisation = &arguments.customisation;
        Ok(Self {
            documents: documents(&arguments.documents)?,
            host: arguments.host.clone(),
            base,
            format: arguments.image_format,
            method: arguments.method,
            firmware_interface: arguments.firmware_interface.clone(),
            hostname: customisation.set_hostname.as_ref().map(|name| text(name)),
            // This is valid JSON, because it has been parsed before.
            ignition: ignition.and_then(|(_, config)| serde_json::from_slice(&config).ok()),
            ssh_authorized_keys: ssh_keys,
            files,
            units,
            answers,
            auto_default: customisation.auto_default,
            kernel_arguments,
            boot_entries: customisation.boot_entry.clone(),
            profile: customisation.profile.map(|profile| text(&profile)),
            rootfs_url: customisation.rootfs_url.as_ref().map(|url| text(url)),
            replace_embedded: arguments.force,
            ttl: arguments.image_access.ttl,
            max_reads: arguments.image_access.max_reads,
            only_from: Some(arguments.image_access.only_from.clone()).filter(|networks| !networks.is_empty()),
            bmc: Bmc {
                address: arguments.bmc.clone(),
                credentials,
                disable_certificate_verification: arguments.access.insecure.then_some(true),
            },
            wait_for: Some(arguments.wait_for.clone()).filter(|signs| !signs.is_empty()),
            booted_within: arguments.booted_within,
            shutdown_within: arguments.shutdown_within,
            eject,
            ignore_secure_boot: arguments.ignore_secure_boot,
        })
    }
}

/// Reads all files, with their names for the positions of findings.
fn documents(files: &[InputFile]) -> Result<Vec<DocumentFile>, Failure> {
    let file = |ReadFile { name, content, .. }| match String::from_utf8(content) {
        Ok(text) => DocumentFile::Text { name, text },
        Err(error) => DocumentFile::Data { name, data: BASE64_STANDARD.encode(error.as_bytes()) },
    };
    Ok(files::read_all(files)?.into_iter().map(file).collect())
}
