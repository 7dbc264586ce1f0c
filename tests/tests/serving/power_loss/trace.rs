//! What a server did to its data directory: the log of strace, read back.
//!
//! strace prints when a call begins and when it ends, each on a line of its own if other threads act in between. The number of a
//! line is the time here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A system call that succeeded.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    /// The lines on which it begins and ends.
    pub(crate) begin: usize,
    pub(crate) end: usize,
    pub(crate) call: Call,
}

#[derive(Debug, Clone)]
pub(crate) enum Call {
    Open { path: PathBuf, creates: bool, truncates: bool, file: i32 },
    Write { file: i32, offset: Option<u64>, bytes: Vec<u8> },
    Copy { from: PathBuf, from_offset: u64, file: i32, offset: u64, length: u64 },
    Resize { file: i32, length: u64, only_grows: bool },
    Seek { file: i32, offset: u64 },
    Rename { from: PathBuf, to: PathBuf },
    Link { from: PathBuf, to: PathBuf },
    Unlink { path: PathBuf },
    MakeDirectory { path: PathBuf },
    Sync { file: i32 },
    Close { file: i32 },
}

/// The calls to trace.
pub(crate) const CALLS: &str = "trace=openat,creat,close,write,writev,pwrite64,pwritev,pwritev2,copy_file_range,sendfile,ftruncate,\
    fallocate,lseek,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir,symlink,symlinkat,fsync,fdatasync,\
    sync_file_range,ioctl";

/// The logs of processes, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// What each process did.
    pub(crate) lives: Vec<Vec<Event>>,
    /// When each line was written, in seconds since 1970.
    pub(crate) times: Vec<f64>,
}

impl Trace {
    /// Adds the log of a process. Only files below `root` matter.
    pub(crate) fn add(&mut self, log: &str, root: &Path) {
        let mut events = Vec::new();
        let mut begun: BTreeMap<&str, (usize, String)> = BTreeMap::new();
        for line in log.lines() {
            let number = self.times.len();
            let (process, rest) = line.split_once(' ').unwrap_or((line, ""));
            let (time, text) = rest.trim_start().split_once(' ').unwrap_or((rest, ""));
            self.times.push(time.parse().unwrap_or_else(|_| panic!("no time: {line:.200}")));
            if let Some(beginning) = text.strip_suffix(" <unfinished ...>") {
                begun.insert(process, (number, beginning.to_owned()));
                continue;
            }
            let (begin, text) = match text.split_once(" resumed>") {
                Some((_, end)) if text.starts_with("<... ") => {
                    let Some((begin, beginning)) = begun.remove(process) else { continue };
                    (begin, beginning + end)
                }
                _ => (number, text.to_owned()),
            };
            if let Some(call) = parse(&text, root) {
                events.push(Event { begin, end: number, call });
            }
        }
        self.lives.push(events);
    }
}

