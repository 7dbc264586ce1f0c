//! Files with secrets that the server reads and does not write.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Nobody but the owner may change the file, and only the owner and the group may read it. systemd lets the user of a service read a
/// credential by an access control list, whose mask the group's bits show.
const FOR_OTHERS: u32 = 0o037;

/// A file that is open, or its permission bits if they let too many use it.
pub(crate) fn open(path: &Path) -> io::Result<Result<File, u32>> {
    let file = File::open(path)?;
    let mode = file.metadata()?.permissions().mode() & 0o7777;
    Ok(if mode & FOR_OTHERS == 0 { Ok(file) } else { Err(mode) })
}
