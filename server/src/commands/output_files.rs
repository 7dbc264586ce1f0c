//! Small files that a command writes into a directory: all of them, or none.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::partial;

/// Writes every file, or nothing if any is in the way: there with another content, unless `force` is set.
pub(super) fn write_all(files: &[(PathBuf, &str)], force: bool) -> Result<(), Failure> {
    let mut missing = Vec::new();
    for (path, content) in files {
        match fs::read(path) {
            Ok(there) if there == content.as_bytes() => {}
            Ok(_) if !force => {
                let message = format!("{} is there with another content; --force replaces it", path.display());
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

/// Whole or not at all, and for the owner's eyes only from the first byte on.
fn write(path: &Path, content: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut file = partial::create(directory)?;
    file.write_all(content.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
