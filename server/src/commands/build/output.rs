//! Writes images to files, which are either complete or absent, or to standard output.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use imagelib::base::Role;
use imagelib::image::Image;
use imagelib::overlay::Overlay;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use media::base_file::{BaseError, BaseFile};
use tempfile::NamedTempFile;

use super::fill::fill;
use super::interrupt::Interrupt;
use crate::commands::base::OpenedBase;
use crate::commands::failure::Failure;
use crate::commands::partial;
use crate::error_chain::chain;

/// The consequence of an interruption.
const NOTHING_WRITTEN: &str = "nothing was written";

/// Refuses to write an image to a terminal.
pub(super) fn refuse_terminal() -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        let message = "standard output is a terminal; name a file with -o FILE, or redirect the output";
        return Err(Failure::System(message.to_owned()));
    }
    Ok(())
}

/// Writes the image's main file to standard output.
pub(super) fn stream(image: &Image, base: &OpenedBase) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::system("cannot write the image to standard output", &error);
    let Some((_, file)) = image.main_file() else {
        return Err(Failure::Input("the base lacks the file for this image".to_owned()));
    };
    let mut out = io::stdout().lock();
    let mut buffer = vec![0; 1 << 20];
    let mut position = 0;
    loop {
        let count = file
            .read_at(&base.files, position, &mut buffer)
            .map_err(|error| Failure::system("cannot read the base", &error))?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        out.write_all(bytes).map_err(failed)?;
        position += count as u64;
    }
    out.flush().map_err(failed)?;
    // The output is the base as it was. If the base has changed, nobody can build this image again.
    let mut files = base.files.values();
    let unusable = |error: BaseError| Failure::System(format!("do not use the image: {}", changed(&error)));
    files.try_for_each(BaseFile::check).map_err(unusable)
}

/// Creates the directory for images, if it does not exist.
pub(super) fn make_directory(directory: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::system(&format!("cannot create the directory {}", directory.display()), &error);
    fs::create_dir_all(directory).map_err(failed)
}

/// Writes the image's main file to `path`, or all of its files into the directory `path` (it exists, or ends with a slash).
/// Returns the paths of the files. None of them appears before all are complete.
pub(super) fn write(
    path: &Path,
    image: &Image,
    base: &OpenedBase,
    force: bool,
    quiet: bool,
) -> Result<Vec<PathBuf>, Failure> {
    let is_directory = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let files: Vec<(PathBuf, &Overlay)> = if is_directory {
        make_directory(path)?;
        image.files.iter().map(|(name, file)| (path.join(name.as_str()), file)).collect()
    } else {
        image.main_file().map(|(_, file)| (path.to_owned(), file)).into_iter().collect()
    };
    for (path, _) in &files {
        check_target(path, base, force)?;
    }
    let interrupt = catch_interrupt()?;
    let bar = progress_bar(files.iter().map(|(_, file)| file.size()).sum(), quiet);
    let mut complete = Vec::new();
    for (path, file) in files {
        let temporary = write_temporary(&path, file, &base.files, &interrupt, &bar);
        complete.push((temporary.inspect_err(|_| bar.finish_and_clear())?, path));
    }
    bar.finish_and_clear();
    for file in base.files.values() {
        file.check().map_err(|error| not_written(&error))?;
    }
    if interrupt.is_wanted() {
        return Err(Failure::Interrupted(NOTHING_WRITTEN.into()));
    }
    complete.into_iter().map(|(temporary, path)| put_in_place(temporary, path, force)).collect()
}

fn not_written(error: &BaseError) -> Failure {
    Failure::System(format!("the image is not written: {}", changed(error)))
}

/// Explains an error of a base that changes. A build registers no base: it just needs a base that nobody writes.
fn changed(error: &BaseError) -> String {
    match error {
        BaseError::Changed { path, change } => {
            format!("the base {} {change} while dayone read it; build the image again", path.display())
        }
        other => chain(other),
    }
}

