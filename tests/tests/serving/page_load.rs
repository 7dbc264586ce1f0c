//! The page with thousands of boots, and with many browsers that follow it.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::boots;
use acceptance::server::Server;
use acceptance::usage::processor_time;
use reqwest::{Client, Response};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const BOOTS: usize = 5000;
const BROWSERS: usize = 50;
/// How long each measurement takes.
const WATCHED: Duration = Duration::from_secs(10);

/// A server with [`BOOTS`] boots: one runs, at a BMC that does not answer; the others have ended. Returns the URL of the image
/// of the boot that runs.
fn server(bmc: &TcpListener) -> (Server, String) {
    let mut server = Server::start("coreos", &coreos_iso(&[]));
    let origin = format!("http://{}", bmc.local_addr().unwrap());
    let documents = boots::documents("host-0", &origin, "/redfish/v1/Systems/1", "hunter2-hunter2");
    let id = boots::begin(&server, "?base=coreos", &documents);
    let running = boots::until_state(&server, &id, "running");
    let image = format!("{}/v1/images/{}", server.api, running["image"].as_str().unwrap());
    let image: Value = reqwest::blocking::get(image).unwrap().json().unwrap();
    server.stop();
    add_records(&server.directory().join("data/boots"), &id);
    server.kill_and_start_again();
    (server, image["url"].as_str().unwrap().to_owned())
}

/// Makes records of boots that have ended, of hosts and BMCs of their own, after that of a boot.
fn add_records(directory: &Path, id: &str) {
    let record = fs::read_to_string(directory.join(format!("{id}.json"))).unwrap();
    let mut record: Value = serde_json::from_str(&record).unwrap();
    record["state"] = "booted".into();
    record["bmc"]["credentials"] = "forgotten".into();
    record.as_object_mut().unwrap().remove("at_bmc");
    for step in record["steps"].as_array_mut().unwrap() {
        step["state"] = "done".into();
        step["detail"] = "as it should be".into();
    }
    for number in 1..BOOTS {
        // Ids are base32hex, of which hexadecimal numbers are a part.
        let id = format!("{}{number:04x}", &id[..12]);
        record["id"] = id.as_str().into();
        record["host"] = format!("host-{number}").into();
        let bmc =
            format!("redfish-virtualmedia+https://10.0.{}.{}/redfish/v1/Systems/1", number / 250, number % 250 + 1);
        record["bmc"]["address"] = bmc.into();
        fs::write(directory.join(format!("{id}.json")), record.to_string()).unwrap();
    }
}

/// What following the page costs.
#[derive(Debug, Default)]
struct Cost {
    /// The processor time of the server.
    processor: Duration,
    /// The bytes that each browser gets: with its first event, and with each later one.
    first: usize,
    later: Vec<usize>,
    /// How many later events the browser with the fewest gets.
    fewest: usize,
}

/// Has so many browsers follow a view for a while, in which a BMC reads an image a little at a time.
async fn follow(server: &Server, image: &str, browsers: usize, path: &str) -> Cost {
    let client = Client::new();
    let mut streams = Vec::new();
    for _ in 0..browsers {
        let stream = client.get(format!("{}{path}", server.api)).send().await.unwrap();
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    let mut cost = Cost::default();
    for stream in &mut streams {
        cost.first = event(stream).await;
    }
    let (begin, before) = (Instant::now(), processor_time(server.process_id()));
    let mut following = JoinSet::new();
    for mut stream in streams {
        following.spawn(async move {
            let mut sizes = Vec::new();
            while begin.elapsed() < WATCHED {
                sizes.push(event(&mut stream).await);
            }
            sizes
        });
    }
    let mut offset = 0;
    while begin.elapsed() < WATCHED {
        let range = format!("bytes={offset}-{}", offset + 4095);
        client.get(image).header("range", range).send().await.unwrap().bytes().await.unwrap();
        offset += 8192;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    cost.processor = processor_time(server.process_id()) - before;
    let all = following.join_all().await;
    cost.fewest = all.iter().map(Vec::len).min().unwrap_or_default();
    cost.later = all.into_iter().flatten().collect();
    cost
}

/// The size of the next event.
async fn event(stream: &mut Response) -> usize {
    let mut event = Vec::new();
    loop {
        let chunk = tokio::time::timeout(Duration::from_secs(60), stream.chunk()).await.unwrap().unwrap().unwrap();
        event.extend_from_slice(&chunk);
        if event.ends_with(b"\n\n") && event.windows(6).any(|bytes| bytes == b"data: ") {
            return event.len();
        }
    }
}

fn largest(sizes: &[usize]) -> usize {
    sizes.iter().copied().max().unwrap_or_default()
}

#[test]
fn fifty_browsers_cost_little_more_than_one_with_five_thousand_boots() {
    let bmc = TcpListener::bind("127.0.0.1:0").unwrap();
    let (server, image) = server(&bmc);
    let runtime = Runtime::new().unwrap();

    let page = |path: &str| {
        let request =
            reqwest::blocking::Client::new().get(format!("{}{path}", server.api)).header("accept", "text/html");
        let begin = Instant::now();
        let html = request.send().unwrap().text().unwrap();
        (html, begin.elapsed())
    };
    let (first, took_first) = page("/");
    let (again, took) = page("/?page=100");
    println!("the page: {} bytes in {took_first:?}; the last of 100 pages: {took:?}", first.len());
    assert_eq!(first.matches("<li id=\"boot-").count(), 50);
    assert!(first.contains("1 to 50 of 5000") && first.contains("4999 of 5000 booted, 1 running"), "{first}");
    assert!(again.contains("4951 to 5000 of 5000"), "{again}");
    assert!(first.len() < 150_000, "{}", first.len());
    assert!(took < Duration::from_secs(1), "{took:?}");

    let (mut one, mut many) = (Cost::default(), Cost::default());
    for (browsers, cost) in [(1, &mut one), (BROWSERS, &mut many)] {
        *cost = runtime.block_on(follow(&server, &image, browsers, "/live?"));
        println!(
            "{browsers} browsers: {:?} of processor time in {WATCHED:?}; {} bytes at first, then at least {} events of at most {} bytes",
            cost.processor,
            cost.first,
            cost.fewest,
            largest(&cost.later)
        );
    }
    assert!(many.fewest >= 5, "{many:?}");
    // Only the row of the host that reads is sent, and not the other 49.
    assert!(largest(&many.later) < 5000, "{}", largest(&many.later));
    // Every browser costs its writes and its wakings. When each was rendered for by itself, 50 cost 50 times as much as one.
    let limit = one.processor * 4 + Duration::from_secs(1);
    assert!(many.processor < limit, "{:?} for {BROWSERS}, {:?} for one", many.processor, one.processor);

    let programs = runtime.block_on(follow(&server, &image, BROWSERS, "/v1/boots/events"));
    println!(
        "{BROWSERS} programs: {:?} of processor time; {} bytes at first, then events of at most {} bytes",
        programs.processor,
        programs.first,
        largest(&programs.later)
    );
    assert!(largest(&programs.later) < 2500, "{}", largest(&programs.later));
    assert!(programs.processor < limit, "{:?}", programs.processor);
}
