//! `dayone bmc` and `dayone eject`, and the arguments of all commands that talk to a BMC.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ipnet::IpNet;

use super::OutputFormat;

/// The examples in the help text of `dayone bmc probe`.
const PROBE_EXAMPLES: &str = "\
Examples:
  dayone bmc probe redfish-virtualmedia://192.0.2.10 --bmc-username root --bmc-password-file pw --bmc-ca bmc.pem
  dayone bmc probe hosts.yaml --host worker-0
  dayone bmc probe redfish-virtualmedia+http://192.0.2.10/redfish/v1/Systems/1 --medium usb --format json";

/// The examples in the help text of `dayone bmc enrol`.
const ENROL_EXAMPLES: &str = "\
Examples:
  dayone bmc enrol redfish-virtualmedia://192.0.2.10 --certificate site.crt --bmc-username root --bmc-password-file pw
  dayone bmc enrol hosts.yaml --host worker-0 --certificate site.crt
  dayone bmc enrol redfish-virtualmedia+http://192.0.2.10/redfish/v1/Systems/1 --certificate site.crt --format json";

/// The examples in the help text of `dayone eject`.
const EJECT_EXAMPLES: &str = "\
Examples:
  dayone eject redfish-virtualmedia://192.0.2.10 --bmc-username root --bmc-password-file pw --bmc-ca bmc.pem
  dayone eject hosts.yaml --host worker-0
  dayone eject hosts.yaml --host worker-0 --slot Cd";

/// Which BMC, and how to log in to it.
#[derive(Debug, Args)]
pub struct BmcArguments {
    /// Address of the BMC, as Metal3 writes it; or documents with a BareMetalHost and its Secret: YAML or JSON files, or - for
    /// standard input
    #[arg(value_name = "ADDRESS|FILE", required = true)]
    pub bmc: Vec<OsString>,

    /// The host, if the documents describe several
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// How to log in.
    #[command(flatten)]
    pub access: BmcAccess,
}

/// How to log in to a BMC, and how to verify it.
#[derive(Debug, Default, Args)]
pub struct BmcAccess {
    /// User name for the BMC [default: from the documents' Secret, or `DAYONE_BMC_USERNAME`]
    #[arg(long, value_name = "NAME")]
    pub bmc_username: Option<String>,

    /// File with the password [default: from the documents' Secret, or `DAYONE_BMC_PASSWORD`]
    #[arg(long, value_name = "FILE")]
    pub bmc_password_file: Option<PathBuf>,

    /// Certificates (PEM) that verify the BMC: its own, or those of a certificate authority [default: this system's
    /// authorities]
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub bmc_ca: Option<PathBuf>,

    /// Do not verify the BMC's certificate: any machine that answers gets the password
    #[arg(long)]
    pub insecure: bool,

    /// Network (CIDR) of the BMC: dayone connects to no address outside; repeatable [default: any address]
    #[arg(long, value_name = "CIDR", value_parser = bmc_network)]
    pub bmc_network: Vec<IpNet>,
}

/// Reads a network of BMCs, or one address.
pub(super) fn bmc_network(text: &str) -> Result<IpNet, &'static str> {
    let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    network.map_err(|_| "write an address, or a network such as 192.0.2.0/24 or 2001:db8::/64")
}

/// `dayone bmc …`.
#[derive(Debug, Subcommand)]
pub enum BmcCommand {
    /// Show what a BMC can do and what dayone would ask of it; change nothing
    Probe(ProbeArguments),
    /// Let a machine with Secure Boot trust the certificate of your site
    Enrol(EnrolArguments),
}

/// The arguments of `dayone bmc enrol`.
#[derive(Debug, Args)]
#[command(after_help = ENROL_EXAMPLES, after_long_help = format!("\
Adds the certificate to the database 'db' of the machine's firmware through its BMC (SecureBootDatabases). Some firmware takes it at the \
next start of the machine. Does nothing if the certificate is there. It changes neither Secure Boot nor any other key.

With Secure Boot, the machine then starts everything that was signed with the key of this certificate: keep that key as you keep a root \
password.

Exit codes: 0 the certificate is in the database, or the BMC has accepted it; 1 the BMC does not offer this or refuses it, or dayone \
cannot reach it or log in to it; 2 wrong arguments.

{ENROL_EXAMPLES}"))]
pub struct EnrolArguments {
    /// Which BMC.
    #[command(flatten)]
    pub bmc: BmcArguments,

    /// The certificate (PEM), as for `--site-certificate`
    #[arg(long, value_name = "FILE")]
    pub certificate: PathBuf,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}

/// The arguments of `dayone bmc probe`.
#[derive(Debug, Args)]
#[command(after_help = PROBE_EXAMPLES, after_long_help = format!("\
dayone reads the BMC and changes nothing. It opens a session and closes it again.

Exit codes: 0 the BMC can boot an image, 1 it cannot, or dayone cannot reach it or log in to it, 2 wrong arguments.

{PROBE_EXAMPLES}"))]
pub struct ProbeArguments {
    /// Which BMC.
    #[command(flatten)]
    pub bmc: BmcArguments,

    /// How the host sees the image
    #[arg(long, value_name = "MEDIUM", default_value = "cd")]
    pub medium: MediumArgument,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}

/// How the host sees an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MediumArgument {
    /// A CD or DVD
    Cd,
    /// A USB stick
    Usb,
}

/// The arguments of `dayone eject`.
#[derive(Debug, Args)]
#[command(after_help = EJECT_EXAMPLES, after_long_help = format!("\
Ejects the media from all slots of the BMC, except media that somebody shares from the BMC's console. A live system that still \
reads its medium loses its root file system.

Exit codes: 0 the slots are empty, 1 the BMC has not ejected a medium, or does not show all of its slots, or dayone cannot reach it or \
log in to it, 2 wrong arguments.

{EJECT_EXAMPLES}"))]
pub struct EjectArguments {
    /// Which BMC.
    #[command(flatten)]
    pub bmc: BmcArguments,

    /// Eject only from the slot with this id or path [default: all slots]
    #[arg(long, value_name = "SLOT")]
    pub slot: Option<String>,

    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_network_of_bmcs() {
        let network = |text: &str| bmc_network(text).map(|network| network.to_string());
        assert_eq!(network("::1").as_deref(), Ok("::1/128"));
        assert_eq!(network("192.0.2.7").as_deref(), Ok("192.0.2.7/32"));
        assert_eq!(network("192.0.2.0/24").as_deref(), Ok("192.0.2.0/24"));
        for wrong in ["", "192.0.2.0/99", "bmc.example.com", "fe80::1%2"] {
            assert!(network(wrong).unwrap_err().contains("192.0.2.0/24"), "{wrong}");
        }
    }
}