fn catch_interrupt() -> Result<Interrupt, Failure> {
    Interrupt::catch().map_err(|error| Failure::system("cannot handle signals", &error))
}

/// Writes files one after the other, each completely or not at all.
pub(super) struct Writer<'a> {
    base: &'a OpenedBase,
    force: bool,
    interrupt: Interrupt,
    bar: ProgressBar,
}

impl<'a> Writer<'a> {
    pub(super) fn new(base: &'a OpenedBase, force: bool, quiet: bool) -> Result<Self, Failure> {
        Ok(Self { base, force, interrupt: catch_interrupt()?, bar: progress_bar(0, quiet) })
    }

    /// Writes a file, unless it exists and `force` is not set.
    pub(super) fn write(&self, path: &Path, file: &Overlay) -> Result<(), Failure> {
        check_target(path, self.base, self.force)?;
        self.bar.inc_length(file.size());
        let temporary = write_temporary(path, file, &self.base.files, &self.interrupt, &self.bar)?;
        for file in self.base.files.values() {
            file.check().map_err(|error| not_written(&error))?;
        }
        put_in_place(temporary, path.to_owned(), self.force).map(drop)
    }

    /// Removes the progress bar from the terminal.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Checks the target before dayone copies a gigabyte.
fn check_target(path: &Path, base: &OpenedBase, force: bool) -> Result<(), Failure> {
    let existing = match fs::metadata(path) {
        Ok(existing) => existing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot_write(path, &error)),
    };
    let is_base = |file: &BaseFile| {
        fs::metadata(file.path()).is_ok_and(|base| (base.dev(), base.ino()) == (existing.dev(), existing.ino()))
    };
    if base.files.values().any(is_base) {
        let message = format!("{} is the base; the image must be another file", path.display());
        return Err(Failure::System(message));
    }
    if !existing.is_file() {
        let message = format!("{} is neither a file nor a directory; to write to a pipe, use -o -", path.display());
        return Err(Failure::System(message));
    }
    if force { Ok(()) } else { Err(exists(path)) }
}

fn write_temporary(
    path: &Path,
    file: &Overlay,
    base: &BTreeMap<Role, BaseFile>,
    interrupt: &Interrupt,
    bar: &ProgressBar,
) -> Result<NamedTempFile, Failure> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::Interrupted => Failure::Interrupted(NOTHING_WRITTEN.into()),
        _ => match error.downcast::<BaseError>() {
            Ok(error) => not_written(&error),
            Err(error) => cannot_write(path, &error),
        },
    };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Use the same directory, so that the file can be renamed.
    let temporary = partial::create(directory).map_err(|error| cannot_write(path, &error))?;
    let before = bar.position();
    let filled = fill(temporary.as_file(), file, base, |position| {
        bar.set_position(before + position);
        base.values().try_for_each(BaseFile::check)?;
        if interrupt.is_wanted() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    });
    filled.map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    Ok(temporary)
}

fn put_in_place(temporary: NamedTempFile, path: PathBuf, force: bool) -> Result<PathBuf, Failure> {
    let placed = if force { temporary.persist(&path) } else { temporary.persist_noclobber(&path) };
    match placed {
        Ok(_) => Ok(path),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
        Err(error) => Err(cannot_write(&path, &error.error)),
    }
}

/// Makes a progress bar on standard error, which is hidden if that is not a terminal.
fn progress_bar(bytes: u64, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let style = ProgressStyle::with_template("{bar:40} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec}");
    ProgressBar::with_draw_target(Some(bytes), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn exists(path: &Path) -> Failure {
    Failure::System(format!("{} exists; --force replaces it", path.display()))
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::system(&format!("cannot write {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use media::base_file::Change;

    use super::*;

    #[test]
    fn a_base_that_changes_is_not_said_to_be_registered() {
        let error = BaseError::Changed { path: "/srv/live.iso".into(), change: Change::Modified };
        let expected =
            "the base /srv/live.iso was written to (its mtime moved) while dayone read it; build the image again";
        assert_eq!(changed(&error), expected);
    }
}
