//! Ways for the fuzz targets in `fuzz/` to readers that nothing else outside this crate calls. Each calls the reader itself, and has
//! no logic of its own.

use std::ffi::OsString;
use std::path::Path;

pub use crate::api::fuzzing::{base_order, boot_order, client_names, image_order};
use crate::arguments::{CommandLine, Program};
use crate::audit::AuditError;
use crate::audit::chain::{Link, seal};
use crate::audit::log_file::LogFile;
use crate::boots::record::BootRecord;
use crate::commands::bases::stream;
use crate::commands::config;
use crate::commands::events::Events;
use crate::settings::{self, LoadError};
use crate::store::DataKeys;
use crate::store::base_record::BaseRecord;
use crate::store::record::Record;
use crate::store::record_cipher::RecordKind;

/// Reads the record of the image `id`, and returns it as dayone writes it.
pub fn rewrite_image_record(json: &[u8], id: &str) -> Result<Vec<u8>, String> {
    let id = id.parse().map_err(|_| "not an id".to_owned())?;
    let (recipe, record) = Record::from_json(json, &id).map_err(|error| error.to_string())?;
    record.to_json(&recipe).map_err(|error| error.to_string())
}

/// Reads the record of the boot `name`, and returns it as dayone writes it.
pub fn rewrite_boot_record(json: &[u8], name: &str) -> Result<Vec<u8>, String> {
    let record = BootRecord::from_json(json, name).map_err(|error| error.to_string())?;
    record.to_json().map_err(|error| error.to_string())
}

/// Reads the record of an added base, and returns it as dayone writes it.
pub fn rewrite_base_record(json: &[u8]) -> Result<Vec<u8>, String> {
    let record = BaseRecord::from_json(json).map_err(|error| error.to_string())?;
    record.to_json().map_err(|error| error.to_string())
}

/// Encrypts the record of one image with a key.
pub fn encrypt_record(plain: &[u8]) -> Vec<u8> {
    DataKeys::of(&KEY).encrypt(RecordKind::Image, "name", plain).unwrap_or_default()
}

/// Decrypts the record of that image with that key.
pub fn decrypt_record(file: &[u8]) -> Result<Vec<u8>, String> {
    DataKeys::of(&KEY).decrypt(RecordKind::Image, "name", file.to_vec()).map_err(|error| error.to_string())
}

const KEY: [u8; 32] = [7; 32];

/// Completes the texts of audit log entries to the lines of a chain, each of which begins as a server writes it.
pub fn seal_audit_entries<'a>(contents: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut previous = Link::START.hash;
    let seal = |(number, content): (usize, &str)| {
        let begin = format!("{{\"sequence\":{},\"time\":\"2026-02-28T12:00:00Z\"", number + 1);
        let entry = format!("{begin},\"previous\":\"{previous}\"{content}}}");
        let (line, hash) = seal(&entry, &previous);
        previous = hash;
        line
    };
    contents.into_iter().enumerate().map(seal).collect()
}

/// Opens an audit log as the server does at its start, which completes it.
pub fn open_audit_log(path: &Path) -> Result<(), AuditError> {
    LogFile::open(path, Link::START).map(drop)
}

/// Finds the live ISO for an architecture in stream metadata. Returns its version, its URL, and whether it has a signature.
pub fn live_iso(json: &[u8], architecture: &str, trusted: bool) -> Result<(String, String, bool), String> {
    let release = stream::parse(json, architecture, trusted)?;
    Ok((release.version, release.iso.location.to_string(), release.iso.signature.is_some()))
}

/// Reads server-sent events that arrive in these pieces. Returns their ids and data.
pub fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
    let mut events = Events::default();
    let mut found = Vec::new();
    for piece in pieces {
        events.add(piece);
        found.extend(std::iter::from_fn(|| events.next()).map(|event| (event.id, event.data)));
    }
    found
}

/// Reads the text of a settings file. Returns what `Debug` shows of it.
pub fn settings_file(program: Program, text: &str) -> Result<String, Vec<settings::Problem>> {
    settings::file::read(program, Path::new("settings.yaml"), text).map(|values| format!("{values:?}"))
}

/// Reads the settings in a file as a program does at its start. Returns them as a settings file, and what `Debug` shows of them.
pub fn load_settings(program: Program, path: &Path) -> Result<(String, String), LoadError> {
    let loaded = settings::load(&CommandLine::new(program, [OsString::from("--config"), path.into()]))?;
    Ok((config::as_yaml(&loaded.effective()), format!("{loaded:?}")))
}
