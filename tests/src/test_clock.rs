//! A clock that a test sets, for one program: see `peers/clock.c`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers::run;

/// The clock of a program that was started by its [`launcher`](Self::launcher).
pub struct TestClock {
    offset: PathBuf,
    library: PathBuf,
}

impl TestClock {
    /// A clock that is right. Its files are in `directory`.
    pub fn new(directory: &Path) -> Self {
        let (offset, library) = (directory.join("clock"), directory.join("clock.so"));
        fs::write(&offset, 0_i64.to_ne_bytes()).expect("a file");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/clock.c");
        run(Command::new("cc").args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(&library).arg(source));
        Self { offset, library }
    }

    /// The beginning of a command whose program uses it: `env` with variables, which becomes that program.
    pub fn launcher(&self) -> [String; 3] {
        let (offset, library) = (self.offset.display(), self.library.display());
        ["env".to_owned(), format!("DAYONE_TEST_CLOCK={offset}"), format!("LD_PRELOAD={library}")]
    }

    /// Sets it so many seconds before or after that of the machine.
    pub fn set(&self, seconds: i64) {
        let file = File::options().write(true).open(&self.offset).expect("the file of the clock");
        file.write_all_at(&seconds.to_ne_bytes(), 0).expect("the file of the clock is written");
    }
}
