//! The sources of a base, from the command line.

use std::collections::BTreeMap;

use imagelib::base::Role;

use crate::arguments::{OfRole, ProofArguments};
use crate::commands::failure::Failure;
use crate::store::{BaseSource, Location};

/// Returns the source of each file. `text` is a source, or `ROLE:SOURCE` several times with commas in between.
pub(super) fn sources(text: &str, proof: &ProofArguments) -> Result<BTreeMap<Role, BaseSource>, Failure> {
    let mut sources = BTreeMap::new();
    for (role, location) in locations(text)? {
        let location: Location = location.parse().map_err(|error| Failure::system(location, &error))?;
        if sources.insert(role, BaseSource { location, sha256: None, signature: None }).is_some() {
            return Err(Failure::System(format!("{} is given twice", role.word())));
        }
    }
    for OfRole { role, value } in &proof.sha256 {
        source(&mut sources, *role, "--sha256")?.sha256 = Some(*value);
    }
    for OfRole { role, value } in &proof.signature {
        source(&mut sources, *role, "--signature")?.signature = Some(value.clone());
    }
    for source in sources.values() {
        let checked = source.refuse_packed().and_then(|()| source.clone().verifiable().map(drop));
        checked.map_err(|error| Failure::system(&source.location.to_string(), &error))?;
    }
    Ok(sources)
}

fn locations(text: &str) -> Result<Vec<(Role, &str)>, Failure> {
    let of_role = |part: &'_ str| part.split_once(':').and_then(|(word, _)| Role::of_word(word)).is_some();
    if !of_role(text) {
        return Ok(vec![(Role::Iso, text)]);
    }
    let parts = text.split(',').map(|part| {
        let known = part.split_once(':').and_then(|(word, location)| Some((Role::of_word(word)?, location)));
        known.ok_or_else(|| {
            Failure::System(format!(
                "{part:?} is not a file of a base: write kernel:SOURCE,initrd:SOURCE (URLs without commas)"
            ))
        })
    });
    parts.collect()
}

/// Returns the source of a file; without a role, the only one.
fn source<'a>(
    sources: &'a mut BTreeMap<Role, BaseSource>,
    role: Option<Role>,
    option: &str,
) -> Result<&'a mut BaseSource, Failure> {
    let several = sources.len() > 1;
    let found = match role {
        Some(role) => sources.get_mut(&role),
        None if several => {
            return Err(Failure::System(format!("{option}: the base has several files; write {option} ROLE:VALUE")));
        }
        None => sources.values_mut().next(),
    };
    let missing = || Failure::System(format!("{option}: the base has no {}", role.map_or("file", Role::word)));
    found.ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use imagelib::digest::Digest;

    use super::*;

    fn proof(sha256: &[&str]) -> ProofArguments {
        let sha256 = sha256.iter().map(|text| text.replace("SUM", &Digest::of(b"x").to_string()).parse().unwrap());
        ProofArguments { sha256: sha256.collect(), signature: Vec::new() }
    }

    #[test]
    fn a_source_is_one_file_or_several_with_their_roles() {
        let iso = sources("https://example.com/a.iso?b=c,d", &proof(&["SUM"])).unwrap();
        assert_eq!(iso.keys().collect::<Vec<_>>(), [&Role::Iso]);
        let several = "kernel:https://example.com/k,initrd:/srv/i.gz-initramfs";
        let several = sources(several, &proof(&["kernel:SUM"])).unwrap();
        assert_eq!(several.keys().collect::<Vec<_>>(), [&Role::Kernel, &Role::Initrd]);
        assert!(several[&Role::Kernel].sha256.is_some() && several[&Role::Initrd].sha256.is_none());
    }

    #[test]
    fn errors_say_what_is_wrong_with_a_source() {
        let both = "kernel:https://example.com/k,initrd:https://example.com/i";
        for (text, sha256, reason) in [
            ("live.iso", &["SUM"][..], "absolute"),
            ("https://example.com/a.iso", &[], "SHA-256"),
            ("https://example.com/a.iso.xz", &["SUM"], "compressed"),
            ("https://example.com/a.qcow2", &["SUM"], "qemu-img convert -O raw"),
            (both, &["SUM"], "several files"),
            (both, &["kernel:SUM"], "SHA-256"),
            (both, &["rootfs:SUM"], "no rootfs"),
            ("kernel:https://example.com/k,https://example.com/i", &["kernel:SUM"], "not a file of a base"),
            ("kernel:/k,kernel:/l", &[], "twice"),
        ] {
            match sources(text, &proof(sha256)) {
                Err(Failure::System(message)) => assert!(message.contains(reason), "{text}: {message}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
