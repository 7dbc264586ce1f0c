//! A small base in a directory of its own, recipes over it, and what a client sees of an image.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use dayone::store::{
    BaseDefinition, DataKeys, DirectoryError, InMemory, InstallationKey, NewImage, OpenError, Publication, Store,
    StoreError, StoredImage,
};
use hosts::network::Keyfile;
use imagelib::base::Format;
use imagelib::cpio::Archive;
use imagelib::ignition::Additions;
use imagelib::recipe::Recipe;
use media::UrlForm;
use media::access::{AccessLimits, Clock};
use media::base_file::BaseFile;
use media::served::{Lookup, Published as _, ServedFile};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use tempfile::TempDir;

pub(crate) const NAME: &str = "coreos";

/// A directory with a data directory and the files of a base: a kernel, an initramfs that looks like that of a CoreOS
/// live system, and a root file system.
pub(crate) struct Place {
    root: TempDir,
    /// The keys that encrypt the data directory.
    pub(crate) keys: DataKeys,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { root: tempfile::tempdir().unwrap(), keys: DataKeys::default() };
        place.write_base(b"the kernel", 1 << 20);
        place
    }

    /// Encrypts the data directory with the first of these keys from the next opening on.
    pub(crate) fn with_keys(mut self, lines: &[&str]) -> Self {
        let path = self.path("data-keys");
        fs::write(&path, lines.join("\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        self.keys = DataKeys::from_file(&path).unwrap();
        self
    }

    /// Writes the base's files anew. Sparse, so that they can be large.
    pub(crate) fn write_base(&self, kernel: &[u8], rootfs: u64) {
        fs::write(self.path("kernel"), kernel).unwrap();
        self.write_initrd(Vec::new());
        File::create(self.path("rootfs")).unwrap().set_len(rootfs).unwrap();
    }

    /// Writes the base's initramfs anew, with something in it.
    pub(crate) fn write_initrd(&self, content: Vec<u8>) {
        let mut initrd = Archive::new();
        initrd.file("etc/coreos-live-initramfs".parse().unwrap(), 0o644, content).unwrap();
        initrd.add_parents(0o755).unwrap();
        fs::write(self.path("initrd"), initrd.to_bytes()).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn base(&self, name: &str) -> BaseDefinition {
        let path = |file| self.path(file).display().to_string();
        let text = format!("{name}=kernel:{},initrd:{},rootfs:{}", path("kernel"), path("initrd"), path("rootfs"));
        text.parse().unwrap()
    }

    pub(crate) fn open(&self) -> Store {
        self.open_with(vec![self.base(NAME)]).unwrap()
    }

    pub(crate) fn open_with(&self, bases: Vec<BaseDefinition>) -> Result<Store, OpenError> {
        self.open_at(bases, &Clock::default())
    }

    pub(crate) fn open_at(&self, bases: Vec<BaseDefinition>, clock: &Clock) -> Result<Store, OpenError> {
        let url = || "http://192.0.2.1:8081".parse().unwrap();
        let open = |bases| Store::open_with(&self.data(), self.keys.clone(), bases, url(), clock.clone());
        for _ in 0..100 {
            match open(bases.clone()) {
                // A test beside this one has started a process, which holds our files until its exec.
                Err(OpenError::Directory(DirectoryError::InUse(_))) => thread::sleep(Duration::from_millis(50)),
                opened => return opened,
            }
        }
        open(bases)
    }

    /// A store in memory over the base, with a key of this byte.
    pub(crate) fn in_memory(&self, key: u8, urls: UrlForm) -> Store {
        Store::in_memory(InMemory { bases: vec![self.base(NAME)], ..settings(key, urls) }).unwrap()
    }

    /// Waits until every change to the base is seen for certain.
    pub(crate) fn settle(&self) {
        for file in ["kernel", "initrd", "rootfs"] {
            if let Some(rest) = BaseFile::open(&self.path(file)).unwrap().settling() {
                thread::sleep(rest);
            }
        }
    }

    pub(crate) fn records(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.data().join("images")).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }
}

/// Of a store in memory without bases.
pub(crate) fn settings(key: u8, urls: UrlForm) -> InMemory {
    InMemory::new(InstallationKey::from_bytes([key; 32]), "http://192.0.2.1:8081/media".parse().unwrap(), urls)
}

/// The recipe of host number `number`, over the base of that name.
pub(crate) fn recipe(store: &Store, number: usize) -> Recipe {
    let base = store.base(NAME).unwrap().available().unwrap().identity;
    recipe_over(base, number)
}

pub(crate) fn recipe_over(base: imagelib::base::BaseIdentity, number: usize) -> Recipe {
    let content = format!("[connection]\nid=eth0\n[ipv4]\naddress1=192.0.2.{number}/24\nmethod=manual\n");
    let keyfile = Keyfile { name: "eth0.nmconnection".parse().unwrap(), content };
    Recipe::new(base, Format::Initrd, Additions { keyfiles: vec![keyfile], ..Additions::default() })
}

pub(crate) fn publish(store: &Store, number: usize) -> Arc<StoredImage> {
    let (image, publication) =
        store.publish(NAME, recipe(store, number).seal(), Some(format!("worker-{number}"))).unwrap();
    assert_eq!(publication, Publication::Created);
    image
}

/// Publishes new images of hosts in one group.
pub(crate) fn publish_group(store: &Store, numbers: &[usize]) -> Vec<Arc<StoredImage>> {
    let published = store.publish_group(numbers.iter().map(|number| new_image(store, *number)).collect());
    let created = |published: Result<(Arc<StoredImage>, Publication), StoreError>| {
        let (image, publication) = published.unwrap();
        assert_eq!(publication, Publication::Created);
        image
    };
    published.into_iter().map(created).collect()
}

pub(crate) fn new_image(store: &Store, number: usize) -> NewImage {
    let (base, label) = (Some(NAME.parse().unwrap()), Some(format!("worker-{number}")));
    NewImage { base, recipe: recipe(store, number).seal(), label, limits: AccessLimits::default() }
}

/// Makes the image of host number `number` that of an owner.
pub(crate) fn publish_for(store: &Store, owner: &str, number: usize) -> Arc<StoredImage> {
    store.publish_for(owner, NAME, recipe(store, number).seal(), None).unwrap().0
}

/// An image, and its record as it was published.
pub(crate) struct Recorded {
    pub(crate) image: Arc<StoredImage>,
    pub(crate) path: PathBuf,
    pub(crate) whole: Vec<u8>,
    pub(crate) before: Seen,
}

/// Images for [`damage_in_turn`].
pub(crate) fn publish_recorded(place: &Place) -> Vec<Recorded> {
    let store = place.open();
    let recorded = |image: Arc<StoredImage>| {
        let path = place.data().join("images").join(format!("{}.json", image.id()));
        let (whole, before) = (fs::read(&path).unwrap(), see(&store, &image, "initrd.img"));
        assert!(before.is_file());
        Recorded { image, path, whole, before }
    };
    publish_group(&store, &(1..=40).collect::<Vec<_>>()).into_iter().map(recorded).collect()
}

/// Groups in which each image has another position at which its record is to be damaged, until every position has had its
/// turn: one opening of the store then tries as many positions as there are images.
pub(crate) fn damage_in_turn(records: &[Recorded]) -> impl Iterator<Item = Vec<(usize, &Recorded)>> {
    let group = |first: usize| {
        let positions = records.iter().enumerate().map(move |(number, record)| (first + number, record));
        positions.filter(|(position, record)| *position < record.whole.len()).collect::<Vec<_>>()
    };
    (0..).step_by(records.len()).map(group).take_while(|group| !group.is_empty())
}

/// What a client sees of the file: `ETag`, `Last-Modified` and all bytes; or what else it is told.
#[derive(Debug, PartialEq)]
pub(crate) enum Seen {
    File { etag: String, last_modified: u64, bytes: Vec<u8> },
    NotFound,
    Unavailable(String),
}

pub(crate) fn see(store: &Store, image: &StoredImage, file: &str) -> Seen {
    look(store, image.token().as_str(), file)
}

pub(crate) fn look(store: &Store, token: &str, file: &str) -> Seen {
    seen(store.find(token, file))
}

pub(crate) fn seen(lookup: Lookup) -> Seen {
    match lookup {
        Lookup::NotFound | Lookup::NotYet(_) => Seen::NotFound,
        Lookup::Unavailable(reason) => Seen::Unavailable(reason),
        Lookup::Found(served) => Seen::File {
            etag: served.etag.to_string(),
            last_modified: served.last_modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs(),
            bytes: bytes(&served),
        },
    }
}

fn bytes(served: &ServedFile) -> Vec<u8> {
    let mut bytes = vec![0xAA; usize::try_from(served.overlay.size()).unwrap()];
    let count = served.overlay.read_at(&*served.base, 0, &mut bytes);
    assert_eq!(count.unwrap(), bytes.len());
    bytes
}

impl Seen {
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Unavailable(reason) => reason,
            other => panic!("served: {other:?}"),
        }
    }

    pub(crate) fn is_file(&self) -> bool {
        matches!(self, Self::File { .. })
    }
}

/// Does something without the right of root to read every file: tests may run as root.
pub(crate) fn unprivileged<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let work = || {
        // Of this thread, and of those that it starts.
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, sets).unwrap();
        work()
    };
    thread::scope(|scope| scope.spawn(work).join().unwrap())
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
}