/// The call, if it succeeded and changes something below `root`.
fn parse(text: &str, root: &Path) -> Option<Call> {
    let (call, result) = text.rsplit_once(" = ")?;
    let (name, arguments) = call.trim_end().strip_suffix(')')?.split_once('(')?;
    let result: i64 = result.split(['<', ' ']).next()?.parse().ok()?;
    if result < 0 {
        return None;
    }
    let arguments: Vec<&str> = arguments.split(", ").collect();
    let argument = |at: usize| arguments.get(at).copied().unwrap_or_default();
    let number = |at: usize| argument(at).trim_matches(['[', ']']).parse::<u64>().ok();
    let path = |at: usize| Some(PathBuf::from(String::from_utf8(string(argument(at))?).ok()?));
    let inside = |path: PathBuf| path.starts_with(root).then_some(path);
    // `7</the/path>`
    let file = |at: usize| {
        let (file, path) = argument(at).split_once('<')?;
        let path =
            PathBuf::from(String::from_utf8(unescaped(path.trim_end_matches("(deleted)").strip_suffix('>')?)).ok()?);
        Some((file.parse::<i32>().ok()?, path))
    };
    let own = |at: usize| file(at).and_then(|(file, path)| inside(path).map(|_| file));
    match name {
        "openat" => {
            let path = inside(path(1)?)?;
            let flags: Vec<&str> = argument(2).split('|').collect();
            if flags.contains(&"O_TMPFILE") || flags.iter().any(|flag| flag.contains("__O_TMPFILE")) {
                return None;
            }
            let (creates, truncates) = (flags.contains(&"O_CREAT"), flags.contains(&"O_TRUNC"));
            Some(Call::Open { path, creates, truncates, file: i32::try_from(result).ok()? })
        }
        "write" | "pwrite64" => {
            let file = own(0)?;
            let mut bytes = string(argument(1))?;
            bytes.truncate(usize::try_from(result).ok()?);
            Some(Call::Write { file, offset: if name == "write" { None } else { number(3) }, bytes })
        }
        "copy_file_range" => {
            let (file, (_, from)) = (own(2)?, file(0)?);
            let (from_offset, offset) = (number(1)?, number(3)?);
            Some(Call::Copy { from, from_offset, file, offset, length: u64::try_from(result).ok()? })
        }
        "ftruncate" => Some(Call::Resize { file: own(0)?, length: number(1)?, only_grows: false }),
        "fallocate" => {
            let file = own(0)?;
            // With a flag, the length stays.
            (argument(1) == "0").then_some(())?;
            Some(Call::Resize { file, length: number(2)? + number(3)?, only_grows: true })
        }
        "lseek" => Some(Call::Seek { file: own(0)?, offset: u64::try_from(result).ok()? }),
        "rename" => Some(Call::Rename { from: inside(path(0)?)?, to: path(1)? }),
        "renameat" | "renameat2" => Some(Call::Rename { from: inside(path(1)?)?, to: path(3)? }),
        "link" => Some(Call::Link { from: inside(path(0)?)?, to: path(1)? }),
        "linkat" => Some(Call::Link { from: inside(path(1)?)?, to: path(3)? }),
        "unlink" => Some(Call::Unlink { path: inside(path(0)?)? }),
        "unlinkat" => Some(Call::Unlink { path: inside(path(1)?)? }),
        "mkdir" => Some(Call::MakeDirectory { path: inside(path(0)?)? }),
        "mkdirat" => Some(Call::MakeDirectory { path: inside(path(1)?)? }),
        "fsync" | "fdatasync" => Some(Call::Sync { file: own(0)? }),
        "close" => Some(Call::Close { file: own(0)? }),
        // A call that the model does not know would make it wrong in silence.
        _ => {
            assert!(own(0).is_none() || name == "ioctl", "{text:.300}: the model does not know this call");
            None
        }
    }
}

/// The bytes of a string in quotes, in which every byte is `\xNN`.
fn string(quoted: &str) -> Option<Vec<u8>> {
    Some(unescaped(quoted.strip_prefix('"')?.strip_suffix('"').expect("strace prints whole strings")))
}

fn unescaped(text: &str) -> Vec<u8> {
    text.split("\\x").skip(1).map(|digits| u8::from_str_radix(&digits[..2], 16).expect("two digits")).collect()
}

#[test]
fn a_log_is_read() {
    let escape = |text: &str| text.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    let (a, b) = (escape("/d/a"), escape("/d/b"));
    let log = format!(
        "7 1.0 openat(AT_FDCWD<{a}>, \"{a}\", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3<{a}>\n\
         7 1.1 write(3<{a}>, \"{}\", 2 <unfinished ...>\n\
         8 1.2 fsync(3<{a}>) = 0\n\
         7 1.3 <... write resumed>) = 2\n\
         7 1.4 rename(\"{a}\", \"{b}\") = -1 ENOENT (No such file or directory)\n\
         7 1.5 rename(\"{a}\", \"{b}\") = 0\n",
        escape("hi")
    );
    let mut trace = Trace::default();
    trace.add(&log, Path::new("/d"));
    let seen: Vec<(usize, usize)> = trace.lives[0].iter().map(|event| (event.begin, event.end)).collect();
    assert_eq!(seen, [(0, 0), (2, 2), (1, 3), (5, 5)]);
    assert!(matches!(&trace.lives[0][2].call, Call::Write { file: 3, offset: None, bytes } if bytes == b"hi"));
    assert!(matches!(&trace.lives[0][3].call, Call::Rename { to, .. } if to == Path::new("/d/b")));
}
