//! Reads the files in the arguments. A directory stands for the documents below it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hosts::input::has_name_of_notes;

use super::failure::Failure;
use crate::arguments::InputFile;
use crate::store::is_url;

/// The maximum size of all files together. The library refuses much smaller documents; this limit is for endless files.
const MAX_BYTES: u64 = 512 << 20;

/// The extensions of documents. dayone ignores all other files in a directory.
const EXTENSIONS: [&str; 10] =
    [".yaml", ".yml", ".json", ".csv", ".tsv", ".xlsx", ".xlsm", ".ini", ".inventory", ".nmconnection"];

/// The names of Ansible inventories without an extension.
const INVENTORIES: [&str; 2] = ["hosts", "inventory"];

/// The directories with the variables of Ansible inventories, whose files need no extension.
const VARIABLES: [&str; 2] = ["group_vars", "host_vars"];

/// How deep dayone reads directories.
const MAX_DEPTH: usize = 32;

/// How many times dayone reads directories again that it has read under another name. A few links to links lead to millions.
const MAX_AGAIN: usize = 20_000;

/// A file that has been read.
pub(super) struct ReadFile {
    /// Its name in findings: the path on the command line, or the path below a directory.
    pub(super) name: String,
    /// Whether dayone found it in a directory.
    pub(super) found: bool,
    pub(super) content: Vec<u8>,
}

