//! Any bytes as the answers of a BMC, over real connections: no panic, no endless exchange, and no password, token or control
//! character in what is shown of them.
#![no_main]

mod answers;

use std::cell::{Cell, RefCell};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use redfish::bmc::{Bmc, Limits, Medium, PowerAction};
use redfish::{Client, ClientOptions, Completion, Credentials, Password, RedfishError, Target, Verification};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use answers::Answers;

const PASSWORD: &str = "Zx9!qv-Wk3~Lm7";
const IMAGE: &str = "http://192.0.2.1/i/abcdefghijklmnopqrstuvwxyz/boot.iso";
/// The client accepts no larger answer. Some inputs are larger.
const MAX_BODY: usize = 8 << 10;

thread_local! {
    static KNOWS_PASSWORD: Cell<bool> = const { Cell::new(false) };
    /// Time stands still while something happens, and jumps when everything waits.
    static RUNTIME: RefCell<Runtime> = RefCell::new(
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime"),
    );
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, answers)) = data.split_first() else { return };
    RUNTIME.with_borrow(|runtime| runtime.block_on(exchange(*kind, answers)));
});

async fn exchange(kind: u8, answers: &[u8]) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("redfish+http://{}/redfish/v1/Systems/1", listener.local_addr().expect("a port"));
    let answers = Answers::of(answers);
    let bmc = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // One connection after the other: the client has only one.
            let _ = answers.serve(stream).await;
        }
    });
    // Without a timer in the near future, time would jump to the end of a request while its bytes are in the kernel.
    let clock = tokio::spawn(async {
        loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let target = Target {
        address: address.parse().expect("an address"),
        credentials: (kind & 1 == 0)
            .then(|| Credentials::new("admin".to_owned(), Password::from(PASSWORD.to_owned())).expect("credentials")),
        verification: Verification::System,
    };
    KNOWS_PASSWORD.set(target.credentials.is_some());
    let options = ClientOptions {
        pace: Duration::ZERO,
        connect_timeout: Duration::from_secs(5),
        request_timeout: Duration::from_secs(5),
        retries: 1,
        max_body: MAX_BODY,
        ..ClientOptions::default()
    };
    if kind & 2 == 0 {
        requests(&target, &options).await
    } else {
        steps(&target, &options, kind).await
    }
    bmc.abort();
    clock.abort();
}

/// Any requests.
async fn requests(target: &Target, options: &ClientOptions) {
    let client = match Client::connect(target, options).await {
        Ok(client) => client,
        Err(error) => return shown(&error),
    };
    let limit = Duration::from_millis(510);
    let body = json!({"Password": PASSWORD});
    let mut path = "/redfish/v1/Systems/1".to_owned();
    match client.get(&path).await {
        Ok(resource) => {
            assert!(resource.body.is_object());
            assert!(resource.path.starts_with('/'), "{}", resource.path);
            if let Some(id) = resource.body.get("@odata.id").and_then(Value::as_str) {
                id.clone_into(&mut path);
            }
        }
        Err(error) => shown(&error),
    }
    for answer in [client.post(&path, &body, limit).await, client.update(&path, &body, Some("\"e\""), limit).await] {
        match answer {
            Ok(answer) => {
                // A BMC may forget a task. Its last answer is then 404 or 410.
                let is_gone = matches!(answer.completion, Completion::TaskGone(_));
                assert!(answer.status.is_success() != is_gone, "{answer:?}");
                assert!(answer.location.is_none_or(|path| path.starts_with('/') && path.len() <= 2048));
            }
            Err(error) => shown(&error),
        }
    }
    assert!(client.requests().len() <= 256);
    for request in client.requests() {
        hidden(&format!("{request:?}"));
    }
    client.close().await;
}

/// What a boot does.
async fn steps(target: &Target, options: &ClientOptions, kind: u8) {
    let limits = Limits {
        insert: Duration::from_millis(510),
        settle: Duration::from_millis(100),
        change: Duration::from_millis(510),
        power: Duration::from_millis(100),
        firmware: Duration::from_millis(100),
        pause: Duration::from_millis(10),
        poll_interval: Duration::from_millis(50),
    };
    let bmc = match Bmc::connect(target, options).await {
        Ok(bmc) => bmc.with_limits(limits),
        Err(error) => return hidden(&format!("{error} {error:?}")),
    };
    let survey = match bmc.survey().await {
        Ok(survey) => survey,
        Err(error) => return hidden(&format!("{error} {error:?}")),
    };
    hidden(&format!("{survey:?}"));
    // Plans and what was changed are in records, which another process reads.
    let json = serde_json::to_vec(&survey).expect("a survey can be written");
    assert_eq!(serde_json::from_slice::<redfish::bmc::Survey>(&json).expect("a survey can be read"), survey);
    let medium = if kind & 4 == 0 { Medium::Cd } else { Medium::Usb };
    by_http(&bmc, &survey, medium).await;
    let plan = match Bmc::plan(&survey, medium, None) {
        Ok(plan) => plan,
        Err(error) => return hidden(&format!("{error} {error:?}")),
    };
    let json = serde_json::to_vec(&plan).expect("a plan can be written");
    assert_eq!(serde_json::from_slice::<redfish::bmc::Plan>(&json).expect("a plan can be read"), plan);
    let inserted = bmc.insert(&plan, IMAGE).await.map_err(|error| hidden(&format!("{error} {error:?}")));
    let set = bmc.boot_once(&plan).await.map_err(|error| hidden(&format!("{error} {error:?}")));
    let off = PowerAction::Off { graceful: Duration::from_millis(50) };
    if let Err(error) = bmc.power(off).await {
        hidden(&format!("{error} {error:?}"));
    }
    if let Ok(Some(progress)) = bmc.boot_progress().await {
        hidden(&format!("{progress:?}"));
    }
    if let Ok(set) = set {
        let _ = bmc.restore(&set).await.map_err(|error| hidden(&format!("{error} {error:?}")));
    }
    if let Ok(inserted) = inserted {
        hidden(&format!("{inserted:?}"));
        let _ = bmc.eject(&inserted.slot, Some(IMAGE)).await.map_err(|error| hidden(&format!("{error} {error:?}")));
    }
    bmc.close().await;
}

/// A boot by HTTP, if the BMC offers it, and what undoes it.
async fn by_http(bmc: &Bmc, survey: &redfish::bmc::Survey, medium: Medium) {
    let plan = match bmc.plan_http_boot(survey, medium, None, IMAGE, None, None).await {
        Ok(plan) => plan,
        Err(error) => return hidden(&format!("{error} {error:?}")),
    };
    hidden(&format!("{plan:?}"));
    let Some(settings) = &plan.firmware else { return };
    let json = serde_json::to_vec(&plan).expect("a plan can be written");
    assert_eq!(serde_json::from_slice::<redfish::bmc::Plan>(&json).expect("a plan can be read"), plan);
    let staged = bmc.stage_firmware(settings, IMAGE, None).await.map(|staged| hidden(&format!("{staged:?}")));
    let waited = bmc.wait_for_firmware(settings, IMAGE).await;
    let set = bmc.boot_http_once(&plan, IMAGE).await.map(|set| hidden(&format!("{set:?}")));
    let restored = bmc.restore_firmware(settings, IMAGE).await.map(|restored| hidden(&format!("{restored:?}")));
    for error in [staged.err(), waited.err(), set.err(), restored.err()].into_iter().flatten() {
        hidden(&format!("{error} {error:?}"));
    }
}

fn shown(error: &RedfishError) {
    hidden(&format!("{error} {error:?} {:?}", error.messages()));
    let text = error.to_string();
    assert!(text.len() < 64 << 10, "an error of {} bytes", text.len());
    assert!(!text.contains(char::is_control), "{text:?}");
}

/// A BMC may repeat what it was sent. Without credentials, the client does not know the password.
fn hidden(text: &str) {
    assert!(!text.contains(PASSWORD) || !KNOWS_PASSWORD.get(), "{text}");
    assert!(!text.contains("/i/abcdefghijklmnopqrstuvwxyz"), "{text}");
}
