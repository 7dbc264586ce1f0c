//! `dayone base add` while other requests change the base of its name.

use std::process::{Child, Command, Stdio};

use reqwest::StatusCode;
use serde_json::json;

use super::added_bases::{add, delete, iso, next_release, settled, start, wait_for};
use super::http_source::HttpSource;
use super::support::{Dayone, without_settings};

fn base_add(dayone: &Dayone, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dayone"));
    without_settings(&mut command);
    command.args(["base", "add"]).args(arguments).args(["--server", &dayone.url("/")]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Its exit code, and what it has printed.
async fn ended(child: Child) -> (Option<i32>, String, String) {
    let output = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn base_add_whose_fetch_has_been_stopped_does_not_report_the_older_base() {
    let source = HttpSource::start().await;
    let dayone = start(&source).await;
    let first = iso(&dayone);
    let (url, sha256) = source.put("/first.iso", &first);
    let order = json!({"name": "fcos", "iso": {"url": url, "sha256": sha256}});
    add(&dayone, &order).await.ok();
    settled(&dayone, "fcos").await;

    let (url, sha256) = source.put("/next.iso", &next_release(&first));
    let next = ["fcos", url.as_str(), "--sha256", sha256.as_str()];
    for is_stopped in [true, false] {
        source.state().pause = Some(1000);
        let command = base_add(&dayone, &next);
        wait_for(&dayone, "fcos", |base| base["fetch"]["bytes"] == 1000).await;
        if is_stopped {
            assert_eq!(delete(&dayone, "/v1/bases/fcos/fetch").await.status, StatusCode::NO_CONTENT);
        } else {
            // The last request counts, and its files are there.
            assert_eq!(add(&dayone, &order).await.status, StatusCode::OK);
        }
        source.proceed();
        let (code, printed, said) = ended(command).await;
        assert_eq!((code, printed.as_str()), (Some(1), ""), "{said}");
        assert!(said.contains("somebody has stopped this fetch"), "{said}");
    }

    // dayone finds that these files are the same only when they have arrived.
    let same = dayone.place.path("coreos.iso").display().to_string();
    let (code, printed, said) = ended(base_add(&dayone, &["fcos", &same])).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(printed.starts_with("the base 'fcos' is available (identity "), "{printed}");
    let base = settled(&dayone, "fcos").await;
    assert_eq!(base["version"], 1, "{base}");
}
