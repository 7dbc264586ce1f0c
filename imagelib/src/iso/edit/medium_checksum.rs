//! The checksum of the whole medium, which isomd5sum and SUSE's `tagmedia` write into a descriptor's field for the application's use. Both
//! write tags there: a key, an equals sign and a value, with semicolons between the tags (openSUSE/checkmedia, `README.adoc`).

/// The key with which isomd5sum begins. Its `checkisomd5` finds it anywhere in the field.
const ISOMD5SUM: &[u8] = b"ISO MD5SUM";
/// The keys of digests, in lower case. In the style of isomd5sum, "iso " stands before them. A medium of SUSE can have the digest of one
/// partition alone.
const DIGESTS: [&[u8]; 7] =
    [b"md5sum", b"sha1sum", b"sha224sum", b"sha256sum", b"sha384sum", b"sha512sum", b"partition"];
/// The keys of the tags that say how a digest was made, what has signed it, and that the installer is to verify it.
const ABOUT_DIGESTS: [&[u8]; 8] = [
    b"check",
    b"pad",
    b"signature",
    b"skipsectors",
    b"rhlisostatus",
    b"fragment sums",
    b"fragment count",
    b"this is not the same as running md5sum on this iso!!",
];

/// Returns what remains of the field without the checksum, or `None` if it has no checksum. Tags about something else stay: Agama's live
/// system finds the password of root in one.
pub(super) fn without(field: &[u8]) -> Option<Vec<u8>> {
    let last = field.iter().rposition(|byte| !matches!(byte, 0 | b' '))?;
    let mut tags: Vec<&[u8]> = field.get(..=last)?.split(|byte| *byte == b';').collect();
    if !tags.iter().any(|tag| is_digest(tag)) {
        return None;
    }
    tags.retain(|tag| !is_digest(tag) && !ABOUT_DIGESTS.contains(&key(tag).as_slice()) && !tag.trim_ascii().is_empty());
    Some(tags.join(&b';'))
}

fn is_digest(tag: &[u8]) -> bool {
    let key = key(tag);
    let digest = key.strip_prefix(b"iso ").unwrap_or(&key);
    DIGESTS.contains(&digest) || tag.windows(ISOMD5SUM.len()).any(|window| window == ISOMD5SUM)
}

/// The key of a tag in lower case. `checkmedia` ignores case, and spaces around the key.
fn key(tag: &[u8]) -> Vec<u8> {
    tag.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii().to_ascii_lowercase()
}
