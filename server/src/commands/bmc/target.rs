//! Which BMC the arguments mean: an address, or the one that documents name.

use vocabulary::host::{self, BmcSpec};

use crate::arguments::{BmcAccess, BmcArguments, InputFile};
use crate::commands::documents;
use crate::commands::failure::Failure;
use redfish::bmc::BootMode;
use redfish::{
    AddressError, BmcAddress, Certificates, ClientOptions, Credentials, CredentialsError, Password, Target,
    Verification,
};

/// What the variables with credentials begin with.
const ENVIRONMENT: &str = "DAYONE_BMC";

/// Which BMC, and how it is treated.
pub(super) struct Meant {
    pub(super) target: Target,
    pub(super) options: ClientOptions,
    /// How the host boots, where documents say it.
    pub(super) mode: Option<BootMode>,
}

pub(super) fn of(arguments: &BmcArguments) -> Result<Meant, Failure> {
    let host = match documents_of(&arguments.bmc) {
        Some(files) => Some(documents::one_bmc(&files, arguments.host_name.as_deref())?),
        None => None,
    };
    let mode = host.as_ref().and_then(|host| host.boot_mode).map(|mode| match mode {
        host::BootMode::Uefi | host::BootMode::UefiSecureBoot => BootMode::Uefi,
        host::BootMode::Legacy => BootMode::Legacy,
    });
    let spec = host.map(|host| host.bmc);
    let address = match (&spec, arguments.bmc.as_slice()) {
        (Some(spec), _) => spec.address.as_str(),
        (None, [address]) => address,
        (None, _) => return Err(Failure::System("one BMC at a time: give one address, or documents".to_owned())),
    };
    let address: BmcAddress = address.parse().map_err(|error: AddressError| Failure::System(error.to_string()))?;
    let credentials = credentials(arguments, spec.as_ref())?;
    let verification = match &arguments.access.bmc_ca {
        Some(path) => Verification::CaFile(Certificates::from_file(path).map_err(|e| Failure::System(e.to_string()))?),
        None if arguments.access.insecure || spec.is_some_and(|spec| spec.disable_certificate_verification) => {
            Verification::Disabled
        }
        None => Verification::System,
    };
    let networks = arguments.access.bmc_network.iter().copied().collect();
    let options = ClientOptions { networks, ..ClientOptions::default() };
    Ok(Meant { target: Target { address, credentials, verification }, options, mode })
}

/// The arguments as files, if that is what they are: no address ends as documents do, and none is a file's path.
fn documents_of(arguments: &[String]) -> Option<Vec<InputFile>> {
    let is_file = |text: &String| {
        text == "-"
            || [".yaml", ".yml", ".json"].iter().any(|end| text.ends_with(end))
            || std::fs::exists(text).unwrap_or(false)
    };
    // Parsing an InputFile cannot fail.
    arguments.iter().all(is_file).then(|| arguments.iter().filter_map(|text| text.parse().ok()).collect())
}

/// What was said here, what the documents say, and what is in the environment: the first of these.
fn credentials(arguments: &BmcArguments, spec: Option<&BmcSpec>) -> Result<Option<Credentials>, Failure> {
    if let Some(given) = given(&arguments.access)? {
        return Ok(Some(given));
    }
    match spec.map(|spec| &spec.credentials) {
        Some(Ok(read)) => {
            let password = Password::from(read.password.clone());
            Credentials::new(read.username.clone(), password).map(Some).map_err(|error| unusable(&error))
        }
        other => {
            let found = Credentials::from_environment(ENVIRONMENT).map_err(|error| unusable(&error))?;
            // As for a boot: documents that name no Secret leave the choice to the environment, and then to the BMC.
            let names_a_secret = spec.is_some_and(|spec| spec.credentials_name.is_some());
            match other {
                Some(Err(reason)) if found.is_none() && names_a_secret => Err(Failure::Input(format!(
                    "{reason}; hand the Secret over as well, or give --bmc-username and --bmc-password-file"
                ))),
                _ => Ok(found),
            }
        }
    }
}

/// What the options say; where they say half of it, with the other half from the environment.
pub(in crate::commands) fn given(access: &BmcAccess) -> Result<Option<Credentials>, Failure> {
    if access.bmc_username.is_none() && access.bmc_password_file.is_none() {
        return Ok(None);
    }
    let environment =
        |name: &str| std::env::var(format!("{ENVIRONMENT}_{name}")).ok().filter(|value| !value.is_empty());
    let username = access.bmc_username.clone().or_else(|| environment("USERNAME"));
    let password = match &access.bmc_password_file {
        Some(path) => Some(Password::from_file(path).map_err(|error| unusable(&error))?),
        None => environment("PASSWORD").map(Password::from),
    };
    match (username, password) {
        (Some(username), Some(password)) => {
            Credentials::new(username, password).map(Some).map_err(|error| unusable(&error))
        }
        (None, _) => Err(Failure::System(format!("who logs in? (--bmc-username, or {ENVIRONMENT}_USERNAME)"))),
        (_, None) => {
            Err(Failure::System(format!("with which password? (--bmc-password-file, or {ENVIRONMENT}_PASSWORD)")))
        }
    }
}

fn unusable(error: &CredentialsError) -> Failure {
    Failure::system("the BMC's credentials", error)
}
