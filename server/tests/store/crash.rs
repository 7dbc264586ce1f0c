//! A server killed in the middle of publishing: what it acknowledged is there.

use std::env;
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::UNIX_EPOCH;

use dayone::store::{DataKeys, Store};
use media::access::Clock;

use super::support::*;

const CHILD: &str = "DAYONE_TEST_STORE_CHILD";
/// The file with the keys of the data directory.
const KEYS: &str = "DAYONE_TEST_STORE_KEYS";
const THREADS: usize = 4;
const ROUNDS: usize = 12;

/// Not a test by itself: this binary runs it as the server that is killed. It publishes until then, and says on its
/// standard output what it has acknowledged.
#[test]
fn child() {
    let Some(argument) = env::var_os(CHILD) else { return };
    let argument = argument.into_string().unwrap();
    let (round, place) = argument.split_once(' ').unwrap();
    let first: usize = round.parse::<usize>().unwrap() * 1_000_000;
    let base = format!("{NAME}=kernel:{place}/kernel,initrd:{place}/initrd,rootfs:{place}/rootfs");
    let url = "http://192.0.2.1:8081".parse().unwrap();
    let keys = env::var_os(KEYS).map(|path| DataKeys::from_file(path.as_ref()).unwrap()).unwrap_or_default();
    let (data, bases) = (format!("{place}/data"), vec![base.parse().unwrap()]);
    let store = Store::open_with(data.as_ref(), keys, bases, url, Clock::default()).unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for number in (first + thread..).step_by(THREADS) {
                    // Some threads publish in groups.
                    let images = match thread {
                        0 => publish_group(store, &[number, number + 500_000]),
                        _ => vec![publish(store, number)],
                    };
                    let image = images.into_iter().next().unwrap();
                    let created = image.created().duration_since(UNIX_EPOCH).unwrap().as_secs();
                    let Seen::File { etag, .. } = see(store, &image, "initrd.img") else { panic!("not served") };
                    let line = format!("ACK {number} {} {etag} {created}\n", image.token().as_str());
                    // One write, so that no line is cut in two.
                    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
                    if number % 5 == 0 {
                        let line = format!("RELEASING {number}\n");
                        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
                        assert!(store.release(&image.id()).unwrap());
                        let line = format!("RELEASED {number}\n");
                        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
                    }
                }
            });
        }
    });
}

#[test]
fn what_was_acknowledged_before_a_kill_is_there_after_it() {
    check(&Place::new(), &[None]);
}

/// The server is killed while it brings the records into another form, too: each of its lives has another key than the one before.
#[test]
fn what_was_acknowledged_before_a_kill_is_there_after_it_whatever_the_keys() {
    let (one, two) = ("1".repeat(64), "2".repeat(64));
    let place = Place::new().with_keys(&["none", &one, &two]);
    let keys = [format!("{one}\n{two}"), format!("{two}\n{one}"), format!("none\n{one}\n{two}")];
    let paths: Vec<String> =
        (0..keys.len()).map(|number| place.path(&format!("keys-{number}")).display().to_string()).collect();
    for (path, keys) in paths.iter().zip(&keys) {
        fs::write(path, keys).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    }
    check(&place, &paths.iter().map(|path| Some(path.as_str())).collect::<Vec<_>>());
}

/// Kills servers with these files of keys, one after the other.
fn check(place: &Place, keys: &[Option<&str>]) {
    let mut lines: Vec<String> = vec![];
    for round in 0..ROUNDS {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "crash::child", "--nocapture", "--test-threads=1"]);
        command.env(CHILD, format!("{round} {}", place.path("").display()));
        if let Some(keys) = keys[round % keys.len()] {
            command.env(KEYS, keys);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        // Some acknowledgements in, in the middle of others.
        let mut wanted = 3 + round * 7;
        while wanted > 0 {
            let line = output.next().expect("the child ended early").unwrap();
            wanted -= usize::from(line.contains("ACK "));
            lines.push(line);
        }
        child.kill().unwrap();
        lines.extend(output.map_while(Result::ok));
        child.wait().unwrap();
    }

    let store = place.open();
    let numbers = |prefix: &str| -> Vec<&str> { lines.iter().filter_map(|line| line.strip_prefix(prefix)).collect() };
    let (releasing, released) = (numbers("RELEASING "), numbers("RELEASED "));
    // The runner of tests writes the beginning of the first line.
    let acknowledged: Vec<&str> = lines.iter().filter_map(|line| line.split_once("ACK ")).map(|(_, ack)| ack).collect();
    assert!(acknowledged.len() > ROUNDS * 3, "{} acknowledged", acknowledged.len());
    let mut checked = 0;
    for line in &acknowledged {
        let [number, token, etag, created] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if released.contains(&number) {
            assert_eq!(look(&store, token, "initrd.img"), Seen::NotFound, "{line}");
        } else if !releasing.contains(&number) {
            let Seen::File { etag: found, last_modified, bytes } = look(&store, token, "initrd.img") else {
                panic!("lost: {line}")
            };
            assert_eq!((found.as_str(), last_modified.to_string().as_str()), (etag, created));
            assert!(String::from_utf8_lossy(&bytes).contains(&format!("192.0.2.{number}/24")));
            checked += 1;
        }
    }
    assert!(checked > 0);
    let records = place.records();
    assert!(records.iter().all(|path| path.extension().is_some_and(|end| end == "json")), "{records:?}");
    assert_eq!(fs::read_dir(place.data().join("damaged")).unwrap().count(), 0);
}
