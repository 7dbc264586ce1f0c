//! `dayone boots` against a server whose hosts boot behind emulated BMCs.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::bmc::{Failure, Fault, Machine, Vendor};
use acceptance::fleet::Fleet;
use acceptance::peers::run;
use acceptance::server::{Server, dayone, free_address};
use acceptance::terminal::Terminal;
use serde_json::Value;

/// Machines that read their image at once, and whose systems run some seconds later.
async fn fleet(hosts: usize, starts_in: Duration) -> Fleet {
    let machine = Machine { reads: 256 << 10, starts_in, ..Machine::default() };
    Fleet::start((0..hosts).map(|_| Vendor::named("hpe-ilo6")), &machine).await
}

fn begin(server: &Server, documents: String) {
    let url = format!("{}/v1/boots?base=coreos&wait_for=boot-progress", server.api);
    let request = reqwest::blocking::Client::new().post(url).header("content-type", "application/yaml");
    let answer = request.body(documents).send().unwrap();
    assert_eq!(answer.status(), 201, "{}", answer.text().unwrap());
}

fn boots(server: &Server, arguments: &[&str]) -> Command {
    let mut command = dayone();
    command.arg("boots").args(arguments).args(["--server", &server.api]).stdin(Stdio::null());
    command
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn succeeded(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    text(&output)
}

/// Runs what blocks, beside the BMCs.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

fn screens(directory: &Path, command: &str, columns: usize) -> Vec<Vec<String>> {
    let terminal = Terminal::start(directory, command, columns, 24);
    let deadline = Instant::now() + Duration::from_mins(2);
    let mut screens = Vec::new();
    loop {
        let screen = terminal.text(&[]);
        let has_ended = screen.iter().any(|line| line.starts_with("ended with"));
        screens.push(screen);
        if has_ended {
            return screens;
        }
        assert!(Instant::now() < deadline, "{}", screens.last().unwrap().join("\n"));
        thread::sleep(Duration::from_millis(100));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_are_watched_at_a_terminal_until_all_have_booted_or_failed() {
    let fleet = fleet(8, Duration::from_secs(4)).await;
    fleet.0[3].inject(Fault::new("POST", "InsertMedia", 1000, Failure::Status(400)));
    let documents = fleet.documents();
    let screens = beside(move || {
        let server = Server::start("coreos", &coreos_iso(&[]));
        begin(&server, documents);
        let directory = tempfile::tempdir().unwrap();
        let program = dayone().get_program().display().to_string();
        screens(directory.path(), &format!("{program} boots watch --server {}", server.api), 120)
    })
    .await;
    // The result, which may be on the screen before the shell says that the command has ended, names neither state.
    let is_live =
        |last: &String| last.contains(" of 8 booted") && (last.contains(" running") || last.contains(" queued"));
    let live: Vec<&Vec<String>> = screens.iter().filter(|screen| screen.last().is_some_and(is_live)).collect();
    assert!(live.len() > 5, "{screens:#?}");
    for screen in &live {
        let rows = screen.iter().filter(|line| line.contains(" host-")).count();
        assert_eq!((rows, screen.len()), (8, 9), "{screen:#?}");
    }
    // What the BMC has read of the files of its image is in their bars.
    let has_bars = |screen: &&&Vec<String>| {
        screen.iter().any(|line| line.starts_with("▸ host-") && line.contains("  initrd █") && line.contains(" %  "))
    };
    assert!(live.iter().any(|screen| has_bars(&screen)), "{live:#?}");
    assert!(live.iter().any(|screen| screen[0].starts_with("✕ host-3  ✓✕")), "a host that failed is on top: {live:#?}");
    let end = screens.last().unwrap();
    assert!(end[0].starts_with("host-3: failed: insert: "), "{end:#?}");
    assert!(end.ends_with(&["7 of 8 booted, 1 failed", "ended with 1"].map(str::to_owned)), "{end:#?}");
    assert!(!end.iter().any(|line| line.starts_with(['✓', '▸', '✕'])), "nothing of the view stays: {end:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_terminal_each_change_is_a_line_also_after_a_restart_of_the_server() {
    let fleet = fleet(3, Duration::from_secs(6)).await;
    let documents = fleet.documents();
    beside(move || {
        let (api, media) = (free_address(), free_address());
        let mut server = Server::start_at(&api, &media, "coreos", &coreos_iso(&[]), &[]);
        begin(&server, documents);
        let mut watch = boots(&server, &["watch"]);
        let mut json = boots(&server, &["watch", "--host", "host-1", "--format", "json"]);
        let piped = |command: &mut Command| command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (watch, json) = (piped(&mut watch), piped(&mut json));
        thread::sleep(Duration::from_secs(2));
        server.kill_and_start_again();

        let output = watch.wait_with_output().unwrap();
        let (lines, errors) = (text(&output), String::from_utf8(output.stderr.clone()).unwrap());
        assert_eq!(output.status.code(), Some(0), "{lines}{errors}");
        assert!(errors.contains("connecting again"), "{errors}");
        assert!(lines.ends_with("\n3 of 3 booted\n") && !lines.contains('\u{1b}'), "{lines}");
        for host in 0..3 {
            let prefix = format!("host-{host}: booted done: ");
            assert_eq!(lines.lines().filter(|line| line.starts_with(&prefix)).count(), 1, "{lines}");
        }
        let output = json.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let boots: Vec<Value> = text(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(boots.len() > 1 && boots.iter().all(|boot| boot["host"] == "host-1"), "{boots:#?}");
        let last = boots.last().unwrap();
        assert_eq!((&last["counted_as"], &last["state"]), (&"booted".into(), &"booted".into()), "{last}");
        assert!(boots.iter().any(|boot| boot["reading"]["files"][1]["percent"].as_u64() > Some(0)), "{boots:#?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn boots_are_listed_shown_and_deleted() {
    let fleet = fleet(3, Duration::from_millis(200)).await;
    fleet.0[2].inject(Fault::new("POST", "InsertMedia", 1000, Failure::Status(400)));
    let documents = fleet.documents();
    beside(move || {
        let server = Server::start("coreos", &coreos_iso(&[]));
        let none = boots(&server, &["watch"]).output().unwrap();
        assert_eq!(none.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&none.stderr).contains("the server has no boot"));
        begin(&server, documents);
        let watched = boots(&server, &["watch"]).output().unwrap();
        assert_eq!(watched.status.code(), Some(1), "{watched:?}");
        assert!(text(&watched).ends_with("\n2 of 3 booted, 1 failed\n"), "{}", text(&watched));

        let table = succeeded(boots(&server, &["list"]));
        let hosts: Vec<&str> = table.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(hosts, ["HOST", "host-0", "host-1", "host-2"], "{table}");
        let csv = succeeded(boots(&server, &["list", "--state", "failed", "--format", "csv"]));
        let rows: Vec<&str> = csv.split_terminator("\r\n").collect();
        assert_eq!(rows[0], "host,id,created,state,ended,inserted,bmc,image,now");
        assert!(rows.len() == 2 && rows[1].starts_with("host-2,") && rows[1].contains(",failed,true,false,"), "{csv}");
        let json = succeeded(boots(&server, &["list", "--ended", "false", "--format", "json"]));
        let listed: Vec<Value> = serde_json::from_str(&json).unwrap();
        assert_eq!(listed.len(), 2, "{json}");
        let id = listed[0]["id"].as_str().unwrap();

        let shown = succeeded(boots(&server, &["show", "host-0"]));
        for expected in [
            "host-0: booted\n",
            id,
            "\ninsert         done ",
            "Read from the image",
            "initrd  █",
            "127.0.0.1  boot.iso",
        ] {
            assert!(shown.contains(expected), "{expected}\n{shown}");
        }
        let shown: Value = serde_json::from_str(&succeeded(boots(&server, &["show", id, "--format", "json"]))).unwrap();
        assert_eq!(shown["host"], "host-0");
        assert!(shown["reading"]["sent"].as_u64() > Some(0), "{shown:#}");

        // One that is not there does not keep the others from being deleted.
        let removed = boots(&server, &["rm", "host-9", "host-0", "host-2", "--wait"]).output().unwrap();
        assert_eq!(removed.status.code(), Some(1));
        let said = String::from_utf8_lossy(&removed.stderr);
        assert!(said.contains("no boot of a host \"host-9\""), "{said}");
        let expected = format!("host-0: ejecting, boot {id}\nhost-2: forgotten\nhost-0: ejected\n");
        assert_eq!(text(&removed), expected);
        assert_eq!(succeeded(boots(&server, &["rm", id])), format!("{id}: forgotten\n"));
        assert_eq!(succeeded(boots(&server, &["rm", "host-1", "--forget"])), "host-1: forgotten\n");
        assert_eq!(succeeded(boots(&server, &["list"])).lines().count(), 1);
        let gone = boots(&server, &["show", id]).output().unwrap();
        assert_eq!(gone.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&gone.stderr).contains(&format!("the server has no boot {id:?}")));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_boot_that_is_forgotten_while_somebody_waits_is_not_called_ejected() {
    let fleet = fleet(1, Duration::from_millis(200)).await;
    fleet.0[0].inject(Fault::new("POST", "EjectMedia", 1000, Failure::Delay(Duration::from_mins(1))));
    let documents = fleet.documents();
    beside(move || {
        let server = Server::start("coreos", &coreos_iso(&[]));
        begin(&server, documents);
        succeeded(boots(&server, &["watch"]));
        let mut waiting = boots(&server, &["rm", "host-0", "--wait"]);
        let mut waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(waiting.stdout.take().unwrap());
        let mut said = String::new();
        stdout.read_line(&mut said).unwrap();
        assert!(said.starts_with("host-0: ejecting, boot "), "{said}");
        thread::sleep(Duration::from_secs(1));
        assert_eq!(succeeded(boots(&server, &["rm", "host-0", "--forget"])), "host-0: forgotten\n");
        stdout.read_to_string(&mut said).unwrap();
        let output = waiting.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}{errors}");
        assert!(!said.contains("ejected") && errors.contains("may still have the medium"), "{said}{errors}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_ends_without_a_server_without_a_reader_and_when_it_is_interrupted() {
    let fleet = fleet(1, Duration::from_hours(1)).await;
    let documents = fleet.documents();
    beside(move || {
        let nowhere = free_address();
        let output = dayone().args(["boots", "watch", "--server", &format!("http://{nowhere}")]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));

        let directory = tempfile::tempdir().unwrap();
        let token = directory.path().join("token");
        fs::write(&token, "a-token-of-some-length").unwrap();
        run(Command::new("chmod").arg("600").arg(&token));
        let file = token.to_str().unwrap();
        let server = Server::start("coreos", &coreos_iso(&[]));
        begin(&server, documents);
        let watch = boots(&server, &["watch"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(Duration::from_secs(2));
        run(Command::new("kill").args(["-INT", &watch.id().to_string()]));
        let output = watch.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        assert!(String::from_utf8_lossy(&output.stderr).contains("the server continues the boots"));

        // As after `head -n 1`.
        let mut unread = boots(&server, &["watch", "--format", "json"]).stdout(Stdio::piped()).spawn().unwrap();
        drop(unread.stdout.take());
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = unread.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > Duration::from_secs(30) {
                unread.kill().unwrap();
            }
            thread::sleep(Duration::from_millis(50));
        };
        assert_eq!(status.code(), Some(3), "{status}");

        let closed =
            Server::start_at(&free_address(), &free_address(), "coreos", &coreos_iso(&[]), &["--api-token-file", file]);
        let refused = boots(&closed, &["watch"]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&refused.stderr).contains("--token-file"));
        let admitted = boots(&closed, &["list", "--token-file", file]).output().unwrap();
        assert_eq!(admitted.status.code(), Some(0), "{}", String::from_utf8_lossy(&admitted.stderr));
    })
    .await;
}
