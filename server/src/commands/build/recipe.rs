//! From the arguments to a recipe: the documents converted, the files read.

use std::collections::BTreeMap;
use std::path::Path;

use imagelib::base::{Base, BaseIdentity, Format};
use imagelib::delivery::ConvertedNetwork;
use imagelib::host::HostSpec;
use imagelib::ignition::{Additions, ExtraFile, SshPublicKey, Unit, UserConfig};
use imagelib::kernel_arguments::KernelArgumentEdits;
use imagelib::recipe::{Recipe, RootfsLocation};
use imagelib::report::Report;

use super::data;
use crate::arguments::{BuildArguments, FileArgument, InputFile};
use crate::commands::documents;
use crate::commands::failure::{Failure, chain};

/// What the arguments describe, for a host, where there is one, over a base. What should be known about the documents is added to the report.
///
/// The base's identity in the recipe is made up: it decides which base an image is laid over, and no byte of it. The
/// real one would take reading all of the base.
pub(super) fn recipe(
    arguments: BuildArguments,
    format: Format,
    host: Option<&HostSpec>,
    base: &Base,
    report: &mut Report,
) -> Result<Recipe, Failure> {
    let profile = arguments.profile.or(arguments.base.and_then(|base| base.profile));
    let files = match arguments.data.kind {
        Some(kind) => kind.network_files(),
        None => profile.unwrap_or_else(|| base.profile()).network_files(),
    };
    // A drive says nothing of NICs that the documents do not mention.
    let no_auto_default = !arguments.auto_default && format != Format::Data;
    let network = match host {
        Some(host) => documents::network(host, files, no_auto_default, report)?,
        None => ConvertedNetwork::default(),
    };
    let data = data::drive(&arguments.data, network.network_data)?;
    let ignition = arguments.ignition.as_deref().map(ignition).transpose()?;
    let keys = arguments.ssh_key.iter().map(|key| ssh_keys(key)).collect::<Result<Vec<_>, Failure>>()?;
    let additions = Additions {
        keyfiles: network.keyfiles,
        networkd_units: network.networkd_units,
        no_auto_default,
        hostname: arguments.hostname.or(network.hostname),
        ssh_authorized_keys: keys.concat(),
        files: arguments.file.into_iter().map(extra_file).collect::<Result<_, Failure>>()?,
        units: arguments.unit.iter().map(|path| unit(path)).collect::<Result<_, Failure>>()?,
    };
    let kernel_arguments = KernelArgumentEdits {
        delete: arguments.karg_delete,
        append: arguments.karg_append,
        replace: arguments.karg_replace,
    };
    Ok(Recipe {
        base: BaseIdentity::of(&BTreeMap::new()),
        format,
        additions,
        ignition,
        kernel_arguments,
        boot_entries: arguments.boot_entry.into_iter().collect(),
        delivery: profile,
        rootfs: arguments.rootfs_url.map(RootfsLocation::Url),
        data,
        // Without a base there is nothing to replace.
        replace_embedded: arguments.force && format != Format::Data,
    })
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    documents::read_file(&InputFile::Path(path.to_owned()))
}

fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(path)?).map_err(|_| Failure::Input(format!("{} is not UTF-8 text", path.display())))
}

fn ignition(path: &Path) -> Result<UserConfig, Failure> {
    UserConfig::parse(&read(path)?).map_err(|error| Failure::input(&path.display().to_string(), &error))
}

/// A key as it is, or all keys in a file. What is neither is not repeated: it may be a private key.
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
        let place = || format!("{}, line {}", path.display(), number + 1);
        line.parse().map_err(|error| Failure::input(&place(), &error))
    });
    let keys: Vec<SshPublicKey> = keys.collect::<Result<_, Failure>>()?;
    if keys.is_empty() { Err(Failure::Input(format!("{} holds no SSH key", path.display()))) } else { Ok(keys) }
}

fn extra_file(argument: FileArgument) -> Result<ExtraFile, Failure> {
    let FileArgument { path, local, mode, owner: (user, group) } = argument;
    Ok(ExtraFile { path, mode, user, group, contents: read(&local)?.into() })
}

fn unit(path: &Path) -> Result<Unit, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.parse().map_err(|error| Failure::input("--unit", &error))?;
    let contents = read_text(path)?;
    let enabled = contents.lines().any(|line| line.trim() == "[Install]");
    Ok(Unit { name, enabled, contents: Some(contents) })
}
