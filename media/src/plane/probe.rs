//! A file by which an operator can test the way from the BMCs' network to this server, without an image: `/i/probe/probe.img`.
//!
//! It is served like a file of an image. Its content follows from the name of the running instance, so a reader that knows the name
//! also knows every byte, and notices if another server or a proxy answers instead.
//!
//! A call to `/h/probe` is answered like that of a host, and shows whether such calls come through.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use bytes::Bytes;
use imagelib::digest::Digest;
use imagelib::overlay::Overlay;

use crate::served::{ETag, ServedFile};

/// The place of the token in the probe's URLs. Tokens of images and of hosts are longer.
pub const PROBE_TOKEN: &str = "probe";

/// The name of the file.
pub const PROBE_FILE: &str = "probe.img";

/// The size, in bytes: more than a proxy reads ahead, and little to fetch.
const SIZE: usize = 256 << 10;

/// The content for the instance with this name. `dayone doctor` recognises the file by its first line.
pub fn probe_content(instance: &str) -> Vec<u8> {
    let mut content = format!("dayone probe\ninstance: {instance}\n").into_bytes();
    let mut number = 0_u64;
    while content.len() < SIZE {
        content.extend_from_slice(Digest::of(format!("{instance} {number}").as_bytes()).as_bytes());
        number += 1;
    }
    content.truncate(SIZE);
    content
}

/// The probe of one instance. Few servers are ever asked for it, so its content is made when it is asked for.
pub(super) struct Probe {
    instance: String,
    since: SystemTime,
    file: OnceLock<ServedFile>,
}

impl Probe {
    pub(super) fn new(instance: &str) -> Self {
        Self { instance: instance.to_owned(), since: SystemTime::now(), file: OnceLock::new() }
    }

    pub(super) fn file(&self) -> ServedFile {
        self.file.get_or_init(|| file(&self.instance, self.since)).clone()
    }
}

fn file(instance: &str, last_modified: SystemTime) -> ServedFile {
    let content = probe_content(instance);
    let etag = ETag::new(&Digest::of(&content));
    ServedFile {
        overlay: Arc::new(Overlay::literal(Bytes::from(content))),
        base: Arc::default(),
        etag,
        last_modified,
        // After a restart, the URL has another content.
        changes: true,
        host: None,
        media_type: "application/octet-stream",
        reading: None,
        access: None,
        keeps: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_instance_has_its_own_content() {
        let (one, other) = (probe_content("one"), probe_content("other"));
        assert!(one.len() == SIZE && one.starts_with(b"dayone probe\ninstance: one\n"));
        assert_eq!(one, probe_content("one"));
        assert!(one[SIZE - 64..] != other[SIZE - 64..] && one[4096..4160] != one[8192..8256]);
    }
}
