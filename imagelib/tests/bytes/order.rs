//! The same content is the same recipe and the same image, in whichever order it was given.

use std::collections::BTreeMap;

use imagelib::base::{Base, BaseIdentity, Format};
use imagelib::cpio::Archive;
use imagelib::ignition::{Additions, ExtraFile, Unit, UserConfig};
use imagelib::image::{FileName, Image};
use imagelib::kernel_arguments::KernelArgumentEdits;
use imagelib::recipe::{PartOrder, Recipe, SealedRecipe};
use imagelib::source::Role;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use vocabulary::network_files::Keyfile;

/// Keys of two owners; of the first, two lines with different options.
const KEYS: [&str; 3] = [
    "from=\"192.0.2.0/24\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB a",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB a",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC b",
];

/// The initramfs of a CoreOS, which takes all that can be ordered.
fn initrd() -> Vec<u8> {
    let mut initrd = Archive::new();
    initrd.file("etc/coreos-live-initramfs".parse().unwrap(), 0o644, "").unwrap();
    initrd.add_parents(0o755).unwrap();
    initrd.to_bytes()
}

/// All bytes of the initramfs of the image.
fn bytes(recipe: &Recipe) -> Vec<u8> {
    let files = BTreeMap::from([(Role::Kernel, b"the kernel".to_vec()), (Role::Initrd, initrd())]);
    let base = Base::probe(&files).unwrap();
    let image = Image::plan(recipe, &base, recipe.base).unwrap();
    let file = image.files.get(&FileName::Initrd).unwrap();
    let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
    assert_eq!(file.read_at(&files, 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

/// Keys that only the user's own config has.
const OWN_KEYS: [&str; 2] = [
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE d",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMD c",
];

/// Everything that an order can hold, in some order.
#[derive(Debug, Clone)]
struct Content {
    keyfiles: Vec<usize>,
    files: Vec<usize>,
    units: Vec<usize>,
    keys: Vec<usize>,
    deleted: Vec<usize>,
    ignition: Value,
}

fn user_config() -> Value {
    let unit = |name: &str, dropins: &[&str]| {
        let dropins: Vec<Value> =
            dropins.iter().map(|name| json!({"name": name, "contents": format!("[Unit]\n# {name}\n")})).collect();
        json!({"name": name, "enabled": true, "dropins": dropins})
    };
    json!({
        "ignition": {"version": "3.3.0", "timeouts": {"httpTotal": 1, "httpResponseHeaders": 2}},
        "passwd": {"users": [
            {"name": "one", "sshAuthorizedKeys": [KEYS[0], KEYS[2]]},
            {"name": "core", "sshAuthorizedKeys": OWN_KEYS},
        ]},
        "storage": {
            "files": [
                {"path": "/etc/a", "mode": 420, "contents": {"source": "data:,a"}},
                {"path": "/etc/c", "append": [{"source": "data:,1"}, {"source": "data:,0"}]},
                {"path": "/etc/b", "mode": 420, "contents": {"source": "data:,b"}},
            ],
            "directories": [{"path": "/x/b", "mode": 448}, {"path": "/x/a", "mode": 493}],
            "links": [{"path": "/var/b", "target": "/etc/b"}, {"path": "/var/a", "target": "/var/b", "hard": true}],
        },
        "systemd": {"units": [unit("b.service", &["20.conf", "10.conf"]), unit("a.service", &["30.conf"])]},
    })
}

fn recipe(content: &Content) -> Recipe {
    let keyfile =
        |n: &usize| Keyfile { name: format!("eth{n}.nmconnection").parse().unwrap(), content: format!("# {n}\n") };
    let file = |n: &usize| ExtraFile {
        path: format!("/etc/file-{n}").parse().unwrap(),
        mode: "0644".parse().unwrap(),
        user: 0,
        group: 0,
        contents: format!("{n}").into(),
    };
    let unit = |n: &usize| Unit {
        name: format!("unit-{n}.service").parse().unwrap(),
        enabled: true,
        contents: Some(format!("# {n}\n")),
    };
    let additions = Additions {
        keyfiles: content.keyfiles.iter().map(keyfile).collect(),
        files: content.files.iter().map(file).collect(),
        units: content.units.iter().map(unit).collect(),
        ssh_authorized_keys: content.keys.iter().map(|n| KEYS[*n].parse().unwrap()).collect(),
        ..Additions::default()
    };
    Recipe {
        ignition: Some(UserConfig::parse(content.ignition.to_string().as_bytes()).unwrap()),
        ..Recipe::new(BaseIdentity::of(&BTreeMap::new()), Format::Initrd, additions)
    }
}

fn shuffled(count: usize) -> impl Strategy<Value = Vec<usize>> {
    Just((0..count).collect::<Vec<_>>()).prop_shuffle()
}

/// The same JSON with the members of its objects shuffled, and the lists that have no order.
fn shuffle(value: &Value, seeds: &mut impl Iterator<Item = u64>) -> Value {
    let shuffle_list = |items: &mut Vec<Value>, seeds: &mut dyn Iterator<Item = u64>| {
        let keys: Vec<u64> = items.iter().map(|_| seeds.next().unwrap()).collect();
        let mut pairs: Vec<(u64, Value)> = keys.into_iter().zip(items.drain(..)).collect();
        pairs.sort_by_key(|(key, _)| *key);
        items.extend(pairs.into_iter().map(|(_, item)| item));
    };
    match value {
        Value::Object(object) => {
            let mut members: Vec<(u64, String, Value)> = Vec::new();
            for (name, member) in object {
                let mut member = shuffle(member, seeds);
                if let (true, Value::Array(items)) =
                    (["files", "units", "dropins", "sshAuthorizedKeys"].contains(&name.as_str()), &mut member)
                {
                    shuffle_list(items, seeds);
                }
                members.push((seeds.next().unwrap(), name.clone(), member));
            }
            members.sort_by_key(|(key, ..)| *key);
            Value::Object(members.into_iter().map(|(_, name, member)| (name, member)).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| shuffle(item, seeds)).collect()),
        other => other.clone(),
    }
}

fn content() -> impl Strategy<Value = Content> {
    // The lines with one key keep their order; each may be there again.
    let keys =
        prop::sample::select(vec![vec![0, 1, 2], vec![0, 2, 1], vec![2, 0, 1], vec![2, 0, 2, 1], vec![0, 1, 0, 2]]);
    let seeds = prop::collection::vec(any::<u64>(), 400);
    (shuffled(4), shuffled(5), shuffled(3), keys, shuffled(3), seeds).prop_map(
        |(keyfiles, files, units, keys, deleted, seeds)| {
            let ignition = shuffle(&user_config(), &mut seeds.into_iter().cycle());
            Content { keyfiles, files, units, keys, deleted, ignition }
        },
    )
}

fn sorted() -> Content {
    Content {
        keyfiles: (0..4).collect(),
        files: (0..5).collect(),
        units: (0..3).collect(),
        keys: (0..3).collect(),
        deleted: (0..3).collect(),
        ignition: user_config(),
    }
}

/// The arguments to delete need a base that has them, so they are compared by identity alone.
fn deleting(content: &Content) -> Recipe {
    let delete = content.deleted.iter().map(|n| format!("{}argument={n}", " ".repeat(*n))).collect();
    Recipe { kernel_arguments: KernelArgumentEdits { delete, ..KernelArgumentEdits::default() }, ..recipe(content) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn what_has_no_order_does_not_count(given in content()) {
        let (one, other) = (recipe(&sorted()).seal(), recipe(&given).seal());
        prop_assert_eq!(one.id(), other.id());
        prop_assert_eq!(one.canonical_json(), other.canonical_json());
        prop_assert_eq!(bytes(one.recipe()), bytes(other.recipe()));
        prop_assert_eq!(deleting(&sorted()).id(), deleting(&given).id());

        // What was written is what is read.
        let read = SealedRecipe::from_canonical_json(other.canonical_json()).unwrap();
        prop_assert_eq!(read.recipe().order, PartOrder::Canonical);
        prop_assert_eq!(read.canonical_json(), other.canonical_json());
        prop_assert_eq!(read.id(), other.id());
    }

    /// What an earlier dayone has stored stays what it is, and is known by its content all the same.
    #[test]
    fn a_stored_recipe_keeps_its_order(given in content()) {
        let stored = Recipe { order: PartOrder::AsGiven, ..recipe(&given) }.seal();
        let read = SealedRecipe::from_canonical_json(stored.canonical_json()).unwrap();
        prop_assert_eq!(read.id(), stored.id());
        prop_assert_eq!(bytes(read.recipe()), bytes(stored.recipe()));
        prop_assert_eq!(read.recipe().in_canonical_order().id(), recipe(&sorted()).id());
    }

    #[test]
    fn every_change_of_content_counts(given in content(), change in 0..12) {
        let mut other = given.clone();
        let ignition = |path: &str| format!("/{}", path.replace('.', "/"));
        match change {
            0 => drop(other.keyfiles.pop()),
            1 => drop(other.files.pop()),
            2 => drop(other.units.pop()),
            // The last is there once in every list.
            3 => other.keys.retain(|key| *key != 1),
            4 => drop(other.deleted.pop()),
            // Of two lines with one key, sshd takes the first that admits.
            5 => other.keys = other.keys.iter().map(|key| [1, 0, 2][*key]).collect(),
            // A list whose order has a meaning.
            6 => other.ignition.pointer_mut(&ignition("storage.directories")).unwrap().as_array_mut().unwrap().reverse(),
            7 => other.ignition.pointer_mut(&ignition("storage.links")).unwrap().as_array_mut().unwrap().reverse(),
            8 => other.ignition.pointer_mut(&ignition("passwd.users")).unwrap().as_array_mut().unwrap().reverse(),
            9 => drop(other.ignition.pointer_mut(&ignition("storage.files")).unwrap().as_array_mut().unwrap().pop()),
            10 => {
                let files = other.ignition.pointer_mut(&ignition("storage.files")).unwrap().as_array_mut().unwrap();
                let append = files.iter_mut().find_map(|file| file.get_mut("append")).unwrap();
                append.as_array_mut().unwrap().reverse();
            }
            _ => other.ignition["ignition"]["timeouts"]["httpTotal"] = json!(3),
        }
        prop_assert_ne!(deleting(&given).id(), deleting(&other).id());
        if change != 4 {
            prop_assert_ne!(bytes(&recipe(&given)), bytes(&recipe(&other)));
        }
    }
}
