//! Adds a file to an ISO image, and writes the result to standard output. The ISO is read where it stands; what is new are a
//! few KiB of directories, and the file.
//!
//!     cargo run --example edit_iso -- live.iso /ks.cfg ks.cfg > new.iso

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;

use imagelib::iso::Volume;
use imagelib::iso::edit::{Edit, Editor};
use imagelib::overlay::{Content, Overlay, Segment};
use imagelib::source::{Role, Source};

/// A file that nobody writes to.
struct Base {
    file: File,
    size: u64,
}

impl Source for Base {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [iso, path, content] = arguments.as_slice() else { return Err("edit_iso ISO PATH FILE".into()) };
    let file = File::open(iso)?;
    let base = Base { size: file.metadata()?.len(), file };
    let content = Segment::Own(Content::Bytes(fs::read(content)?.into()));

    let volume = Volume::open(&base)?;
    let added = Edit::AddFile { path: path.clone(), content: vec![content], mode: 0o644 };
    let plan = Editor::open(&base, &volume)?.plan(vec![added])?;
    for change in &plan.changes {
        eprintln!("{change:?}");
    }

    let image = Overlay::concatenated(&[(Role::Iso, base.size)].into(), plan.segments()?)?;
    let (sources, mut output) = ((Role::Iso, &base), io::stdout().lock());
    let (mut piece, mut offset) = (vec![0; 1 << 20], 0);
    while offset < image.size() {
        let count = image.read_at(&sources, offset, &mut piece)?;
        output.write_all(piece.get(..count).unwrap_or_default())?;
        offset += count as u64;
    }
    Ok(())
}