/// Reads files, and all documents below directories, sorted by path.
pub(super) fn read_all(files: &[InputFile]) -> Result<Vec<ReadFile>, Failure> {
    if files.iter().filter(|file| **file == InputFile::StandardInput).count() > 1 {
        return Err(Failure::System("standard input (-) can be read only once".to_owned()));
    }
    let mut left = MAX_BYTES;
    let mut all = Vec::new();
    for file in files {
        match file {
            InputFile::Path(directory) if directory.is_dir() => {
                // With several arguments, names are whole paths, so that they differ.
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

/// Reads one file, or standard input.
pub(super) fn read_one(file: &InputFile) -> Result<Vec<u8>, Failure> {
    read(file, &mut MAX_BYTES.clone())
}

/// Reads a file, and subtracts its size from `left`. It cuts off a larger file, which is then too large for the library, and after
/// which nothing is left.
fn read(file: &InputFile, left: &mut u64) -> Result<Vec<u8>, Failure> {
    if *left == 0 {
        return Err(Failure::Input(format!(
            "cannot read {file}: the files before it already have {} MiB",
            MAX_BYTES >> 20
        )));
    }
    if let InputFile::Path(path) = file
        && is_url(path)
    {
        let message = "it is a URL, and dayone reads documents from files: download it, or pipe it into dayone (-)";
        return Err(Failure::System(format!("cannot read {file}: {message}")));
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

/// Finds the documents below a directory. It leaves out hidden files and directories, in which editors, version control and
/// Kubernetes' volumes keep copies.
fn documents_below(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Search::below(directory)
        .map_err(|(path, error)| Failure::system(&format!("cannot read {}", path.display()), &error))?;
    if found.is_empty() {
        let message = format!("{} has no documents (files that end in {})", directory.display(), EXTENSIONS.join(", "));
        return Err(Failure::Input(message));
    }
    found.sort();
    Ok(found)
}

/// A search for documents. Its paths of directories have no links.
#[derive(Default)]
struct Search {
    /// The directories that it has read.
    seen: BTreeSet<PathBuf>,
    /// How many times it has read one of them again.
    again: usize,
    /// The directories above the present one.
    above: Vec<PathBuf>,
    found: Vec<PathBuf>,
}

fn of(path: &Path) -> impl FnOnce(io::Error) -> (PathBuf, io::Error) {
    let path = path.to_owned();
    move |error| (path, error)
}

impl Search {
    fn below(directory: &Path) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
        let real = fs::canonicalize(directory).map_err(of(directory))?;
        let mut search = Self { above: real.ancestors().skip(1).map(Path::to_owned).collect(), ..Self::default() };
        search.directory(directory, MAX_DEPTH)?;
        Ok(search.found)
    }

    fn directory(&mut self, directory: &Path, depth: usize) -> Result<(), (PathBuf, io::Error)> {
        let name = |path: &Path| path.file_name().is_some_and(|name| VARIABLES.iter().any(|one| name == *one));
        let has_variables = directory.ancestors().any(name);
        // Directly in these directories, the name of a file is that of a group or a host, which may be `w0.example.md`.
        let names_owners = name(directory);
        let is_document = |name: &str| is_document(name) || names_owners || (has_variables && !has_name_of_notes(name));
        // A link may lead to a directory above, or to one that was searched before. Variables belong to the group or the host that the
        // link names: `group_vars/rack2` may lead to `group_vars/rack1`.
        let real = fs::canonicalize(directory).map_err(of(directory))?;
        let is_new = self.seen.insert(real.clone());
        if depth == 0 || self.above.contains(&real) || !(is_new || has_variables) {
            return Ok(());
        }
        if !is_new {
            self.again += 1;
            if self.again > MAX_AGAIN {
                let why = format!(
                    "links below group_vars and host_vars lead to directories again more than {MAX_AGAIN} times"
                );
                return Err(of(directory)(io::Error::other(why)));
            }
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(directory).map_err(of(directory))? {
            entries.push(entry.map_err(of(directory))?.file_name());
        }
        // Sort the names, so that the file system does not determine which of two links to follow.
        entries.sort();
        let is_inventory = |name: &&str| directory.join(name).is_file();
        let is_of_inventory =
            INVENTORIES.iter().any(is_inventory) || VARIABLES.iter().any(|name| directory.join(name).is_dir());
        self.above.push(real);
        for name in entries {
            let may_be_inventory = is_of_inventory && has_name_of_inventory(&name.to_string_lossy());
            let text = name.to_string_lossy().to_ascii_lowercase();
            // While a workbook is open, Excel keeps its user's name in `~$hosts.xlsx` beside it, and hides that on Windows.
            if text.starts_with('.') || text.starts_with("~$") {
                continue;
            }
            let path = directory.join(&name);
            let Ok(metadata) = fs::metadata(&path) else {
                // Report a broken link if its name is that of a document.
                self.found.extend(is_document(&text).then_some(path));
                continue;
            };
            if metadata.is_dir() {
                self.directory(&path, depth - 1)?;
            } else if metadata.is_file() && (is_document(&text) || (may_be_inventory && begins_as_text(&path))) {
                self.found.push(path);
            }
        }
        self.above.pop();
        Ok(())
    }
}

/// Whether a file beside an inventory, or beside its variables, may be an inventory, too: `production`, but not `README` or `Makefile`.
fn has_name_of_inventory(name: &str) -> bool {
    // Ansible's users keep the vault's password and SSH keys there, too.
    let is_secret = ["key", "pass", "secret", "vault"].iter().any(|word| name.to_ascii_lowercase().contains(word));
    let is_odd = name.contains('.') || name.ends_with('~') || name.starts_with("id_");
    !is_secret && !is_odd && !name.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Whether a file begins as text. Programs, scripts, private keys and images may stand beside an inventory.
fn begins_as_text(path: &Path) -> bool {
    let mut start = Vec::new();
    let is_read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut start)).is_ok();
    // The last character may be cut off.
    let is_utf_8 = str::from_utf8(&start).err().is_none_or(|error| error.error_len().is_none());
    is_read && is_utf_8 && !start.contains(&0) && !start.starts_with(b"#!") && !start.starts_with(b"-----BEGIN ")
}

fn is_document(name: &str) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    EXTENSIONS.iter().any(|end| name.ends_with(end)) || INVENTORIES.contains(&name)
}
