//! Finds the BMC that the arguments select: by its address, or with documents.

use std::borrow::Cow;
use std::ffi::OsString;

use vocabulary::host::BmcSpec;

use crate::arguments::{BmcAccess, BmcArguments, InputFile};
use crate::boot_mode::redfish_boot_mode;
use crate::commands::documents;
use crate::commands::failure::Failure;
use redfish::bmc::BootMode;
use redfish::{
    AddressError, BmcAddress, Certificates, ClientOptions, Credentials, CredentialsError, Password, Target,
    Verification,
};

/// The prefix of the environment variables with credentials.
const ENVIRONMENT: &str = "DAYONE_BMC";

/// The BMC that the arguments select, and how to talk to it.
pub(super) struct ChosenBmc {
    pub(super) target: Target,
    pub(super) options: ClientOptions,
    /// The boot mode in the documents.
    pub(super) mode: Option<BootMode>,
}

pub(super) fn of(arguments: &BmcArguments) -> Result<ChosenBmc, Failure> {
    let host = match documents_of(&arguments.bmc) {
        Some(files) => Some(documents::one_bmc(&files, arguments.host.as_deref())?),
        None => None,
    };
    let mode = host.as_ref().and_then(|host| host.boot_mode).map(redfish_boot_mode);
    let spec = host.map(|host| host.bmc);
    let address = match (&spec, arguments.bmc.as_slice()) {
        (Some(spec), _) => Cow::Borrowed(spec.address.as_str()),
        (None, [address]) => address.to_string_lossy(),
        (None, _) => return Err(Failure::System("give the address of one BMC, or documents".to_owned())),
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
    Ok(ChosenBmc { target: Target { address, credentials, verification }, options, mode })
}

/// Returns the arguments as files, if they are files: an address never has the extension of a document, and never is the path of
/// a file.
fn documents_of(arguments: &[OsString]) -> Option<Vec<InputFile>> {
    let is_file = |argument: &OsString| {
        let bytes = argument.as_encoded_bytes();
        bytes == b"-"
            || [".yaml", ".yml", ".json"].iter().any(|end| bytes.ends_with(end.as_bytes()))
            || std::fs::exists(argument).unwrap_or(false)
    };
    arguments.iter().all(is_file).then(|| arguments.iter().cloned().map(InputFile::from).collect())
}

/// Returns the first of these credentials: those in the arguments, in the documents, and in the environment.
fn credentials(arguments: &BmcArguments, spec: Option<&BmcSpec>) -> Result<Option<Credentials>, Failure> {
    if let Some(given) = given_credentials(&arguments.access)? {
        return Ok(Some(given));
    }
    match spec.map(|spec| &spec.credentials) {
        Some(Ok(read)) => {
            let password = Password::from(read.password.clone());
            Credentials::new(read.username.clone(), password).map(Some).map_err(|error| unusable(&error))
        }
        other => {
            let found = Credentials::from_environment(ENVIRONMENT).map_err(|error| unusable(&error))?;
            // As for a boot: if the documents name no Secret, the environment decides, and then the BMC.
            let names_a_secret = spec.is_some_and(|spec| spec.credentials_name.is_some());
            match other {
                Some(Err(reason)) if found.is_none() && names_a_secret => Err(Failure::Input(format!(
                    "{reason}; give the Secret as well, or --bmc-username and --bmc-password-file"
                ))),
                _ => Ok(found),
            }
        }
    }
}

/// Returns the credentials in the options. If the options have only one half, the other half comes from the environment.
pub(in crate::commands) fn given_credentials(access: &BmcAccess) -> Result<Option<Credentials>, Failure> {
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
        (None, _) => Err(Failure::System(format!(
            "the user name is missing: give --bmc-username, or set {ENVIRONMENT}_USERNAME"
        ))),
        (_, None) => Err(Failure::System(format!(
            "the password is missing: give --bmc-password-file, or set {ENVIRONMENT}_PASSWORD"
        ))),
    }
}

fn unusable(error: &CredentialsError) -> Failure {
    Failure::system("the BMC's credentials", error)
}
