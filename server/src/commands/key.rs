//! `dayone key rotate`, `dayone key end-grace` and `dayone key show`.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use media::reading::Time;

use super::failure::{Failure, block_on};
use super::terminal;
use crate::arguments::{KeyCommand, KeyPlace, KeyRotateArguments, SecretName};
use crate::error_chain::chain;
use crate::kubernetes::{self, KeySecretApi, RotateSecretError};
use crate::store::{DataKeys, KeyState, PreviousState, end_grace, key_state, rotate_key};

/// How long to wait for the server. It looks every 5 seconds.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn run(command: &KeyCommand) -> Result<(), Failure> {
    match command {
        KeyCommand::Rotate(KeyRotateArguments { place, grace_seconds }) => match &place.key_secret {
            None => rotate(&place.data_dir, &keys(place)?, *grace_seconds),
            Some(secret) => block_on(async {
                let api = api(place, secret).await?;
                let now = api.now().await.map_err(|error| failed(&error))?;
                let rotated = api.rotate(*grace_seconds, now).await.map_err(|error| interrupted(&error))?;
                terminal::print(
                    "The installation key is replaced. All replicas give out new URLs within a minute, except replicas of dayone 0.2: they do \
                     not follow rotations.\n",
                )?;
                terminal::print(&ended_or_until(rotated.previous_until(now), now))
            })?,
        },
        KeyCommand::EndGrace(place) => match &place.key_secret {
            None => end(&place.data_dir, &keys(place)?),
            Some(secret) => block_on(async {
                let api = api(place, secret).await?;
                let now = api.now().await.map_err(|error| failed(&error))?;
                api.end_grace(now).await.map_err(|error| interrupted(&error))?;
                terminal::print("URLs of the previous key end at all replicas within a minute.\n")
            })?,
        },
        KeyCommand::Show(place) => match &place.key_secret {
            None => terminal::print(&shown(key_state(&place.data_dir, &keys(place)?).map_err(|error| failed(&error))?)),
            Some(secret) => block_on(async {
                let api = api(place, secret).await?;
                let content = api.content().await.map_err(|error| failed(&error))?;
                let now = api.now().await.map_err(|error| failed(&error))?;
                terminal::print(&ended_or_until(content.previous_until(now), now))
            })?,
        },
    }
}

/// Replaces the key, and waits until a server has taken it over.
fn rotate(data_dir: &Path, keys: &DataKeys, grace: u64) -> Result<(), Failure> {
    rotate_key(data_dir, keys, grace).map_err(|error| failed(&error))?;
    terminal::print("The installation key is replaced.\n")?;
    let state = wait(data_dir, keys, |state| !is_waiting(*state))?;
    if is_waiting(state) {
        terminal::print(&shown(state))?;
        return Err(Failure::Findings);
    }
    terminal::print("The server gives out URLs of the new key.\n")?;
    terminal::print(&shown(state))
}

/// Ends the grace period, and waits until the server has removed the previous key.
fn end(data_dir: &Path, keys: &DataKeys) -> Result<(), Failure> {
    end_grace(data_dir, keys).map_err(|error| failed(&error))?;
    if wait(data_dir, keys, |state| state.previous.is_none())?.previous.is_none() {
        return terminal::print("URLs of the previous key have ended, and the server has removed that key.\n");
    }
    terminal::print(
        "The server has not removed the previous key yet. It is stopped, or it still needs the key, and its log says for what. In both \
         cases, URLs of that key are not served.\n",
    )?;
    Err(Failure::Findings)
}

/// The keys that encrypt the data directory.
fn keys(place: &KeyPlace) -> Result<DataKeys, Failure> {
    let keys = place.data_key_file.as_deref().map(DataKeys::from_file).transpose();
    Ok(keys.map_err(|error| Failure::System(format!("--data-key-file {error}")))?.unwrap_or_default())
}

/// Waits for a state, for a limited time. Returns the last one.
fn wait(data_dir: &Path, keys: &DataKeys, is: impl Fn(&KeyState) -> bool) -> Result<KeyState, Failure> {
    let begun = Instant::now();
    loop {
        let state = key_state(data_dir, keys).map_err(|error| failed(&error))?;
        if is(&state) || begun.elapsed() >= PATIENCE {
            return Ok(state);
        }
        thread::sleep(PAUSE);
    }
}

fn is_waiting(state: KeyState) -> bool {
    matches!(state.previous, Some(PreviousState { until: None, .. }))
}

fn shown(state: KeyState) -> String {
    match state.previous {
        Some(PreviousState { until: None, grace }) => format!(
            "No server has written yet that it has taken the new key over: is it running, and is there room on its disk? A stopped server \
             takes the key over when it starts. URLs of the previous key are valid for {grace} s from then on.\n"
        ),
        Some(PreviousState { until: Some(until), .. }) => ended_or_until(Some(until), SystemTime::now()),
        None => ended_or_until(None, SystemTime::now()),
    }
}

fn ended_or_until(until: Option<SystemTime>, now: SystemTime) -> String {
    match until {
        Some(until) if until > now => {
            format!("URLs of the previous key are valid until {}.\n", Time(until))
        }
        // The server still needs it for a base that is away, or it runs in some seconds' time.
        Some(_) => "URLs of the previous key have ended. The server has not removed that key yet.\n".to_owned(),
        None => "There is one installation key. URLs of earlier keys have ended.\n".to_owned(),
    }
}

async fn api(place: &KeyPlace, secret: &SecretName) -> Result<KeySecretApi, Failure> {
    let client = kubernetes::connect(place.kubeconfig.as_deref()).await;
    let client =
        client.map_err(|error| Failure::system("cannot tell how to reach the Kubernetes API server", &error))?;
    let namespace = secret
        .namespace
        .as_deref()
        .ok_or_else(|| Failure::System(format!("--key-secret: give the namespace, too: NAMESPACE/{}", secret.name)))?;
    Ok(KeySecretApi::new(client, namespace, &secret.name))
}

/// A change of the Secret takes several requests.
fn interrupted(error: &RotateSecretError) -> Failure {
    match error {
        RotateSecretError::Request(reason) => {
            Failure::System(format!("{reason}; run the command again: it goes on where it stopped"))
        }
        error => failed(error),
    }
}

fn failed(error: &dyn std::error::Error) -> Failure {
    Failure::System(chain(error))
}
