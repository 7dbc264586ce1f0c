//! `dayone audit verify` and `dayone audit show`.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::failure::Failure;
use super::table::columns;
use super::terminal;
use crate::arguments::{AuditCommand, AuditShowArguments, AuditVerifyArguments, OutputFormat};
use crate::audit::{Fault, Filter, LogText, LogTextError, Verified, entries, sentence, verify};
use crate::error_chain::chain;

pub(super) fn run(command: &AuditCommand) -> Result<(), Failure> {
    match command {
        AuditCommand::Verify(arguments) => check(arguments),
        AuditCommand::Show(arguments) => show(arguments),
    }
}

#[derive(Serialize)]
struct VerifiedBody {
    is_intact: bool,
    entries: u64,
    first: Option<u64>,
    last: Option<u64>,
    hash: Option<String>,
    faults: Vec<FaultBody>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct FaultBody {
    file: PathBuf,
    line: usize,
    fault: String,
}

fn check(arguments: &AuditVerifyArguments) -> Result<(), Failure> {
    let files = open(&arguments.files)?;
    let known = arguments.known;
    let verified = verify(files, known).map_err(|error| unreadable(&error))?;
    let lacks_known = known.is_some() && !verified.has_known;
    let is_intact = verified.faults.is_empty() && !lacks_known && verified.entries > 0;
    match arguments.format {
        OutputFormat::Text => terminal::print(&text(&verified, lacks_known))?,
        OutputFormat::Json => {
            let fault =
                |fault: &Fault| FaultBody { file: fault.path.clone(), line: fault.line, fault: fault.kind.to_string() };
            let mut notes: Vec<String> = verified.notes.iter().map(ToString::to_string).collect();
            notes.extend(lacks_known.then(|| UNKNOWN.to_owned()));
            terminal::print_json(&VerifiedBody {
                is_intact,
                entries: verified.entries,
                first: verified.first,
                last: verified.last.map(|(number, _)| number),
                hash: verified.last.map(|(_, hash)| hash.to_string()),
                faults: verified.faults.iter().map(fault).collect(),
                notes,
            })?;
        }
    }
    if is_intact { Ok(()) } else { Err(Failure::Findings) }
}

const UNKNOWN: &str = "no entry has the hash of --known: entries were cut off, or somebody has written the log anew";

fn text(verified: &Verified, lacks_known: bool) -> String {
    let mut lines: Vec<String> = verified.faults.iter().map(ToString::to_string).collect();
    lines.extend(verified.notes.iter().map(ToString::to_string));
    lines.extend(lacks_known.then(|| UNKNOWN.to_owned()));
    lines.push(match (verified.first, verified.last) {
        (Some(first), Some((last, hash))) => {
            let entries = verified.entries;
            let state = if verified.faults.is_empty() && !lacks_known { "intact" } else { "not intact" };
            format!("{entries} entries, from {first} to {last}: the log is {state}\nlast hash: {hash}")
        }
        _ => "no entry".to_owned(),
    });
    lines.iter().map(|line| line.split('\n').map(terminal::plain).collect::<Vec<_>>().join("\n") + "\n").collect()
}

fn show(arguments: &AuditShowArguments) -> Result<(), Failure> {
    let filter = Filter { host: arguments.host.clone(), image: arguments.image.clone() };
    let mut shown = Vec::new();
    let files = open(&arguments.files)?;
    let admitted = |entry| {
        if filter.admits(&entry) {
            shown.push(entry);
        }
    };
    let wrong = entries(&files, admitted).map_err(|error| unreadable(&error))?;
    shown.sort_by_key(|entry| entry.get("sequence").and_then(Value::as_u64));
    match arguments.format {
        OutputFormat::Json => terminal::print_json(&shown)?,
        OutputFormat::Text => {
            let rows = shown.iter().map(sentence).map(|shown| vec![shown.time, shown.who, shown.what]);
            terminal::print(&columns(&["TIME", "WHO", "WHAT"], &rows.collect::<Vec<_>>()))?;
        }
    }
    match wrong {
        None => Ok(()),
        Some((path, line)) => {
            Err(Failure::Input(format!("{}:{line} is not an entry; run: dayone audit verify", path.display())))
        }
    }
}

fn open(paths: &[PathBuf]) -> Result<Vec<LogText>, Failure> {
    paths.iter().map(|path| LogText::open(path).map_err(|error| unreadable(&error))).collect()
}

fn unreadable(error: &LogTextError) -> Failure {
    Failure::System(chain(error))
}
