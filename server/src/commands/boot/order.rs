//! Makes a request for boots (the API's `BootRequest`) from the arguments.

use std::borrow::Cow;
use std::num::NonZeroU32;

use base64::prelude::*;
use hosts::every_host::{ConvertedHost, EveryHost};
use hosts::input::{self, Text};
use hosts::network::Target;
use imagelib::base::Format;
use imagelib::ignition::{ExtraFile, SshPublicKey, Unit};
use imagelib::kernel_arguments::KernelArgumentEdits;
use media::access::{Network, Ttl};
use redfish::BmcAddress;
use serde::Serialize;
use serde_json::Value;
use vocabulary::answers::Answers;

use crate::arguments::{BootArguments, InputFile};
use crate::boots::{BootMethod, EjectWhen, Evidence};
use crate::commands::customisation::Customisation;
use crate::commands::failure::Failure;
use crate::commands::files::{self, ReadFile};

/// A request for boots. The API accepts null for absent members that it knows. Servers refuse members that they do not know, so members
/// that 0.2 does not have are left out unless the user gave them.
#[derive(Serialize)]
pub(super) struct Order {
    documents: Vec<DocumentFile>,
    host: Option<String>,
    base: String,
    format: Option<Format>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<BootMethod>,
    #[serde(skip_serializing_if = "Option::is_none")]
    firmware_interface: Option<String>,
    hostname: Option<String>,
    ignition: Option<Value>,
    ssh_authorized_keys: Vec<SshPublicKey>,
    files: Vec<ExtraFile>,
    units: Vec<Unit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<Answers>,
    auto_default: bool,
    kernel_arguments: KernelArgumentEdits,
    boot_entries: Vec<String>,
    profile: Option<String>,
    rootfs_url: Option<String>,
    replace_embedded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<Ttl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_reads: Option<NonZeroU32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    only_from: Option<Vec<Network>>,
    bmc: Bmc,
    wait_for: Option<Vec<Evidence>>,
    booted_within: Option<u64>,
    shutdown_within: Option<u64>,
    eject: EjectWhen,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
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

    /// Returns the names of the hosts, as far as dayone can read the documents, and the addresses of their BMCs. There is none for a host whose
    /// address is missing or not valid.
    pub(super) fn hosts(&self) -> Vec<(String, Option<BmcAddress>)> {
        let contents: Vec<(&str, Cow<'_, [u8]>)> = self.documents.iter().map(DocumentFile::content).collect();
        let texts = contents.iter().map(|(name, text)| Text { name: Some(*name), text: text.as_ref() });
        let every = EveryHost::convert(input::read_all(texts), Target::default());
        let hosts: Vec<ConvertedHost> = match &self.host {
            Some(name) => every.choose(Some(name.as_str())).into_iter().collect(),
            None => every.into_hosts(),
        };
        let of_host = |ConvertedHost { host, .. }: ConvertedHost| {
            let address = self.bmc.address.as_deref().or_else(|| Some(host.bmc.as_ref()?.address.as_str()));
            let name = host.name.as_deref().or(address).unwrap_or("a host without a name");
            (name.to_owned(), address.and_then(|address| address.parse::<BmcAddress>().ok()))
        };
        hosts.into_iter().map(of_host).collect()
    }
}

impl DocumentFile {
    /// Returns the name and the content.
    fn content(&self) -> (&str, Cow<'_, [u8]>) {
        match self {
            Self::Text { name, text } => (name, Cow::Borrowed(text.as_bytes())),
            Self::Data { name, data } => (name, Cow::Owned(BASE64_STANDARD.decode(data).unwrap_or_default())),
        }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser as _;

    use super::*;
    use crate::arguments::{Arguments, Command};

    /// The members that dayone 0.2 sent. Its server refuses all that it does not know, also if they are null.
    const OF_0_2: [&str; 20] = [
        "documents",
        "host",
        "base",
        "format",
        "hostname",
        "ignition",
        "ssh_authorized_keys",
        "files",
        "units",
        "auto_default",
        "kernel_arguments",
        "boot_entries",
        "profile",
        "rootfs_url",
        "replace_embedded",
        "bmc",
        "wait_for",
        "booted_within",
        "shutdown_within",
        "eject",
    ];

    /// The members of the request that a command line makes, besides those of 0.2.
    fn newer_members(options: &[&str]) -> BTreeSet<String> {
        let directory = tempfile::tempdir().unwrap();
        let documents = directory.path().join("host.yaml");
        std::fs::write(&documents, "interfaces: []\n").unwrap();
        let line =
            ["dayone", "boot", documents.to_str().unwrap(), "--base", "coreos", "--server", "http://192.0.2.1:8080"];
        let arguments = Arguments::try_parse_from(line.iter().chain(options)).unwrap();
        let Command::Boot(arguments) = arguments.command else { panic!("another command") };
        let order = Order::new(&arguments, "coreos".to_owned(), None, EjectWhen::Deleted).unwrap();
        let Value::Object(members) = serde_json::to_value(order).unwrap() else { panic!("not an object") };
        members.into_iter().map(|(name, _)| name).filter(|name| !OF_0_2.contains(&name.as_str())).collect()
    }

    #[test]
    fn a_server_of_0_2_knows_every_member_of_a_plain_order() {
        assert_eq!(newer_members(&[]), BTreeSet::new());
        let options = ["--method", "http", "--firmware-interface", "NIC.1", "--ttl", "3600", "--max-reads", "2"];
        let more = ["--only-from", "192.0.2.0/24", "--ignore-secure-boot"];
        let given = ["method", "firmware_interface", "ttl", "max_reads", "only_from", "ignore_secure_boot"];
        assert_eq!(newer_members(&[&options[..], &more[..]].concat()), given.map(str::to_owned).into());
    }
}
