//! Writes small files into a directory: either all of them, or none.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::{partial, terminal};

/// Writes all files. If one of them exists with a different content, writes nothing, unless `force` is set.
pub(super) fn write_all(files: &[(PathBuf, &str)], force: bool) -> Result<(), Failure> {
    let mut missing = Vec::new();
    for (path, content) in files {
        // A device would be replaced, and a pipe never ends.
        if fs::metadata(path).is_ok_and(|existing| !existing.is_file() && !existing.is_dir()) {
            return Err(Failure::System(format!("{} is neither a file nor a directory", path.display())));
        }
        match holds(path, content) {
            Ok(true) => {}
            Ok(false) if !force => {
                let message = format!("{} exists with a different content; --force replaces it", path.display());
                return Err(Failure::System(message));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Failure::system(&format!("cannot read {}", path.display()), &error));
            }
            _ => missing.push((path, content)),
        }
    }
    for (path, content) in missing {
        write(path, content).map_err(|error| Failure::system(&format!("cannot write {}", path.display()), &error))?;
    }
    Ok(())
}

/// Whether the file has this content.
fn holds(path: &Path, content: &str) -> io::Result<bool> {
    let mut existing = Vec::with_capacity(content.len() + 1);
    File::open(path)?.take(content.len() as u64 + 1).read_to_end(&mut existing)?;
    Ok(existing == content.as_bytes())
}

/// Writes all files like [`write_all`], and prints their paths.
pub(super) fn write_and_list(files: &[(PathBuf, &str)], force: bool) -> Result<(), Failure> {
    write_all(files, force)?;
    for (path, _) in files {
        terminal::remark(&format!("wrote {}\n", path.display()));
    }
    Ok(())
}

/// Writes a file completely or not at all. Only its owner can ever read it.
fn write(path: &Path, content: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut file = partial::create(directory)?;
    file.write_all(content.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
