//! Reads the files that the arguments add to an image.

use std::path::Path;

use imagelib::ignition::{ExtraFile, SshPublicKey, Unit, UserConfig};
use imagelib::kernel_arguments::KernelArgumentEdits;

use vocabulary::answers::{Answers, InstallerError};

use super::failure::Failure;
use super::files;
use crate::arguments::{CustomisationArguments, FileArgument, InputFile};
use crate::error_chain::chain;

/// The additions to an image besides the network.
pub(super) struct Customisation {
    /// The user's Ignition config, parsed and as text.
    pub(super) ignition: Option<(UserConfig, Vec<u8>)>,
    pub(super) ssh_keys: Vec<SshPublicKey>,
    pub(super) files: Vec<ExtraFile>,
    pub(super) units: Vec<Unit>,
    pub(super) kernel_arguments: KernelArgumentEdits,
    pub(super) answers: Option<Answers>,
}

impl Customisation {
    pub(super) fn read(arguments: &CustomisationArguments) -> Result<Self, Failure> {
        let keys = arguments.ssh_key.iter().map(|key| ssh_keys(key)).collect::<Result<Vec<_>, Failure>>()?;
        Ok(Self {
            ignition: arguments.ignition.as_deref().map(ignition).transpose()?,
            ssh_keys: keys.concat(),
            files: arguments.file.iter().map(extra_file).collect::<Result<_, Failure>>()?,
            units: arguments.unit.iter().map(|path| unit(path)).collect::<Result<_, Failure>>()?,
            kernel_arguments: KernelArgumentEdits {
                delete: arguments.karg_delete.clone(),
                append: arguments.karg_append.clone(),
                replace: arguments.karg_replace.clone(),
            },
            answers: answers(&arguments.answers)?,
        })
    }
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    files::read_one(&InputFile::Path(path.to_owned()))
}

fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(path)?).map_err(|_| Failure::Input(format!("{} is not UTF-8 text", path.display())))
}

fn ignition(path: &Path) -> Result<(UserConfig, Vec<u8>), Failure> {
    let text = read(path)?;
    let config = UserConfig::parse(&text).map_err(|error| Failure::input(&path.display().to_string(), &error))?;
    Ok((config, text))
}

/// Parses a key, or all keys in a file. An error does not quote the argument, because it may be a private key.
fn ssh_keys(argument: &str) -> Result<Vec<SshPublicKey>, Failure> {
    let error = match argument.parse() {
        Ok(key) => return Ok(vec![key]),
        Err(error) => error,
    };
    let path = Path::new(argument);
    if !path.exists() {
        return Err(Failure::System(format!("--ssh-key is neither a file nor a public key: {}", chain(&error))));
    }
    let text = read_text(path)?;
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let keys = lines.map(|(number, line)| {
        line.parse().map_err(|error| Failure::input(&format!("{}, line {}", path.display(), number + 1), &error))
    });
    let keys: Vec<SshPublicKey> = keys.collect::<Result<_, Failure>>()?;
    if keys.is_empty() { Err(Failure::Input(format!("{} has no SSH key", path.display()))) } else { Ok(keys) }
}

/// Reads an answer file, given as its kind and its path.
fn answers(argument: &[String]) -> Result<Option<Answers>, Failure> {
    let [kind, path] = argument else { return Ok(None) };
    let kind = kind.parse().map_err(|error: InstallerError| Failure::System(format!("--answers: {error}")))?;
    Ok(Some(Answers { kind, text: read_text(Path::new(path))? }))
}

fn extra_file(argument: &FileArgument) -> Result<ExtraFile, Failure> {
    let FileArgument { path, local, mode, owner: (user, group) } = argument.clone();
    Ok(ExtraFile { path, mode, user, group, contents: read(&local)?.into() })
}

fn unit(path: &Path) -> Result<Unit, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.parse().map_err(|error| Failure::input("--unit", &error))?;
    let contents = read_text(path)?;
    let enabled = contents.lines().any(|line| line.trim() == "[Install]");
    Ok(Unit { name, enabled, contents: Some(contents) })
}
