//! What slow readers cost a fast one: a thousand that read at the speed of Intel AMT, and a hundred that read nothing. Prints a part of
//! `docs/benchmarks.md`.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::{coreos_iso, fixtures};
use acceptance::goals::Goals;
use acceptance::server::{Server, free_address};
use acceptance::usage::processor_time;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

const SIZE_MIB: usize = 256;
/// Readers at the speed of Intel AMT.
const SLOW: usize = 1000;
/// What each of them reads in a second.
const BYTES_A_SECOND: usize = 17_000;
/// Readers that send a request and read nothing.
const STALLED: usize = 100;
/// Ranges that the fast reader reads in each turn.
const RANGES: u64 = 4000;
const RANGE: u64 = 64 << 10;
const TURNS: usize = 5;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Of one turn: the times of the ranges, sorted, and the processor time of the server.
struct Turn {
    times: Vec<Duration>,
    processor: Duration,
}

fn main() -> Outcome<()> {
    if let (Ok(media), Ok(path)) = (std::env::var("SLOW_MEDIA"), std::env::var("SLOW_PATH")) {
        return read_slowly(media.parse()?, &path);
    }
    let base = coreos_iso(&["--size-mib", &SIZE_MIB.to_string()]);
    let media = free_address();
    let server = Server::start_at(&free_address(), &media, "coreos", &base, &["--log", "warn"]);
    let image = server.image("coreos", &fixtures("scenarios").join("static-ipv4-baremetalhost.yaml"));
    let path = image["url"].as_str().and_then(|url| url.strip_prefix(&format!("http://{media}"))).ok_or("a URL")?;
    // The first fills the page cache.
    read_fast(&server, &media, path)?;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        alone.push(read_fast(&server, &media, path)?);
        let slow = SlowReaders::start(&media, path)?;
        beside.push(read_fast(&server, &media, path)?);
        drop(slow);
        thread::sleep(Duration::from_millis(500));
    }
    println!("## A fast reader beside slow ones\n");
    println!(
        "One client reads {RANGES} ranges of {} KiB over one connection, alone and beside {SLOW} readers at {} KB/s and {STALLED} that",
        RANGE >> 10,
        BYTES_A_SECOND / 1000
    );
    println!("read nothing, in another process. Medians of {TURNS} alternating turns.\n");
    println!("| | p50 | p99 | dayone's processor time |\n| --- | --- | --- | --- |");
    let [of_alone, of_beside] = [&alone, &beside].map(|turns| {
        [median(turns, |turn| at(turn, 50)), median(turns, |turn| at(turn, 99)), median(turns, |turn| turn.processor)]
    });
    for (name, [p50, p99, processor]) in [("alone", of_alone), ("beside slow readers", of_beside)] {
        println!(
            "| {name} | {:.3} ms | {:.3} ms | {:.2} s |",
            milliseconds(p50),
            milliseconds(p99),
            processor.as_secs_f64()
        );
    }
    let ratio = |index: usize| of_beside[index].as_secs_f64() / of_alone[index].as_secs_f64();
    println!("| ratio | {:.2} | {:.2} | |", ratio(0), ratio(1));
    let mut goals = Goals::default();
    goals.at_most("p99 beside slow readers", ratio(1), 1.2, " of that alone");
    goals.print();
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The time below which this share of the ranges was, in percent.
fn at(turn: &Turn, percent: usize) -> Duration {
    turn.times[turn.times.len() * percent / 100]
}

fn median(turns: &[Turn], of: impl Fn(&Turn) -> Duration) -> Duration {
    let mut all: Vec<Duration> = turns.iter().map(of).collect();
    all.sort_unstable();
    all[all.len() / 2]
}

/// Reads the ranges one after the other.
fn read_fast(server: &Server, media: &str, path: &str) -> Outcome<Turn> {
    let mut stream = TcpStream::connect(media)?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(128 << 10, stream.try_clone()?);
    let mut body = vec![0; usize::try_from(RANGE)?];
    let before = processor_time(server.process_id());
    let mut times = Vec::new();
    for number in 0..RANGES {
        // Not in their order, as firmware reads.
        let first = number * 7919 % (SIZE_MIB as u64 * 15) * RANGE;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {media}\r\nRange: bytes={first}-{}\r\n\r\n", first + RANGE - 1);
        let begun = Instant::now();
        stream.write_all(request.as_bytes())?;
        let mut line = String::new();
        reader.read_line(&mut line)?;
        assert!(line.starts_with("HTTP/1.1 206"), "{line}");
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line)?;
        }
        reader.read_exact(&mut body)?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(Turn { times, processor: processor_time(server.process_id()).saturating_sub(before) })
}

/// This program once more, in the role of the slow readers. Ends when dropped.
struct SlowReaders(Child);

impl SlowReaders {
    /// Starts them, and waits until all have begun to read.
    fn start(media: &str, path: &str) -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env("SLOW_MEDIA", media).env("SLOW_PATH", path).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut readers = Self(command.spawn()?);
        let mut ready = [0; 1];
        readers.0.stdout.as_mut().ok_or("its output")?.read_exact(&mut ready)?;
        Ok(readers)
    }
}

impl Drop for SlowReaders {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::main(flavor = "current_thread")]
async fn read_slowly(media: SocketAddr, path: &str) -> Outcome<()> {
    let mut connections = Vec::new();
    for _ in 0..SLOW + STALLED {
        let socket = TcpSocket::new_v4()?;
        // What the kernel takes in advance is not read slowly.
        socket.set_recv_buffer_size(16 << 10)?;
        let mut stream = socket.connect(media).await?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {media}\r\n\r\n").as_bytes()).await?;
        connections.push(stream);
    }
    let stalled = connections.split_off(SLOW);
    let readers = connections.into_iter().enumerate().map(|(number, mut stream)| async move {
        let mut buffer = vec![0; BYTES_A_SECOND / 10];
        // Not all at the same moment.
        tokio::time::sleep(Duration::from_micros(number as u64 * 100)).await;
        let mut tenth = tokio::time::interval(Duration::from_millis(100));
        loop {
            tenth.tick().await;
            if stream.read_exact(&mut buffer).await.is_err() {
                return;
            }
        }
    });
    let tasks: Vec<_> = readers.map(tokio::spawn).collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    // Had the server closed one, the fast reader would not be beside all of them.
    assert!(tasks.iter().all(|task| !task.is_finished()), "a slow reader has lost its connection");
    println!();
    for task in tasks {
        task.await?;
    }
    drop(stalled);
    Ok(())
}
