//! A media plane on loopback, over a base in a temporary file.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use imagelib::digest::Digest;
use imagelib::overlay::{Overlay, Patch};
use imagelib::source::Role;
use media::base_file::{BaseFile, BaseFiles};
use media::listen::{Listener, LiveOptions, Options};
use media::reading::{FileSnapshot, ImageReading};
use media::served::{ETag, Lookup, Published, ServedFile};
use media::{CallHomes, MediaMetrics, MediaService};
use prometheus_client::registry::Registry;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::client::Client;

pub(crate) const TOKEN: &str = "abcdefghijklmnopqrstuvwxyz";
pub(crate) const ISO: &str = "/i/abcdefghijklmnopqrstuvwxyz/boot.iso";
pub(crate) const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
/// More than the kernel's socket buffers take (about 6 MB on loopback), so that a transfer does not end by itself.
pub(crate) const SIZE: usize = 24 << 20;

/// A base in which no two places are alike. To fill it word by word would take longer than most tests, each of which makes it: it is one
/// piece again and again, whose length is no multiple of a length that anybody reads in, and each copy begins with its number.
fn base() -> Vec<u8> {
    let words = (0..8191_u64).flat_map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
    let piece: Vec<u8> = words.collect();
    let mut bytes = piece.repeat(SIZE.div_ceil(piece.len()));
    bytes.truncate(SIZE);
    for (number, copy) in (0_u64..).zip(bytes.chunks_mut(piece.len())) {
        copy[..8].copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

#[derive(Default)]
pub(crate) struct Files(Mutex<HashMap<(String, String), Lookup>>);

impl Published for Files {
    fn find(&self, token: &str, file: &str) -> Lookup {
        let files = self.0.lock().unwrap();
        files.get(&(token.to_owned(), file.to_owned())).cloned().unwrap_or(Lookup::NotFound)
    }
}

impl Files {
    pub(crate) fn publish(&self, file: &str, lookup: Lookup) {
        self.0.lock().unwrap().insert((TOKEN.to_owned(), file.to_owned()), lookup);
    }
}

/// The name of the instance, which its probe has.
pub(crate) const INSTANCE: &str = "an-instance";

/// A server, and the image that `ISO` is to give.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) options: LiveOptions,
    pub(crate) image: Vec<u8>,
    pub(crate) etag: String,
    pub(crate) base: PathBuf,
    pub(crate) shutdown: CancellationToken,
    pub(crate) service: MediaService,
    pub(crate) call_homes: CallHomes,
    pub(crate) serving: JoinHandle<()>,
    pub(crate) reading: ImageReading,
    pub(crate) iso: ServedFile,
    pub(crate) files: Arc<Files>,
    registry: Registry,
    _directory: TempDir,
}

pub(crate) async fn start() -> Server {
    start_with(Options::default()).await
}

pub(crate) async fn start_with(options: Options) -> Server {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("base.iso");
    let mut image = base();
    fs::write(&path, &image).unwrap();
    let base = if crate::PRIVATE { BaseFile::open_private(&path) } else { BaseFile::open(&path) };
    let base = Arc::new(base.unwrap());
    // Changes that tests make are to fall into another tick of the file system's clock.
    tokio::time::sleep(Duration::from_millis(20)).await;

    let patches = vec![Patch::zeros(100_000, 300_000), Patch::bytes(1_000_000, vec![0xAB; 200_000])];
    image[100_000..400_000].fill(0);
    image[1_000_000..1_200_000].fill(0xAB);
    let overlay = Arc::new(Overlay::patched(Role::Iso, SIZE as u64, patches).unwrap());
    let etag = ETag::new(&Digest::of(b"base"));
    let last_modified = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    let files = Files::default();
    let reading = ImageReading::default();
    let iso = ServedFile {
        overlay,
        base: Arc::new(BaseFiles::from([(Role::Iso, base)])),
        etag,
        last_modified,
        changes: false,
        host: Some("worker-0".into()),
        media_type: "application/x-iso9660-image",
        reading: Some(reading.file("boot.iso")),
        access: None,
        keeps: None,
    };
    let script = ServedFile {
        overlay: Arc::new(Overlay::literal(Bytes::from_static(b"#!ipxe\n"))),
        base: Arc::default(),
        media_type: "text/plain",
        reading: None,
        ..iso.clone()
    };
    files.publish("boot.iso", Lookup::Found(iso.clone()));
    files.publish("boot.ipxe", Lookup::Found(script));
    files.publish("broken.iso", Lookup::Unavailable("its base is being imported".to_owned()));

    let (metrics, mut registry) = (MediaMetrics::default(), Registry::default());
    metrics.register(&mut registry);
    let listener = Listener::bind(([127, 0, 0, 1], 0).into(), options).await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = listener.options();
    let shutdown = CancellationToken::new();
    let files = Arc::new(files);
    let service = media::service_with_probe(Arc::clone(&files) as Arc<dyn Published>, metrics, INSTANCE, false);
    let call_homes = service.call_homes().clone();
    let serving = tokio::spawn(listener.serve_directly(service.clone(), shutdown.clone()));
    let (base, etag) = (path, etag.to_string());
    Server {
        address,
        options,
        image,
        etag,
        base,
        shutdown,
        service,
        call_homes,
        serving,
        reading,
        iso,
        files,
        registry,
        _directory: directory,
    }
}

impl Server {
    pub(crate) async fn connect(&self) -> Client<TcpStream> {
        Client::new(TcpStream::connect(self.address).await.unwrap())
    }

    /// Makes the base one that must not be served any more.
    pub(crate) fn change_base(&self) {
        fs::File::options().append(true).open(&self.base).unwrap().write_all(b"!").unwrap();
    }

    /// What of `boot.iso` was read.
    pub(crate) fn reading(&self) -> FileSnapshot {
        self.reading.snapshot([("boot.iso", SIZE as u64)]).files.remove(0)
    }

    /// The line of a metric, without its name.
    pub(crate) fn metric(&self, name: &str) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned()
    }

    /// Waits for a metric to become what it should.
    pub(crate) async fn metric_becomes(&self, name: &str, value: &str) {
        for _ in 0..500 {
            if self.metric(name) == value {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{name} is {:?}, not {value}", self.metric(name));
    }
}
