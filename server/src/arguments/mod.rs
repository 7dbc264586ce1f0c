//! The command line: one file per subcommand that has arguments of its own.

mod bmc;
mod boot;
mod build;
mod check;
mod controller;
mod convert;
mod customisation;
mod data;
mod doctor;
mod documents;
mod explain;
mod inspect;
mod manifests;
mod second_step;
mod serve;
mod settings;
mod upstream;

use clap::{Parser, Subcommand, ValueEnum};

pub use bmc::{BmcAccess, BmcArguments, BmcCommand, EjectArguments, MediumArgument, ProbeArguments};
pub use boot::{BootArguments, ServerArguments, ServingArguments};
pub use build::{BaseArgument, BaseFilesArgument, BuildArguments, OutputFile};
pub use check::CheckArguments;
pub use controller::{
    BindAddress, Compatibility, ControllerArguments, ImagesArguments, MetricsAddress, SecretName, StaticServerArguments,
};
pub use convert::ConvertArguments;
pub use customisation::{CustomisationArguments, FileArgument};
pub use data::DataArguments;
pub use doctor::DoctorArguments;
pub use documents::InputFile;
pub use explain::ExplainArguments;
pub use inspect::InspectArguments;
pub use manifests::ManifestsArguments;
pub use second_step::{SecondStepArguments, SecondStepFormat};
pub use serve::ServeArguments;
pub use settings::{Settings, SettingsError};
pub use upstream::parse;

/// `NMState` in, bootable virtual media out.
#[derive(Debug, Parser)]
#[command(
    name = "dayone",
    version,
    about = "NMState in, bootable virtual media out",
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong arguments or settings, 130 or 143 ended by a signal."
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One thing that dayone does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve images to BMCs, and the API that makes them
    Serve(Box<ServeArguments>),
    /// Serve Metal3's PreprovisioningImages in Kubernetes
    Controller(Box<ControllerArguments>),
    /// Serve images made of a directory of NMState documents, under the documents' names
    StaticServer(Box<StaticServerArguments>),
    /// Write the boot image of one host to a file
    Build(Box<BuildArguments>),
    /// Boot hosts from their images, by way of their BMCs
    Boot(Box<BootArguments>),
    /// Convert NMState to NetworkManager keyfiles
    Convert(ConvertArguments),
    /// Say what is wrong with documents, and build nothing
    Check(CheckArguments),
    /// Say what a finding's code means: what will happen on the host, and how to fix it
    Explain(ExplainArguments),
    /// Write the MachineConfigs that bring hosts their network after the installation, with br-ex
    SecondStep(SecondStepArguments),
    /// Write hosts as Kubernetes objects of Metal3: BareMetalHost and Secrets
    Manifests(ManifestsArguments),
    /// Say what an image is, what can be done with it, and what it carries
    Inspect(InspectArguments),
    /// Ask a BMC by Redfish
    #[command(subcommand)]
    Bmc(BmcCommand),
    /// Take out what is inserted in a BMC's virtual media
    Eject(EjectArguments),
    /// Say which BMCs would fail to read an image from a URL, and why
    Doctor(DoctorArguments),
}

/// What a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum OutputFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object, for programs
    Json,
}
