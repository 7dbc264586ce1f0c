//! What `dayone base fetch` shows at a terminal.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use acceptance::nginx::Nginx;
use acceptance::server::dayone;
use acceptance::terminal::Terminal;
use imagelib::digest::Digest;

#[test]
fn a_terminal_that_draws_no_bar_gets_lines() {
    let mut nginx = Nginx::start(None);
    let bytes = vec![7_u8; 3 << 20];
    fs::write(nginx.root().join("large"), &bytes).unwrap();
    nginx.kill();
    nginx.start_again("limit_rate 1m;");
    let directory = tempfile::tempdir().unwrap();
    let command = format!(
        "env TERM=dumb {} base fetch {} --sha256 {} -o {}/fetched.iso",
        dayone().get_program().display(),
        nginx.url("large"),
        Digest::of(&bytes),
        directory.path().display()
    );
    let terminal = Terminal::start(directory.path(), &command, 120, 24);
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let screen = terminal.text(&[]);
        if screen.iter().any(|line| line == "ended with 0") {
            assert!(screen.iter().any(|line| line.starts_with("fetching ")), "{screen:#?}");
            return;
        }
        assert!(Instant::now() < deadline, "{screen:#?}");
        thread::sleep(Duration::from_millis(100));
    }
}
