//! The files that the arguments mean. A directory means the documents below it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::failure::Failure;
use crate::arguments::InputFile;
use crate::store::is_url;

/// Where reading stops, of all files together. The library takes far less, and says so; this is for what never ends.
const MOST: u64 = 512 << 20;

/// What documents' files end in. Whatever else is in a directory is none.
const ENDS: [&str; 7] = [".yaml", ".yml", ".json", ".csv", ".ini", ".inventory", ".nmconnection"];

/// How deep directories are looked into.
const DEPTH: usize = 32;

/// A file that has been read.
pub(super) struct ReadFile {
    /// What it is called in findings: as on the command line, below a directory by the way from there.
    pub(super) name: String,
    /// Whether it was found in a directory.
    pub(super) found: bool,
    pub(super) content: Vec<u8>,
}

/// Reads files; of directories, all documents below them, sorted by their paths.
pub(super) fn read_all(files: &[InputFile]) -> Result<Vec<ReadFile>, Failure> {
    if files.iter().filter(|file| **file == InputFile::StandardInput).count() > 1 {
        return Err(Failure::System("standard input (-) can be read only once".to_owned()));
    }
    let mut left = MOST;
    let mut all = Vec::new();
    for file in files {
        match file {
            InputFile::Path(directory) if directory.is_dir() => {
                // Of several arguments, each file is called by the whole of its path, so that no two have one name.
                let top = if files.len() == 1 { directory.as_path() } else { Path::new("") };
                for path in documents_below(directory)? {
                    let name = path.strip_prefix(top).unwrap_or(&path).display().to_string();
                    let content = read(&InputFile::Path(path), &mut left)?;
                    all.push(ReadFile { name, found: true, content });
                }
            }
            _ => all.push(ReadFile { name: file.to_string(), found: false, content: read(file, &mut left)? }),
        }
    }
    Ok(all)
}

/// The content of one file, or of standard input.
pub(super) fn read_one(file: &InputFile) -> Result<Vec<u8>, Failure> {
    read(file, &mut MOST.clone())
}

/// Reads a file, and takes its size from what is left to read. One that has more is cut off, and then too large for the
/// library; behind it nothing is left.
fn read(file: &InputFile, left: &mut u64) -> Result<Vec<u8>, Failure> {
    if *left == 0 {
        return Err(Failure::Input(format!("cannot read {file}: all files before it have {} MiB already", MOST >> 20)));
    }
    if let InputFile::Path(path) = file
        && is_url(path)
    {
        let message = "a URL, and dayone reads documents from files: download it, or pipe it into dayone (-)";
        return Err(Failure::System(format!("cannot read {file}: it is {message}")));
    }
    let mut content = Vec::new();
    let result = match file {
        InputFile::StandardInput => io::stdin().lock().take(*left).read_to_end(&mut content),
        InputFile::Path(path) => File::open(path).and_then(|file| file.take(*left).read_to_end(&mut content)),
    };
    let count = result.map_err(|error| Failure::system(&format!("cannot read {file}"), &error))?;
    *left = left.saturating_sub(count as u64);
    Ok(content)
}

/// The documents below a directory. Hidden files and directories are left out: editors, version control and Kubernetes'
/// volumes keep their own copies there.
fn documents_below(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    look_into(directory, DEPTH, &mut seen, &mut found)
        .map_err(|(path, error)| Failure::system(&format!("cannot read {}", path.display()), &error))?;
    if found.is_empty() {
        let message = format!("{} holds no documents (files that end in {})", directory.display(), ENDS.join(", "));
        return Err(Failure::Input(message));
    }
    found.sort();
    Ok(found)
}

fn look_into(
    directory: &Path,
    depth: usize,
    seen: &mut BTreeSet<PathBuf>,
    found: &mut Vec<PathBuf>,
) -> Result<(), (PathBuf, io::Error)> {
    let of = |path: &Path| {
        let path = path.to_owned();
        move |error| (path, error)
    };
    // A link may lead back up, and to what has been looked into already.
    if depth == 0 || !seen.insert(fs::canonicalize(directory).map_err(of(directory))?) {
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).map_err(of(directory))? {
        entries.push(entry.map_err(of(directory))?.file_name());
    }
    // In the order of their names, so that it does not depend on the file system which of two links is followed.
    entries.sort();
    for name in entries {
        let text = name.to_string_lossy().to_ascii_lowercase();
        if text.starts_with('.') {
            continue;
        }
        let path = directory.join(&name);
        let Ok(metadata) = fs::metadata(&path) else {
            // A link to nothing is reported where it claims to be a document.
            found.extend(is_document(&text).then_some(path));
            continue;
        };
        if metadata.is_dir() {
            look_into(&path, depth - 1, seen, found)?;
        } else if metadata.is_file() && is_document(&text) {
            found.push(path);
        }
    }
    Ok(())
}

fn is_document(name: &str) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    ENDS.iter().any(|end| name.ends_with(end))
}
