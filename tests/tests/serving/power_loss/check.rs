//! Opens what a power failure has left with the real store, and compares it with what the server acknowledged.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dayone::store::{BaseDefinition, DataKeys, Store};
use imagelib::base::{BaseIdentity, Role};
use media::access::Clock;
use media::served::{Lookup, Published as _, ServedFile};

use super::history::{Subject, Wanted};

/// What is wrong about a data directory, if anything is.
pub(crate) fn check(
    data: &Path,
    keys: &DataKeys,
    base: &BaseDefinition,
    media_url: &str,
    expected: &[(Subject, Vec<Wanted>)],
) -> Result<(), String> {
    if !data.exists() && expected.iter().all(|(_, possible)| possible.contains(&Wanted::Absent)) {
        return Ok(());
    }
    let (bases, url) = (vec![base.clone()], media_url.parse().unwrap());
    let store = Store::open_with(data, keys.clone(), bases, url, Clock::default());
    let store = store.map_err(|error| format!("it does not open: {error}"))?;
    let damaged: Vec<_> = fs::read_dir(data.join("damaged")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    if !damaged.is_empty() {
        return Err(format!("half records: {damaged:?}"));
    }
    for (subject, possible) in expected {
        let found = look(&store, data, subject, possible)?;
        if !possible.contains(&found) {
            return Err(format!(
                "{subject:?} is {}, and should be {}",
                short(&found),
                possible.iter().map(short).collect::<Vec<_>>().join(" or ")
            ));
        }
    }
    Ok(())
}

/// What is there of a subject.
fn look(store: &Store, data: &Path, subject: &Subject, possible: &[Wanted]) -> Result<Wanted, String> {
    Ok(match subject {
        Subject::Image(token) => {
            let names = possible.iter().find_map(|wanted| match wanted {
                Wanted::Image { files } => Some(files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()),
                _ => None,
            });
            let names = names.unwrap_or_else(|| ["boot.iso", "data.iso", "initrd.img"].map(str::to_owned).to_vec());
            let mut files = Vec::new();
            for name in names {
                match store.find(token, &name) {
                    Lookup::Found(served) => files.push((name, bytes(&served))),
                    Lookup::NotFound | Lookup::NotYet(_) => {}
                    Lookup::Unavailable(reason) => return Err(format!("{token}/{name} is not served: {reason}")),
                }
            }
            if files.is_empty() { Wanted::Absent } else { Wanted::Image { files } }
        }
        Subject::Base(name) => match store.base(name).map(|base| base.state()) {
            None => Wanted::Absent,
            Some(Err(reason)) => return Err(format!("the base {name} is not available: {reason}")),
            Some(Ok(open)) => {
                let is_it = |wanted: &&Wanted| match wanted {
                    Wanted::Base(digest) => BaseIdentity::of(&BTreeMap::from([(Role::Iso, *digest)])) == open.identity,
                    _ => false,
                };
                possible.iter().find(is_it).cloned().ok_or_else(|| format!("the base {name} is {}", open.identity))?
            }
        },
        Subject::BaseRequest(name) => {
            let is_there = store.added_bases().iter().any(|(_, record)| record.name.as_str() == name);
            if is_there { Wanted::Present } else { Wanted::Absent }
        }
        Subject::Boot(id) => match fs::read(data.join("boots").join(format!("{id}.json"))) {
            Err(_) => Wanted::Absent,
            Ok(json) => {
                let json = serde_json::from_slice::<serde_json::Value>(&json);
                json.map_err(|error| format!("the record of the boot {id} is damaged: {error}"))?;
                Wanted::Present
            }
        },
    })
}

fn bytes(served: &ServedFile) -> Vec<u8> {
    let mut bytes = vec![0xAA; usize::try_from(served.overlay.size()).unwrap()];
    let count = served.overlay.read_at(&*served.base, 0, &mut bytes);
    assert_eq!(count.unwrap(), bytes.len());
    bytes
}

fn short(wanted: &Wanted) -> String {
    match wanted {
        Wanted::Image { files } => {
            let digests = files.iter().map(|(name, bytes)| format!("{name} {}", imagelib::digest::Digest::of(bytes)));
            digests.collect::<Vec<_>>().join(", ")
        }
        other => format!("{other:?}"),
    }
}
