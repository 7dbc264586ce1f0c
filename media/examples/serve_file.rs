//! Serves one file by the media plane, for measurements: `serve_file FILE ADDRESS THREADS [CERTIFICATE KEY]`.
//! The URL is `http://ADDRESS/i/file/boot.iso`.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use imagelib::digest::Digest;
use imagelib::overlay::{Overlay, Patch};
use imagelib::source::{Role, Source as _};
use media::MediaMetrics;
use media::base_file::{BaseFile, BaseFiles};
use media::listen::{Listener, Options, Tls};
use media::served::{ETag, Lookup, Published, ServedFile};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

struct OneFile(ServedFile);

impl Published for OneFile {
    fn find(&self, _token: &str, _file: &str) -> Lookup {
        Lookup::Found(self.0.clone())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, address, threads, tls @ ..] = arguments.as_slice() else {
        return Err("serve_file FILE ADDRESS THREADS [CERTIFICATE KEY]".into());
    };
    let tls = match tls {
        [certificate, key] => Some(Tls::from_files(Path::new(certificate), Path::new(key))?),
        _ => None,
    };
    let base = Arc::new(BaseFile::open(Path::new(file))?);
    // Where an embed area would be, so that a download crosses what an image's crosses.
    let patch = Patch::bytes(base.size() / 2, vec![0xAB; 3000]);
    let overlay =
        Arc::new(Overlay::patched(Role::Iso, base.size(), vec![patch, Patch::zeros(base.size() / 2 + 3000, 250_000)])?);
    let etag = ETag::new(&Digest::of(b""));
    let last_modified = SystemTime::UNIX_EPOCH;
    let served = ServedFile {
        overlay,
        base: Arc::new(BaseFiles::from([(Role::Iso, base)])),
        etag,
        last_modified,
        changes: false,
        host: None,
        media_type: "application/octet-stream",
        // As the store has it, so that its cost is measured, too.
        reading: Some(Arc::default()),
        access: None,
        keeps: None,
    };

    let runtime = match threads.parse()? {
        1 => Builder::new_current_thread().enable_all().build()?,
        threads => Builder::new_multi_thread().worker_threads(threads).enable_all().build()?,
    };
    runtime.block_on(async {
        let listener = Listener::bind(address.parse()?, Options { tls, ..Options::default() }).await?;
        let service = media::service(Arc::new(OneFile(served)), MediaMetrics::default());
        listener.serve_directly(service, CancellationToken::new()).await;
        Ok(())
    })
}
