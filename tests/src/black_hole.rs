//! A TCP proxy whose connections can go silent, as behind a firewall that has lost its state.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The proxy. It runs until the process ends.
pub struct BlackHole {
    /// Where it listens, such as `127.0.0.1:34567`.
    pub address: String,
    silenced: Arc<AtomicUsize>,
}

impl BlackHole {
    /// Starts a proxy before this address.
    pub fn before(upstream: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let silenced = Arc::new(AtomicUsize::new(0));
        let (upstream, generation) = (upstream.to_owned(), Arc::clone(&silenced));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&upstream) else { continue };
                let born = generation.load(Ordering::SeqCst);
                let ends = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
                for (from, to) in ends {
                    let (Ok(from), Ok(to)) = (from, to) else { continue };
                    let generation = Arc::clone(&generation);
                    thread::spawn(move || pump(from, to, || generation.load(Ordering::SeqCst) > born));
                }
            }
        });
        Self { address, silenced }
    }

    /// From now on, nothing arrives on the present connections, and nobody is told. New ones work.
    pub fn silence(&self) {
        self.silenced.fetch_add(1, Ordering::SeqCst);
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, is_silent: impl Fn() -> bool) {
    let mut buffer = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if is_silent() {
            continue;
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // The other end does not get to know of the end, either.
    while is_silent() {
        thread::sleep(Duration::from_secs(1));
    }
    let _ = to.shutdown(Shutdown::Both);
}
