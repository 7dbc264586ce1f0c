//! `dayone build`: writes one host's image to a file, or the images of all hosts into a directory.

mod all;
mod fill;
mod interrupt;
mod output;
mod recipe;

use std::fmt::Write as _;
use std::path::Path;

use hosts::network::ConvertedNetwork;
use imagelib::base::Format;
use imagelib::image::{Image, ImageError};
use vocabulary::report::{Report, Reported};

use super::base::OpenedBase;
use super::failure::Failure;
use super::terminal::plain;
use super::{documents, findings, terminal};
use crate::arguments::BuildArguments;
use crate::compose::{check_secure_boot, compose_installer};

pub(super) fn run(arguments: &BuildArguments) -> Result<(), Failure> {
    if arguments.is_of_all_hosts() {
        return all::run(arguments);
    }
    let host = match arguments.host.as_slice() {
        [] => None,
        [name] => Some(name.as_str()),
        _ => return Err(Failure::System("select one host with --host, or all of them with -o DIR/".to_owned())),
    };
    let to_standard_output = arguments.output.as_os_str() == "-";
    if to_standard_output {
        output::refuse_terminal()?;
    }
    let format = recipe::format(arguments)?;
    let site_key = recipe::site_key(arguments)?;
    let BuildArguments { output, base, force, quiet, .. } = arguments;
    let opened = base.as_ref().map_or_else(|| Ok(OpenedBase::nothing()), OpenedBase::open);
    // Report mistakes in the documents first, even if the base cannot be opened.
    let target = recipe::network_order(arguments).target(opened.as_ref().ok().map(|opened| &opened.base));
    let (host, network, mut report) = if arguments.documents.is_empty() {
        (None, ConvertedNetwork::default(), Report::new())
    } else {
        let (host, network, report) = documents::one_host(&arguments.documents, host, target)?;
        (Some(host), network, report)
    };
    let mut base = opened?;
    if format == Format::MinimalIso {
        base.base.verify(&base.files);
    }
    let (ordered, answers) = recipe::ordered(arguments, format)?;
    if let Some(host) = host.filter(|_| format != Format::Data) {
        check_secure_boot(&host, || base.secure_boot(), &mut report);
    }
    let recipe = compose_installer(ordered, network, answers.as_ref(), &base.base, &mut report)
        .map_err(|Reported| documents::print_findings(&report))?;
    let recipe = recipe::signed(recipe, &base.base, site_key.as_ref()).map_err(|error| refused(&error))?;
    let image = Image::plan(&recipe, &base.base, recipe.base).map_err(|error| refused(&error))?;
    report.append(image.report.clone());
    terminal::remark(&findings::as_text(&report));
    let written = if to_standard_output {
        output::stream(&image, &base)?;
        Vec::new()
    } else {
        output::write(output, &image, &base, *force, *quiet)?
    };
    if !*quiet {
        terminal::remark(&summary(&image, recipe.format, written.iter().map(AsRef::as_ref)));
    }
    Ok(())
}

fn refused(error: &ImageError) -> Failure {
    let hint = if matches!(error, ImageError::Customised { .. }) { " (--force)" } else { "" };
    Failure::Input(format!("{}{hint}", crate::error_chain::chain(error)))
}

fn summary<'a>(image: &Image, format: Format, written: impl Iterator<Item = &'a Path>) -> String {
    let mut text = String::new();
    for path in written {
        // Writing to a String does not fail.
        let _ = writeln!(text, "wrote {}", plain(&path.display().to_string()));
    }
    text + &kernel_arguments(image, format).unwrap_or_default()
}

/// Returns a line with the kernel arguments that an image for network boot needs.
fn kernel_arguments(image: &Image, format: Format) -> Option<String> {
    let arguments = image.kernel_arguments.as_ref().filter(|_| format == Format::Initrd)?;
    let rootfs = image.rootfs_argument.map(|argument| format!(" {argument}=<URL of rootfs.img>"));
    Some(format!("kernel arguments: {}{}\n", plain(arguments), rootfs.unwrap_or_default()))
}
