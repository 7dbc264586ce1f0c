//! The command line: one file per command.

mod access;
mod audit;
mod base;
mod bmc;
mod boot;
mod boots;
mod build;
mod check;
mod completions;
mod config;
mod contents;
mod controller;
mod convert;
mod customisation;
mod doctor;
mod documents;
mod explain;
mod images;
mod init;
mod inspect;
mod key;
mod man_pages;
mod manifests;
mod old_spellings;
mod program;
pub(crate) mod refusal;
mod second_step;
mod serve;
mod server_access;
mod settings;
mod upstream;

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};

pub use access::AccessArguments;
pub use audit::{AuditCommand, AuditShowArguments, AuditVerifyArguments};
pub use base::{
    BaseAddArguments, BaseCommand, BaseFetchArguments, BaseListArguments, BaseRmArguments, OfRole, ProofArguments,
    StreamArguments,
};
pub use bmc::{BmcAccess, BmcArguments, BmcCommand, EjectArguments, EnrolArguments, MediumArgument, ProbeArguments};
pub use boot::{BootArguments, ServerArguments, ServingArguments};
pub use boots::{
    BootsCommand, BootsListArguments, BootsRemoveArguments, BootsServer, BootsShowArguments, BootsWatchArguments,
};
pub use build::{BaseArgument, BuildArguments, DataArguments};
pub use check::CheckArguments;
pub use completions::CompletionsArguments;
pub use config::{CheckConfigArguments, ConfigCommand, ConfigFormat};
pub use contents::ContentsArguments;
pub use controller::{
    BindAddress, Compatibility, ControllerArguments, ImagesArguments, MetricsAddress, Namespaces, SecretName,
    StaticServerArguments,
};
pub use convert::ConvertArguments;
pub use customisation::{CustomisationArguments, FileArgument};
pub use doctor::DoctorArguments;
pub use documents::InputFile;
pub use explain::ExplainArguments;
pub use images::{ImagesCommandArguments, ListFormat};
pub use init::InitArguments;
pub use inspect::InspectArguments;
pub use key::{KeyCommand, KeyPlace, KeyRotateArguments};
pub use man_pages::ManPagesArguments;
pub use manifests::ManifestsArguments;
pub use program::{CommandLine, Program};
pub use second_step::{SecondStepArguments, SecondStepFormat};
pub use serve::ServeArguments;
pub use server_access::ServerAccess;
pub use settings::{IdleSeconds, Settings};
pub use upstream::parse;

/// Reads where a command writes that has no `-` for its standard output: nobody wants a file of this name.
fn path_to_write() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if path == Path::new("-") {
            return Err("this is not standard output here; to write to this name, give ./-");
        }
        Ok(path)
    })
}

/// `NMState` in, bootable virtual media out.
#[derive(Debug, Parser)]
#[command(
    name = "dayone",
    version,
    long_version = crate::version::long(),
    about = "NMState in, bootable virtual media out",
    after_help = "Exit codes: 0 success, 1 failure, 2 wrong arguments or settings, 130 or 143 ended by a signal."
)]
pub struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,

    /// What to tell the user about the spelling of the command line.
    #[arg(skip)]
    pub notices: Vec<String>,
}

/// A command of dayone.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve images to BMCs, and the API that makes them
    Serve(Box<ServeArguments>),
    /// Check and show the settings of a server
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Write a settings file and a fleet to begin with
    Init(InitArguments),
    /// Serve Metal3's PreprovisioningImages in Kubernetes
    Controller(Box<ControllerArguments>),
    /// Serve images made from a directory of NMState documents
    StaticServer(Box<StaticServerArguments>),
    /// Write the boot image of one host to a file, or those of all hosts into a directory
    Build(Box<BuildArguments>),
    /// Boot hosts from their images, through their BMCs
    Boot(Box<BootArguments>),
    /// Watch, list, show and delete the boots of a dayone server
    #[command(subcommand)]
    Boots(BootsCommand),
    /// Add bases to a dayone server, replace, list and remove them; fetch a base into a file
    #[command(subcommand)]
    Base(Box<BaseCommand>),
    /// Check and show the audit log of a dayone server
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Replace the installation key of a dayone server
    #[command(subcommand)]
    Key(KeyCommand),
    /// List the images of a dayone server: the host and the URL of each
    Images(ImagesCommandArguments),
    /// Convert NMState to NetworkManager keyfiles
    Convert(ConvertArguments),
    /// Find mistakes in documents before anything boots
    Check(CheckArguments),
    /// Explain the code of a finding: what will happen on the host, and how to fix it
    Explain(ExplainArguments),
    /// Write the MachineConfigs that give hosts their network after the installation, with br-ex
    SecondStep(SecondStepArguments),
    /// Write hosts as Metal3's Kubernetes objects: BareMetalHost and Secrets
    Manifests(ManifestsArguments),
    /// Show what an image is, what dayone can make from it, and what is embedded in it
    Inspect(InspectArguments),
    /// Read a BMC, or let its machine trust your site's certificate
    #[command(subcommand)]
    Bmc(BmcCommand),
    /// Eject the media in a BMC's virtual media slots
    Eject(EjectArguments),
    /// Test which BMCs would fail to read an image from a URL, and why
    Doctor(DoctorArguments),
    /// Print the script that completes dayone's commands and options in a shell
    Completions(CompletionsArguments),
    /// Write the manual pages of dayone's commands
    ManPages(ManPagesArguments),
}

/// The format of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum OutputFormat {
    /// For people
    #[default]
    Text,
    /// JSON, for programs: one object; for commands that follow boots, one a line
    Json,
}
