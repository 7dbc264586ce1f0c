use std::io::IoSlice;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadBuf, duplex};
use tokio_rustls::TlsConnector;

use super::*;

fn write(directory: &Path, name: &str) {
    let issued = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    fs::write(directory.join("tls.crt"), issued.cert.pem()).unwrap();
    fs::write(directory.join("tls.key"), issued.signing_key.serialize_pem()).unwrap();
}

/// The configuration in use after the next check of the files.
async fn in_use(tls: &Tls) -> Arc<ServerConfig> {
    tls.renew().await;
    Arc::clone(tls.acceptor().config())
}

#[tokio::test]
async fn a_renewed_certificate_is_taken_and_a_broken_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "first.example");
    let tls = Tls::from_files(&directory.path().join("tls.crt"), &directory.path().join("tls.key")).unwrap();
    let first = in_use(&tls).await;
    assert!(Arc::ptr_eq(&first, &in_use(&tls).await), "nothing has changed");
    std::thread::sleep(Duration::from_millis(20));
    fs::write(directory.path().join("tls.key"), "half written").unwrap();
    assert!(Arc::ptr_eq(&first, &in_use(&tls).await));
    write(directory.path(), "second.example");
    let second = in_use(&tls).await;
    assert!(!Arc::ptr_eq(&first, &second));
    assert!(Arc::ptr_eq(&second, &in_use(&tls).await));
}

#[tokio::test]
async fn another_file_with_the_same_modification_time_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    let path = |name: &str| directory.path().join(name);
    for version in ["1", "2"] {
        fs::create_dir(path(version)).unwrap();
        write(&path(version), "the-same.example");
        for name in ["tls.crt", "tls.key"] {
            fs::File::options().write(true).open(path(version).join(name)).unwrap().set_modified(time).unwrap();
        }
    }
    let publish = |version: &str| {
        std::os::unix::fs::symlink(version, path("new")).unwrap();
        fs::rename(path("new"), path("current")).unwrap();
    };
    publish("1");
    let tls = Tls::from_files(&path("current/tls.crt"), &path("current/tls.key")).unwrap();
    let first = in_use(&tls).await;
    publish("2");
    assert!(!Arc::ptr_eq(&first, &in_use(&tls).await));
}

#[tokio::test]
async fn only_other_authorities_end_the_connections_of_clients() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let authority = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap().cert.pem();
    write(directory.path(), "first.example");
    fs::write(path("ca.pem"), authority("one.example")).unwrap();
    let open = || Tls::for_clients_of(&path("tls.crt"), &path("tls.key"), &path("ca.pem")).unwrap();
    let tls = open();
    let acceptor = tls.acceptor();
    let config = acceptor.config();
    assert!(!config.session_storage.can_cache() && config.send_tls13_tickets == 0, "no session is resumed");
    let replaced = tls.replaced();
    std::thread::sleep(Duration::from_millis(20));
    write(directory.path(), "second.example");
    tls.renew().await;
    tls.replace_by(&open());
    assert!(!replaced.is_cancelled(), "the authorities are the same");
    fs::write(path("ca.pem"), authority("two.example")).unwrap();
    tls.renew().await;
    assert!(replaced.is_cancelled() && !tls.replaced().is_cancelled());
    let replaced = tls.replaced();
    std::thread::sleep(Duration::from_millis(20));
    fs::write(path("ca.pem"), authority("three.example")).unwrap();
    tls.replace_by(&open());
    assert!(replaced.is_cancelled());
}

/// A stream that counts the calls that write to it.
struct Counting {
    stream: DuplexStream,
    writes: Arc<AtomicUsize>,
}

impl AsyncRead for Counting {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Counting {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[tokio::test]
async fn the_head_of_an_answer_and_64_kib_of_its_body_are_one_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    write(directory.path(), "bmc.example");
    let tls = Tls::from_files(&path("tls.crt"), &path("tls.key")).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(path("tls.crt")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS12, &TLS13]).unwrap();
    let connector = TlsConnector::from(Arc::new(config.with_root_certificates(roots).with_no_client_auth()));

    let (stream, other_end) = duplex(1 << 20);
    let writes = Arc::new(AtomicUsize::new(0));
    let stream = Counting { stream, writes: Arc::clone(&writes) };
    let name = ServerName::try_from("bmc.example").unwrap();
    let (server, client) = tokio::join!(tls.accept(stream), connector.connect(name, other_end));
    let (mut server, mut client) = (server.unwrap(), client.unwrap());

    let (head, piece) = (vec![b'h'; 1 << 10], vec![b'p'; 64 << 10]);
    let before = writes.load(Ordering::Relaxed);
    let taken = server.write_vectored(&[IoSlice::new(&head), IoSlice::new(&piece)]).await.unwrap();
    server.flush().await.unwrap();
    assert_eq!((taken, writes.load(Ordering::Relaxed) - before), (head.len() + piece.len(), 1));
    let mut received = vec![0; taken];
    client.read_exact(&mut received).await.unwrap();
    assert!(received == [head, piece].concat());
}
