//! The clients that BMCs are made of read an image to the bit: nbdkit's curl plugin (OpenBMC's virtual media), QEMU's
//! block driver, and curl, over HTTP and HTTPS.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use imagelib::digest::Digest;
use imagelib::overlay::{Overlay, Patch};
use imagelib::source::{Role, Source as _};
use media::MediaMetrics;
use media::base_file::{BaseFile, BaseFiles};
use media::listen::{Listener, Options, Tls};
use media::served::{ETag, Lookup, Published, ServedFile};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// No multiple of any client's block but QEMU's sector.
const SIZE: usize = (9 << 20) + 512 * 3;

struct OneFile(ServedFile);

impl Published for OneFile {
    fn find(&self, token: &str, file: &str) -> Lookup {
        if (token, file) == ("abcdefghijklmnopqrstuvwxyz", "boot.iso") {
            Lookup::Found(self.0.clone())
        } else {
            Lookup::NotFound
        }
    }
}

/// A media plane in this process, and a copy of the image that it serves.
struct Server {
    /// Two plain ways: over a base that others may change, and over one that is the server's own, which the kernel sends by itself.
    http: [String; 2],
    https: String,
    image: PathBuf,
    directory: TempDir,
    _runtime: Runtime,
}

fn start() -> Server {
    let directory = TempDir::new().unwrap();
    let base_path = directory.path().join("base.iso");
    let base: Vec<u8> = (0..SIZE).map(|i| (i.wrapping_mul(2_654_435_761) >> 15).to_le_bytes()[0]).collect();
    fs::write(&base_path, base).unwrap();
    let base = Arc::new(BaseFile::open(&base_path).unwrap());
    let private = Arc::new(BaseFile::open_private(&base_path).unwrap());
    let patches = vec![Patch::zeros(70_001, 150_000), Patch::bytes(5_000_001, vec![0xAB; 100_003])];
    let overlay = Arc::new(Overlay::patched(Role::Iso, base.size(), patches).unwrap());
    let image = directory.path().join("image.iso");
    let mut bytes = vec![0; SIZE];
    overlay.read_at(&(Role::Iso, &base), 0, &mut bytes).unwrap();
    fs::write(&image, bytes).unwrap();

    let etag = ETag::new(&Digest::of(b"base"));
    let last_modified = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    let file = ServedFile {
        overlay,
        base: Arc::new(BaseFiles::from([(Role::Iso, base)])),
        etag,
        last_modified,
        changes: false,
        host: None,
        media_type: "application/x-iso9660-image",
        reading: None,
        access: None,
        keeps: None,
    };
    let own = ServedFile { base: Arc::new(BaseFiles::from([(Role::Iso, private)])), ..file.clone() };
    let [service, own] = [file, own].map(|file| media::service(Arc::new(OneFile(file)), MediaMetrics::default()));

    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (directory.path().join("tls.crt"), directory.path().join("tls.key"));
    fs::write(&certificate, issued.cert.pem()).unwrap();
    fs::write(&key, issued.signing_key.serialize_pem()).unwrap();
    let tls = Tls::from_files(&certificate, &key).unwrap();

    let runtime = Runtime::new().unwrap();
    let mut addresses: Vec<SocketAddr> = vec![];
    for (service, tls) in [(&service, None), (&own, None), (&own, Some(tls))] {
        let options = Options { tls, ..Options::default() };
        let listener = runtime.block_on(Listener::bind(([127, 0, 0, 1], 0).into(), options)).unwrap();
        addresses.push(listener.local_addr().unwrap());
        runtime.spawn(listener.serve(service.clone(), CancellationToken::new()));
    }
    let url = |scheme, address: SocketAddr| {
        format!("{scheme}://localhost:{}/i/abcdefghijklmnopqrstuvwxyz/boot.iso", address.port())
    };
    let http = [url("http", addresses[0]), url("http", addresses[1])];
    Server { http, https: url("https", addresses[2]), image, directory, _runtime: runtime }
}

/// A command that does not outlive its test.
fn client(name: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["120", name]);
    command
}

/// Runs a command to its success and gives its output.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; see scripts/setup-peers.sh"));
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    text
}

fn assert_same(one: &Path, other: &Path) {
    assert!(fs::read(one).unwrap() == fs::read(other).unwrap(), "{} differs from {}", one.display(), other.display());
}

#[test]
fn nbdkit_exports_the_image_as_openbmc_does() {
    let server = start();
    let copy = server.directory.path().join("copy.iso");
    for url in server.http.iter().chain([&server.https]) {
        let compare = format!(
            "qemu-img compare -f raw -F raw \"$uri\" {} && qemu-img convert -f raw -O raw \"$uri\" {}",
            server.image.display(),
            copy.display()
        );
        let mut nbdkit = client("nbdkit");
        // OpenBMC's options: no redirects, TLS 1.2 and this suite.
        nbdkit.args(["-U", "-", "-r", "curl", url, "sslverify=false", "followlocation=false"]);
        nbdkit.args(["ssl-version=tlsv1.2", "ssl-cipher-list=ECDHE-ECDSA-AES256-GCM-SHA384", "--run", &compare]);
        assert!(run(&mut nbdkit).contains("identical"));
        assert_same(&copy, &server.image);
    }
}

#[test]
fn qemu_reads_the_image() {
    let server = start();
    let copy = server.directory.path().join("copy.iso");
    let https = format!("driver=raw,file.driver=https,file.sslverify=off,file.url={}", server.https);
    let [http, own] = server.http.each_ref().map(|url| format!("driver=raw,file.driver=http,file.url={url}"));
    let local = format!("driver=raw,file.driver=file,file.filename={}", server.image.display());
    for source in [http, own, https] {
        let compared = run(client("qemu-img").args(["compare", "--image-opts", &source, &local]));
        assert!(compared.contains("identical"), "{compared}");
        // One request at a time: with more, QEMU 10.0.2 sometimes waits for ever for an answer that it has, and it
        // does so with nginx as well. nbdkit, above, is asked for many at once.
        run(client("qemu-img").args(["convert", "-m", "1", "--image-opts", "-O", "raw", &source]).arg(&copy));
        assert_same(&copy, &server.image);
    }
}

#[test]
fn curl_resumes_where_it_was_cut_off() {
    let server = start();
    let copy = server.directory.path().join("copy.iso");
    let image = fs::read(&server.image).unwrap();
    let [http, own] = &server.http;
    for (url, further) in
        [(http, &["--http1.0"][..]), (own, &["--http1.0"]), (http, &[]), (own, &[]), (&server.https, &["-k"])]
    {
        for done in [1, 70_002, 5_100_000, SIZE - 1] {
            fs::write(&copy, &image[..done]).unwrap();
            run(client("curl").args(["-sS", "--fail", "-C", "-", "-o"]).arg(&copy).args(further).arg(url));
            assert_same(&copy, &server.image);
        }
    }
}

#[test]
fn curl_speaks_only_the_suites_that_some_bmcs_have() {
    let server = start();
    let suites: [&[&str]; 2] = [
        &["--tlsv1.2", "--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384"],
        &["--tlsv1.3", "--tls13-ciphers", "TLS_AES_256_GCM_SHA384"],
    ];
    for suite in suites {
        let head = run(client("curl").args(["-sS", "-k", "--fail", "-I"]).args(suite).arg(&server.https));
        assert!(head.contains(&format!("Content-Length: {SIZE}")), "{head}");
    }
}
