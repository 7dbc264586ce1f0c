//! `dayone boot` of a rack at a terminal: what tmux, as the terminal, shows of it.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use acceptance::bases::coreos_iso;
use acceptance::bmc::{Failure, Fault, Machine, Vendor};
use acceptance::fleet::Fleet;
use acceptance::server::{dayone, free_address};
use acceptance::terminal::Terminal;

const HOSTS: usize = 40;
const COLUMNS: usize = 90;
const LINES: usize = 24;
/// Hosts whose BMCs take no image.
const BROKEN: [usize; 3] = [3, 12, 38];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_hosts_fit_a_terminal_and_those_that_failed_stay_in_sight() {
    let machine = Machine { reads: 256 << 10, starts_in: Duration::from_secs(3), ..Machine::default() };
    let fleet = Fleet::start((0..HOSTS).map(|_| Vendor::named("hpe-ilo6")), &machine).await;
    for number in BROKEN {
        fleet.0[number].inject(Fault::new("POST", "InsertMedia", 1000, Failure::Status(400)));
    }
    let directory = tempfile::tempdir().unwrap();
    let command = command(directory.path(), &fleet);
    let (screens, all) = tokio::task::spawn_blocking(move || watch(directory.path(), &command)).await.unwrap();

    // Each host is somewhere while it boots: in a line, or in the count.
    let is_over = |screen: &[String]| screen.iter().any(|line| line.starts_with("host-"));
    let live = screens.iter().filter(|screen| total_of(screen).is_some() && !is_over(screen));
    let live: Vec<&Vec<String>> = live.collect();
    assert!(live.len() > 5, "{} of {} screens", live.len(), screens.len());
    let mut failures_seen = 0;
    for screen in &live {
        let shown = || screen.join("\n");
        let region: Vec<&String> = screen.iter().skip_while(|line| !is_row(line)).collect();
        let rows = region.iter().filter(|line| is_row(line)).count();
        let more = region.iter().find_map(|line| line.strip_prefix("… ")?.split(' ').next()?.parse::<usize>().ok());
        let hosts = total_of(screen).unwrap();
        assert_eq!(rows + more.unwrap_or(0), hosts, "{}", shown());
        // A line that is too long would have gone on in the next.
        assert_eq!(region.len(), rows + usize::from(more.is_some()) + 1, "{}", shown());
        let failed =
            screen.last().unwrap().split(", ").find_map(|part| part.split_once(" failed")?.0.split(' ').next_back());
        if let Some(failed) = failed.and_then(|count| count.parse::<usize>().ok()) {
            let on_top = region.iter().take_while(|line| line.contains("insert failed")).count();
            assert_eq!(on_top, failed, "{}", shown());
            failures_seen = failures_seen.max(failed);
        }
    }
    assert_eq!(failures_seen, BROKEN.len());

    let all_text = all.join("\n");
    assert!(all_text.contains("ended with 1"), "{all_text}");
    assert!(all_text.contains("40 hosts: 37 booted, 3 failed"), "{all_text}");
    let outcomes = |what: &str| all.iter().filter(|line| line.starts_with("host-") && line.contains(what)).count();
    assert_eq!((outcomes(": booted: "), outcomes(": failed at insert: ")), (37, 3), "{all_text}");
    // Nothing of the view stays behind.
    assert_eq!(all.iter().filter(|line| is_row(line)).count(), 0, "{all_text}");
}

fn command(directory: &Path, fleet: &Fleet) -> String {
    fs::write(directory.join("hosts.yaml"), fleet.documents()).unwrap();
    format!(
        "{} boot {}/hosts.yaml --base {} --media-listen {} --wait-for boot-progress --eject-when-booted",
        dayone().get_program().display(),
        directory.display(),
        coreos_iso(&[]).display(),
        free_address()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_that_draws_nothing_gets_lines_and_no_color_means_no_colours() {
    for (environment, is_drawn, has_colours) in
        [("env -u NO_COLOR", true, true), ("env NO_COLOR=1", true, false), ("env TERM=dumb", false, false)]
    {
        let machine = Machine { reads: 256 << 10, starts_in: Duration::from_secs(3), ..Machine::default() };
        let fleet = Fleet::start((0..2).map(|_| Vendor::named("hpe-ilo6")), &machine).await;
        fleet.0[0].inject(Fault::new("POST", "InsertMedia", 1000, Failure::Status(400)));
        let directory = tempfile::tempdir().unwrap();
        let command = format!("{environment} {}", command(directory.path(), &fleet));
        let (rows, all) = tokio::task::spawn_blocking(move || rows(directory.path(), &command)).await.unwrap();
        let all = all.join("\n");
        assert!(all.contains("2 hosts: 1 booted, 1 failed"), "{environment}: {all}");
        let failed: Vec<&String> = rows.iter().filter(|row| row.contains("insert failed")).collect();
        assert_eq!(!failed.is_empty(), is_drawn, "{environment}: {rows:#?}");
        assert_eq!(failed.iter().any(|row| row.contains('\u{1b}')), has_colours, "{environment}: {rows:#?}");
        // Each step is a line where nothing is drawn.
        assert_eq!(
            all.lines().any(|line| line.starts_with("host-0: insert failed")),
            !is_drawn,
            "{environment}: {all}"
        );
    }
}

/// The rows of hosts that were on the screen until the command has ended, with their colours, and at the end all that is there.
fn rows(directory: &Path, command: &str) -> (Vec<String>, Vec<String>) {
    let terminal = Terminal::start(directory, command, COLUMNS, LINES);
    let deadline = Instant::now() + Duration::from_secs(180);
    let mut rows = Vec::new();
    loop {
        rows.extend(terminal.text(&["-e"]).into_iter().filter(|line| line.contains("  host-")));
        let screen = terminal.text(&[]);
        if screen.iter().any(|line| line.starts_with("ended with")) {
            return (rows, terminal.text(&["-J", "-S", "-"]));
        }
        assert!(Instant::now() < deadline, "{}", screen.join("\n"));
        thread::sleep(Duration::from_millis(100));
    }
}

/// The screens until the command has ended, and at the end all that was ever written and not overwritten.
fn watch(directory: &Path, command: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let terminal = Terminal::start(directory, command, COLUMNS, LINES);
    let deadline = Instant::now() + Duration::from_secs(180);
    let mut screens = Vec::new();
    loop {
        let screen = terminal.text(&[]);
        let has_ended = screen.iter().any(|line| line.starts_with("ended with"));
        screens.push(screen);
        if has_ended {
            return (screens, terminal.text(&["-J", "-S", "-"]));
        }
        assert!(Instant::now() < deadline, "{}", screens.last().unwrap().join("\n"));
        thread::sleep(Duration::from_millis(100));
    }
}

/// How many hosts the last line of the view counts.
fn total_of(screen: &[String]) -> Option<usize> {
    screen.last()?.split_once(" hosts: ")?.0.parse().ok()
}

/// Whether it is the line of a host: the time, its name, what it is at.
fn is_row(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_time = |word: &str| word.contains(':') && word.chars().all(|c| c.is_ascii_digit() || c == ':');
    line.starts_with("   ")
        && words.next().is_some_and(is_time)
        && words.next().is_some_and(|name| name.starts_with("host-"))
}
