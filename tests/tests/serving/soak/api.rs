//! The API, as the publishers use it.

use std::sync::LazyLock;
use std::time::Duration;

use reqwest::blocking::{Client, RequestBuilder};
use serde_json::Value;

use super::world::World;

static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    // A connection from before a restart would fail after it.
    let client = Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(Duration::from_secs(60));
    client.build().unwrap()
});

/// An answer of the API, or why there is none.
pub(crate) type Reply = Result<(u16, Value), String>;

fn send(request: RequestBuilder, token: &str) -> Reply {
    let answer = request.bearer_auth(token).send().map_err(|error| format!("{error:?}"))?;
    let status = answer.status().as_u16();
    let text = answer.text().map_err(|error| format!("{error:?}"))?;
    Ok((status, serde_json::from_str(&text).unwrap_or(Value::String(text))))
}

pub(crate) fn get(world: &World, path: &str, token: &str) -> Reply {
    send(CLIENT.get(format!("{}{path}", world.api)), token)
}

pub(crate) fn delete(world: &World, path: &str, token: &str) -> Reply {
    send(CLIENT.delete(format!("{}{path}", world.api)), token)
}

pub(crate) fn order(world: &World, query: &str, document: &str, token: &str) -> Reply {
    let request = CLIENT.post(format!("{}/v1/images?{query}", world.api));
    send(request.header("Content-Type", "application/yaml").body(document.to_owned()), token)
}

pub(crate) fn add_base(world: &World, body: &Value, token: &str) -> Reply {
    send(CLIENT.post(format!("{}/v1/bases", world.api)).json(body), token)
}

/// Whether the server says that all is well.
pub(crate) fn is_ready(world: &World) -> bool {
    matches!(get(world, "/readyz", ""), Ok((200, _)))
}

/// Whether the base is available and nothing of it is being fetched.
pub(crate) fn base_is_settled(world: &World, name: &str, token: &str) -> bool {
    let reply = get(world, &format!("/v1/bases/{name}"), token);
    reply.is_ok_and(|(status, base)| status == 200 && base["state"] == "available" && base["fetch"].is_null())
}
