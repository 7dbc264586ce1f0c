//! Where an audit log goes: into a file, or to the standard output.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::chain::{Link, seal};
use super::event::Event;
use super::log_file::{AuditError, Entry, FileState, LogFile, line};

/// The name of the standard output, as a value of the setting.
const OUTPUT: &str = "-";

/// Where an audit log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditTarget {
    /// Into this file.
    File(PathBuf),
    /// To the standard output, from which a cluster collects it. Each process begins a chain.
    Output,
}

impl From<PathBuf> for AuditTarget {
    fn from(path: PathBuf) -> Self {
        if path == Path::new(OUTPUT) { Self::Output } else { Self::File(path) }
    }
}

impl AuditTarget {
    /// The path for errors and the log of the server.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Output => Path::new("/dev/stdout"),
        }
    }

    /// Opens the log, which continues after `known`.
    pub(super) fn open(&self, known: Link) -> Result<Log, AuditError> {
        match self {
            Self::File(path) => LogFile::open(path, known).map(Log::File),
            Self::Output => {
                let mut output = Output { writer: Box::new(io::stdout()), link: known };
                let begun = output.begin();
                begun.map_err(|source| AuditError::Write { path: self.path().to_owned(), source })?;
                Ok(Log::Output(output))
            }
        }
    }
}

/// A log, open at the end of its chain.
pub(super) enum Log {
    File(LogFile),
    Output(Output),
}

/// The standard output.
pub(super) struct Output {
    writer: Box<dyn Write + Send>,
    link: Link,
}

impl Output {
    fn begin(&mut self) -> io::Result<()> {
        if self.link == Link::START {
            return self.append(&Entry::of_server(Event::LogBegun { earlier: None }));
        }
        // A part of an entry may be there from an attempt that failed. It is a line of its own then.
        self.writer.write_all(b"\n")
    }

    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        let sequence = self.link.sequence.saturating_add(1);
        let (line, hash) = seal(&line(sequence, &self.link.hash, entry)?, &self.link.hash);
        self.writer.write_all(line.as_bytes())?;
        self.writer.flush()?;
        self.link = Link { sequence, hash };
        Ok(())
    }
}

impl Log {
    /// Appends an entry. After an error, a part of it may be there; open the log again then.
    pub(super) fn append(&mut self, entry: &Entry) -> io::Result<()> {
        match self {
            Self::File(file) => file.append(entry),
            Self::Output(output) => output.append(entry),
        }
    }

    /// Waits until what was appended survives a power failure. Whoever reads the standard output has to see to that.
    pub(super) fn sync(&self) -> io::Result<()> {
        match self {
            Self::File(file) => file.sync(),
            Self::Output(_) => Ok(()),
        }
    }

    /// Checks that the file still exists. For the standard output, there is nothing to check.
    pub(super) fn file_state(&self) -> io::Result<FileState> {
        match self {
            Self::File(file) => file.file_state(),
            Self::Output(_) => Ok(FileState::InPlace),
        }
    }

    /// The end of the chain.
    pub(super) fn link(&self) -> Link {
        match self {
            Self::File(file) => file.link(),
            Self::Output(output) => output.link,
        }
    }

    /// Renames the file if it has this size, so that the next open begins a new one. Returns whether it did.
    pub(super) fn rotate(&self, max_bytes: u64) -> io::Result<bool> {
        match self {
            Self::File(file) if file.size() >= max_bytes => file.rotate().map(|()| true),
            Self::File(_) | Self::Output(_) => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;
    use crate::audit::{LogText, verify};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_goes_to_the_output_is_a_chain() {
        let written = Written::default();
        let output = |link| Output { writer: Box::new(written.clone()), link };
        let mut first = output(Link::START);
        first.begin().unwrap();
        first.append(&Entry::of_server(Event::ServerStopped)).unwrap();
        // It was opened again after an error.
        let mut second = output(first.link);
        second.begin().unwrap();
        second.append(&Entry::of_server(Event::ServerStopped)).unwrap();
        let bytes = written.0.lock().clone();
        let verified = verify(vec![LogText::of_bytes("output", bytes)], None).unwrap();
        assert_eq!((verified.faults, verified.entries), (vec![], 3));
    }

    #[test]
    fn a_hyphen_is_the_output() {
        assert_eq!(AuditTarget::from(PathBuf::from("-")), AuditTarget::Output);
        assert_eq!(AuditTarget::from(PathBuf::from("./-")), AuditTarget::File("./-".into()));
    }
}
