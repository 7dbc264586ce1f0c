//! A clock that a test sets, for one program: see `peers/clock.c`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers::run;

/// The clock of a program that was started in [`environment`](Self::environment).
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

    /// The variables with which a program uses it.
    pub fn environment(&self) -> [(&'static str, OsString); 2] {
        [("DAYONE_TEST_CLOCK", self.offset.clone().into()), ("LD_PRELOAD", self.library.clone().into())]
    }

    /// Sets it so many seconds before or after that of the machine.
    pub fn set(&self, seconds: i64) {
        let file = File::options().write(true).open(&self.offset).expect("the file of the clock");
        file.write_all_at(&seconds.to_ne_bytes(), 0).expect("the file of the clock is written");
    }
}
