//! `dayone init`: writes a settings file, a token and a fleet to begin with. It replaces no file.

mod templates;

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::terminal;
use crate::arguments::InitArguments;
use crate::store::{BaseDefinition, check_names};
use templates::Place;

/// An address for documentation (RFC 5737), in the direction of the default route.
const FAR: (&str, u16) = ("192.0.2.1", 9);

/// A file to write: its path below the directory, its permission bits, and its text.
struct NewFile {
    path: &'static str,
    mode: u32,
    text: String,
}

pub(super) fn run(arguments: &InitArguments) -> Result<(), Failure> {
    let directory = &arguments.directory;
    let shown = directory.display();
    let existing = std::path::absolute(directory).map_err(|error| Failure::system(&format!("{shown}"), &error))?;
    refuse_unreadable_settings(&existing, &arguments.bases)?;
    let (media_url, is_guess) = match &arguments.media_url {
        Some(url) => (url.to_string(), false),
        None => (guessed_url(), true),
    };
    let place = Place { directory: &existing, media_url: &media_url, is_guess, bases: &arguments.bases };
    let files = [
        NewFile { path: "dayone.yaml", mode: 0o644, text: templates::settings(&place) },
        NewFile { path: "api-token", mode: 0o600, text: format!("{}\n", token()?) },
        NewFile { path: "hosts/fleet.yaml", mode: 0o644, text: templates::FLEET.to_owned() },
        NewFile { path: "hosts/hosts.csv", mode: 0o644, text: templates::HOSTS.to_owned() },
        NewFile { path: "README.md", mode: 0o644, text: templates::readme(&place) },
        NewFile { path: ".gitignore", mode: 0o644, text: templates::IGNORED.to_owned() },
    ];
    refuse_existing(directory, &files)?;
    // The first one creates the directories above as well.
    for (name, mode) in [("hosts", 0o755), (templates::CREDENTIALS, 0o700)] {
        let path = directory.join(name);
        let made = DirBuilder::new().recursive(true).mode(mode).create(&path);
        made.map_err(|error| Failure::system(&format!("cannot create the directory {}", path.display()), &error))?;
    }
    write_all(directory, &files)?;
    let credentials = format!("{}/", templates::CREDENTIALS);
    let made = files.iter().map(|file| file.path).chain([credentials.as_str()]);
    let said: Vec<String> = made.map(|path| directory.join(path).display().to_string()).collect();
    if is_guess {
        terminal::remark(&format!(
            "note: media-url is {media_url}; if BMCs reach this machine at another address, change it in {}\n",
            directory.join("dayone.yaml").display()
        ));
    }
    terminal::print(&(said.join("\n") + "\n"))
}

/// Refuses names and paths that a server could not read from the settings file.
fn refuse_unreadable_settings(directory: &Path, bases: &[BaseDefinition]) -> Result<(), Failure> {
    check_names(bases).map_err(|error| Failure::System(error.to_string()))?;
    let files = bases.iter().flat_map(|base| base.files.iter().map(|(_, path)| path));
    for path in [directory].into_iter().chain(files) {
        // Settings that are lists of paths have one a line.
        if path.to_str().is_none_or(|text| text.contains('\n')) {
            let message = "cannot be in a settings file, because it is not UTF-8 or has a line end; use another path";
            return Err(Failure::System(format!("{} {message}", path.display())));
        }
    }
    Ok(())
}

fn refuse_existing(directory: &Path, files: &[NewFile]) -> Result<(), Failure> {
    // A link to nowhere is in the way, too.
    let exists = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    let existing: Vec<String> = files
        .iter()
        .map(|file| directory.join(file.path))
        .filter(exists)
        .map(|path| path.display().to_string())
        .collect();
    if existing.is_empty() {
        return Ok(());
    }
    Err(Failure::System(format!(
        "dayone init replaces no file, and has written nothing: {} exists; move it away, or name another directory",
        existing.join(", ")
    )))
}

/// Writes all files, or none.
fn write_all(directory: &Path, files: &[NewFile]) -> Result<(), Failure> {
    let mut written: Vec<PathBuf> = Vec::new();
    for file in files {
        let path = directory.join(file.path);
        if let Err(error) = write(&path, file) {
            // A file that cannot be removed either is new, and a later call names it.
            for path in &written {
                let _ = fs::remove_file(path);
            }
            return Err(Failure::system(&format!("cannot write {}", path.display()), &error));
        }
        written.push(path);
    }
    Ok(())
}

fn write(path: &Path, file: &NewFile) -> io::Result<()> {
    let mut new = OpenOptions::new().write(true).create_new(true).mode(file.mode).open(path)?;
    // The file is not the user's own: it was created here.
    new.write_all(file.text.as_bytes()).inspect_err(|_| drop(fs::remove_file(path)))
}

fn token() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Failure::System(format!("cannot get random numbers: {error}")))?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}

/// The URL with the address from which this machine would send to other networks. Sends nothing: connecting a UDP socket only asks
/// the routing table.
fn guessed_url() -> String {
    let address = UdpSocket::bind(("0.0.0.0", 0)).and_then(|socket| {
        socket.connect(FAR)?;
        Ok(socket.local_addr()?.ip())
    });
    match address {
        Ok(IpAddr::V4(address)) if !address.is_unspecified() => format!("http://{address}:8081"),
        _ => "http://127.0.0.1:8081".to_owned(),
    }
}
