//! Writes the images of all hosts into a directory, one file for each host.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hosts::every_host::{EachHost, OneHost};
use imagelib::base::Format;
use imagelib::image::{FileName, Image};
use imagelib::recipe::Recipe;
use vocabulary::answers::Answers;
use vocabulary::host::HostSpec;
use vocabulary::report::Reported;

use super::output::{Writer, make_directory};
use super::{kernel_arguments, recipe, refused};
use crate::arguments::BuildArguments;
use crate::commands::base::OpenedBase;
use crate::commands::failure::Failure;
use crate::commands::findings::counted;
use crate::commands::table::columns;
use crate::commands::{documents, findings, terminal};
use crate::compose::{check_secure_boot, compose_installer};
use crate::site_key::SiteKeyPair;

pub(super) fn run(arguments: &BuildArguments) -> Result<(), Failure> {
    let format = recipe::format(arguments)?;
    for (option, is_given) in [
        ("--set-hostname", arguments.customisation.set_hostname.is_some()),
        ("--meta-data", arguments.data.meta_data.is_some()),
    ] {
        if is_given {
            return Err(Failure::System(format!("{option} is for one host; select it with --host")));
        }
    }
    let opened = arguments.base.as_ref().map_or_else(|| Ok(OpenedBase::nothing()), OpenedBase::open);
    // Report mistakes in the documents first, even if the base cannot be opened.
    let target = recipe::network_order(arguments).target(opened.as_ref().ok().map(|opened| &opened.base));
    let EachHost { hosts, .. } = documents::each_host(&arguments.documents, target)?;
    let mut base = opened?;
    if format == Format::MinimalIso {
        base.base.verify(&base.files);
    }
    let (ordered, answers) = recipe::ordered(arguments, format)?;
    let site_key = recipe::site_key(arguments)?;
    make_directory(&arguments.output)?;
    let writer = Writer::new(&base, arguments.force, arguments.quiet)?;
    let mut images = Images {
        ordered,
        answers,
        site_key,
        base: &base,
        is_only: hosts.len() == 1,
        directory: &arguments.output,
        writer,
        shared: BTreeSet::new(),
        kernel_arguments: BTreeSet::new(),
    };
    let mut rows = Vec::with_capacity(hosts.len());
    let mut failed = 0;
    for host in hosts {
        let shown = host.name.clone().unwrap_or_else(|| "-".to_owned());
        let result = match images.write(host) {
            Ok(path) => path.display().to_string(),
            Err(Failure::Interrupted(_)) => {
                images.writer.finish();
                let consequence = format!("{} written before", counted(rows.len() - failed, "image"));
                return Err(Failure::Interrupted(consequence.into()));
            }
            Err(failure) => {
                failed += 1;
                format!("not written: {}", reason(&failure))
            }
        };
        rows.push(vec![shown, result]);
    }
    images.writer.finish();
    if !arguments.quiet {
        terminal::remark(&columns(&["HOST", "IMAGE"], &rows));
        terminal::remark(&images.kernel_arguments.into_iter().collect::<String>());
    }
    if failed == 0 {
        return Ok(());
    }
    Err(Failure::Input(format!("{} of {} without an image", failed, counted(rows.len(), "host"))))
}

/// Why a host has no image.
fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Findings | Failure::Unknown => "it has errors".to_owned(),
        Failure::Input(message) | Failure::Bmc(message) | Failure::System(message) => message.clone(),
        Failure::Interrupted(consequence) => consequence.to_string(),
    }
}

/// The images of a fleet.
struct Images<'a> {
    /// The recipe without a host.
    ordered: Recipe,
    /// The answer file of an installer.
    answers: Option<Answers>,
    /// The key that signs the addons of images.
    site_key: Option<SiteKeyPair>,
    base: &'a OpenedBase,
    /// Whether there is only one host, which then needs no name.
    is_only: bool,
    directory: &'a Path,
    writer: Writer<'a>,
    /// The files that all images have in common, as far as they are written.
    shared: BTreeSet<FileName>,
    /// The kernel arguments of the images for network boot.
    kernel_arguments: BTreeSet<String>,
}

impl Images<'_> {
    /// Writes the image of a host, and returns its path. Prints the findings about the host.
    fn write(&mut self, host: OneHost) -> Result<PathBuf, Failure> {
        let OneHost { converted, findings: mut report, .. } = host;
        let Some((spec, network)) = converted else {
            terminal::remark(&findings::as_text(&report));
            return Err(Failure::Findings);
        };
        let name = match file_name(&spec) {
            Err(_) if self.is_only => None,
            name => Some(name?),
        };
        if self.ordered.data.is_none() {
            check_secure_boot(&spec, || self.base.secure_boot(), &mut report);
        }
        let composed =
            compose_installer(self.ordered.clone(), network, self.answers.as_ref(), &self.base.base, &mut report);
        let recipe = composed.map_err(|Reported| {
            terminal::remark(&findings::as_text(&report));
            Failure::Findings
        })?;
        let signed = recipe::signed(recipe, &self.base.base, self.site_key.as_ref());
        let image = signed.and_then(|recipe| Image::plan(&recipe, &self.base.base, recipe.base));
        if let Ok(image) = &image {
            report.append(image.report.clone());
        }
        terminal::remark(&findings::as_text(&report));
        let image = image.map_err(|error| refused(&error))?;
        let Some((main, file)) = image.main_file() else {
            return Err(Failure::Input("the base lacks the file for this image".to_owned()));
        };
        self.kernel_arguments.extend(kernel_arguments(&image, self.ordered.format));
        let file_name = name.map_or_else(|| main.as_str().to_owned(), |name| format!("{name}{}", extension(main)));
        let path = self.directory.join(file_name);
        self.writer.write(&path, file)?;
        // A kernel or a root file system comes from the base, and is the same for each host.
        for (other, file) in image.files.iter().filter(|(other, _)| **other != main) {
            if !self.shared.contains(other) {
                self.writer.write(&self.directory.join(other.as_str()), file)?;
                self.shared.insert(*other);
            }
        }
        Ok(path)
    }
}

/// Returns the end of the name of a host's image.
fn extension(main: FileName) -> &'static str {
    match main {
        // Beside the names of the files that all hosts have in common, no host can have one of these.
        FileName::Initrd => ".initrd.img",
        _ => main.as_str().find('.').and_then(|dot| main.as_str().get(dot..)).unwrap_or_default(),
    }
}

/// Returns the name of a host's file: the host's name, or else its first MAC address with hyphens.
fn file_name(host: &HostSpec) -> Result<String, Failure> {
    let hostname = || host.hostname.as_ref().map(ToString::to_string);
    let mac = || host.macs().next().map(|mac| mac.to_string().replace(':', "-"));
    let Some(name) = host.name.clone().or_else(hostname).or_else(mac) else {
        return Err(Failure::Input("it has neither a name nor a MAC address to name its image after".to_owned()));
    };
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(Failure::Input(format!("{name:?} cannot be the name of a file")));
    }
    Ok(name)
}
