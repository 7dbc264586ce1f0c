//! `dayone boots watch`, against a server that is busy, or whose boots are deleted.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Output};
use std::thread;

use serde_json::{Value, json};

/// A server that gives these answers, one on each connection. Returns its URL.
fn server(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut head, mut byte) = (Vec::<u8>::new(), [0_u8]);
            // The requests have no body.
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).unwrap();
                head.extend(byte);
            }
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

fn events(events: &[Value]) -> String {
    let events = events.iter().map(|data| format!("event: boots\ndata: {data}\n\n")).collect::<Vec<_>>().concat();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{events}")
}

/// The one boot of the server, in this state.
fn boot(state: &str) -> Value {
    let boot = json!({"id": "06gq1k2m5v8t3n4p", "host": "worker-0", "bmc": "https://bmc/", "state": state, "ended": false,
        "counted_as": state, "created": "2026-02-28T23:59:59.123Z", "steps": [], "reason": "", "revision": 1});
    json!({"boots": [boot], "ids": ["06gq1k2m5v8t3n4p"]})
}

fn busy(status: u16) -> String {
    let body = json!({"title": "Busy", "status": status, "detail": "the server has too much to do"}).to_string();
    format!(
        "HTTP/1.1 {status} Busy\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The exit code of the command, and what it has printed.
fn watch(answers: Vec<String>) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dayone"));
    command.env_remove("DAYONE_API_TOKEN").args(["boots", "watch", "--server", &server(answers)]);
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_server_that_is_busy_for_a_while_is_waited_for() {
    let (running, booted) = (events(&[boot("running")]), events(&[boot("booted")]));
    let (code, lines, errors) = watch(vec![running, busy(503), busy(429), booted]);
    assert_eq!(code, Some(0), "{lines}{errors}");
    assert!(lines.ends_with("\n1 of 1 booted\n"), "{lines}");
}

#[test]
fn a_server_that_is_busy_from_the_beginning_is_no_failed_host() {
    let (code, lines, errors) = watch(vec![busy(503)]);
    assert_eq!((code, lines.as_str()), (Some(2), ""), "{errors}");
    assert!(errors.contains("the server has too much to do"), "{errors}");
}

#[test]
fn the_last_boot_that_is_deleted_is_not_said_never_to_have_been() {
    let (code, lines, errors) = watch(vec![events(&[boot("running"), json!({"boots": [], "ids": []})])]);
    assert_eq!(code, Some(1), "{lines}{errors}");
    assert!(errors.contains("no boot is left"), "{errors}");
    let (code, _, errors) = watch(vec![events(&[json!({"boots": [], "ids": []})])]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("the server has no boot"), "{errors}");
}
