//! `dayone second-step`: converts documents with br-ex to MachineConfigs.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use hosts::input::{self, Text};
use hosts::second_step::{self, SecondStepDocument, SecondStepText};
use vocabulary::report::Report;

use super::failure::Failure;
use super::files::{self, ReadFile};
use super::terminal::HEADING;
use super::{findings, output_files, terminal};
use crate::arguments::{InputFile, SecondStepArguments, SecondStepFormat};

pub(super) fn run(arguments: &SecondStepArguments) -> Result<(), Failure> {
    let is_standard_input = |file: &InputFile| *file == InputFile::StandardInput;
    if arguments.files.iter().chain(&arguments.first_step).filter(|file| is_standard_input(file)).count() > 1 {
        return Err(Failure::System("standard input (-) can be read only once".to_owned()));
    }
    let first_files = files::read_all(&arguments.first_step)?;
    let second_files = files::read_all(&arguments.files)?;
    let (mut first_step, mut report) = match first_files.as_slice() {
        [] => Default::default(),
        files => second_step::read_first_step(texts(files)),
    };
    let (mut documents, read) = match second_files.as_slice() {
        [] => Default::default(),
        files => second_step::read(texts(files)),
    };
    report.append(read);
    if arguments.derive {
        let (mut derived, found) = second_step::derive(&mut first_step.hosts, &documents, arguments.real_names);
        documents.append(&mut derived);
        report.append(found);
    }
    report.append(second_step::check(&documents, &first_step));
    let outputs = match arguments.format {
        SecondStepFormat::MachineConfig => {
            let (configs, found) = second_step::machine_configs(&documents, &first_step, arguments.role.as_ref());
            report.append(found);
            configs.into_iter().map(|config| (format!("{}.yaml", config.name()), config.yaml)).collect()
        }
        SecondStepFormat::Nmstate => as_nmstate(&mut documents),
    };
    locate(&second_files, &first_files, &mut report);
    terminal::remark(&findings::as_text(&report));
    if report.has_errors() {
        return Err(Failure::Findings);
    }
    match &arguments.output {
        Some(directory) => write(directory, &outputs, arguments.force),
        None => terminal::print(&as_text(&outputs, arguments.format)),
    }
}

/// Returns the texts of files with the file names, which select the hosts of NMState.
fn texts(files: &[ReadFile]) -> impl Iterator<Item = SecondStepText<'_>> {
    files.iter().map(|ReadFile { name, content, .. }| SecondStepText {
        file_name: Path::new(name).file_name().and_then(|name| name.to_str()),
        text: Text { name: Some(name), text: content },
    })
}

/// Adds their positions to findings, except in files with a name that both steps have, each below its own directory.
fn locate(files: &[ReadFile], first_files: &[ReadFile], report: &mut Report) {
    let both = |name: Option<&str>| {
        let is_in = |files: &[ReadFile]| files.iter().any(|file| Some(file.name.as_str()) == name);
        is_in(files) && is_in(first_files)
    };
    let texts = texts(files).chain(texts(first_files)).map(|text| text.text);
    input::locate(texts.filter(|text| !both(text.name)), report);
}

fn as_nmstate(documents: &mut [SecondStepDocument]) -> Vec<(String, String)> {
    documents.sort_by(|a, b| a.target.cmp(&b.target));
    // Text that has been read as YAML is UTF-8.
    let text = |document: &SecondStepDocument| String::from_utf8_lossy(&document.content).into_owned();
    documents.iter().map(|document| (document.target.file_name(), text(document))).collect()
}

/// Formats one YAML stream, with headings as comments.
fn as_text(outputs: &[(String, String)], format: SecondStepFormat) -> String {
    let texts = outputs.iter().map(|(name, text)| match format {
        SecondStepFormat::MachineConfig => Cow::Borrowed(text.as_str()),
        SecondStepFormat::Nmstate => {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            Cow::Owned(format!("{HEADING}#=== {name} ==={HEADING:#}\n{text}{end}"))
        }
    });
    texts.collect::<Vec<_>>().join("---\n")
}

fn write(directory: &Path, outputs: &[(String, String)], force: bool) -> Result<(), Failure> {
    let files: Vec<(PathBuf, &str)> =
        outputs.iter().map(|(name, text)| (directory.join(name), text.as_str())).collect();
    output_files::write_and_list(&files, force)
}
