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
    closed: Arc<AtomicUsize>,
}

impl BlackHole {
    /// Starts a proxy before this address.
    pub fn before(upstream: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let silenced = Arc::new(AtomicUsize::new(0));
        let closed = Arc::new(AtomicUsize::new(0));
        let (upstream, generation, closing) = (upstream.to_owned(), Arc::clone(&silenced), Arc::clone(&closed));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&upstream) else { continue };
                let born = generation.load(Ordering::SeqCst);
                let ends = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
                for (from, to) in ends {
                    let (Ok(from), Ok(to)) = (from, to) else { continue };
                    let (generation, closing) = (Arc::clone(&generation), Arc::clone(&closing));
                    let is_silent = move || generation.load(Ordering::SeqCst) > born;
                    let is_closed = move || closing.load(Ordering::SeqCst) > born;
                    thread::spawn(move || pump(from, to, is_silent, is_closed));
                }
            }
        });
        Self { address, silenced, closed }
    }

    /// From now on, nothing arrives on the present connections, and nobody is told. New ones work.
    pub fn silence(&self) {
        self.silenced.fetch_add(1, Ordering::SeqCst);
    }

    /// Closes the silent connections whose other end is gone.
    pub fn close(&self) {
        self.closed.store(self.silenced.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, is_silent: impl Fn() -> bool, is_closed: impl Fn() -> bool) {
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
    while is_silent() && !is_closed() {
        thread::sleep(Duration::from_millis(100));
    }
    let _ = to.shutdown(Shutdown::Both);
}
