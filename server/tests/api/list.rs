//! `dayone images`, against a server.

use std::num::NonZeroU32;

use serde_json::Value;

use super::support::{Answer, Dayone, TOKEN, bare_metal_host};

struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

async fn images(dayone: &Dayone, arguments: &[&str]) -> Ended {
    let server = dayone.url("");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_dayone"));
    command.env_remove("DAYONE_API_TOKEN").args(["images", "--server", &server]).args(arguments);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[tokio::test]
async fn images_are_listed_with_their_urls() {
    let dayone = Dayone::start().await;
    let empty = images(&dayone, &[]).await;
    assert_eq!((empty.code, empty.out.lines().count()), (Some(0), 1), "{}", empty.err);
    let documents = [0, 1, 2].map(|number| bare_metal_host(&format!("worker-{number}"))).join("---\n");
    let made = Answer::of(dayone.post("/v1/images?base=coreos&hosts=all", documents)).await.ok();
    let url = |index: usize| made["hosts"][index]["image"]["url"].as_str().unwrap().to_owned();

    let table = images(&dayone, &[]).await;
    assert_eq!(table.code, Some(0), "{}", table.err);
    let rows: Vec<Vec<&str>> = table.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["HOST", "FORMAT", "BASE", "URL"]);
    for (index, row) in rows[1..].iter().enumerate() {
        assert_eq!(row, &[&format!("worker-{index}"), "iso", "coreos", &url(index)]);
    }
    assert_eq!(rows.len(), 4);

    let one = images(&dayone, &["--host", "worker-1", "--format", "csv"]).await;
    let id = made["hosts"][1]["image"]["id"].as_str().unwrap();
    let lines: Vec<&str> = one.out.split("\r\n").collect();
    assert_eq!(lines[0], "host,id,base,format,created,url");
    assert!(lines[1].starts_with(&format!("worker-1,{id},coreos,iso,")) && lines[1].ends_with(&url(1)), "{}", one.out);
    assert_eq!(lines[2..], [""]);

    let json = images(&dayone, &["--format", "json"]).await;
    let listed: Vec<Value> = serde_json::from_str(&json.out).unwrap();
    let expected: Vec<&Value> = made["hosts"].as_array().unwrap().iter().map(|host| &host["image"]).collect();
    assert_eq!(listed.iter().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn the_command_uses_the_token_and_says_what_is_wrong() {
    let place = super::support::Place::new();
    std::fs::write(place.path("token"), TOKEN).unwrap();
    std::fs::write(place.path("other"), "another-token-of-some-length").unwrap();
    let mut config = place.config();
    config.api_clients.add(TOKEN, "the test").unwrap();
    let dayone = Dayone::start_with(place, config).await;
    let path = |name| dayone.place.path(name).to_str().unwrap().to_owned();
    assert_eq!(images(&dayone, &["--token-file", &path("token")]).await.code, Some(0));
    let other = path("other");
    for (arguments, said) in [
        (vec![], "the server requires a token: give --token-file"),
        (vec!["--token-file".to_owned(), other.clone()], "the server does not accept the token of"),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let refused = images(&dayone, &arguments).await;
        assert_eq!(refused.code, Some(2));
        assert!(refused.err.contains(said) && !refused.err.contains(TOKEN), "{}", refused.err);
        assert_eq!(refused.err.contains(&other), !arguments.is_empty(), "{}", refused.err);
    }
    dayone.server.stop().await;
}

#[tokio::test]
async fn more_images_than_the_server_answers_requests_at_once_are_listed() {
    let place = super::support::Place::new();
    let mut config = place.config();
    // Twenty at once.
    config.api_requests_per_second = NonZeroU32::new(5);
    let dayone = Dayone::start_with(place, config).await;
    let documents: Vec<String> = (0..30).map(|number| bare_metal_host(&format!("worker-{number}"))).collect();
    Answer::of(dayone.post("/v1/images?base=coreos&hosts=all", documents.join("---\n"))).await.ok();
    let listed = images(&dayone, &["--format", "csv"]).await;
    assert_eq!((listed.code, listed.out.lines().count()), (Some(0), 31), "{}", listed.err);
}
