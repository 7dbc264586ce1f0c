//! Reads collections, which BMCs may answer in pages (`Members@odata.nextLink`, DSP0266).

use serde_json::Value;

use super::Bmc;
use super::properties::{self, Properties};
use crate::RedfishError;

/// The maximum number of pages that are read.
const MAX_PAGES: usize = 64;
/// The maximum number of members that are kept.
const MAX_MEMBERS: usize = 4096;
/// The size of the kept members from which on no further page is read, in bytes of memory, about. Four thousand jobs take half of it.
const MAX_SIZE: usize = 32 << 20;
/// What a value takes in memory besides its text, about.
const VALUE_SIZE: usize = 128;

/// The members of a collection.
pub(super) struct Collection {
    pub(super) members: Vec<Value>,
    /// Why the BMC did not give a further page.
    pub(super) incomplete: Option<RedfishError>,
}

impl Collection {
    /// The paths of the members.
    pub(super) fn paths(&self) -> Vec<String> {
        self.members.iter().filter_map(|member| Properties::new(member).path("@odata.id")).collect()
    }
}

impl Bmc {
    /// Reads a collection with all its pages. If the BMC refuses a further page, the members of the earlier ones are still good.
    pub(super) async fn collection(&self, path: &str) -> Result<Collection, RedfishError> {
        let mut read = vec![path.to_owned()];
        let mut body = self.client().get(path).await?.body;
        let mut collection = Collection { members: Vec::new(), incomplete: None };
        let mut kept = 0;
        loop {
            let next = next_page(&body).filter(|next| !read.contains(next));
            if let Some(Value::Array(members)) = body.get_mut("Members").map(Value::take) {
                let room = MAX_MEMBERS.saturating_sub(collection.members.len());
                kept += members.iter().take(room).map(size).sum::<usize>();
                collection.members.extend(members.into_iter().take(room));
            }
            let Some(next) = next else { return Ok(collection) };
            if read.len() >= MAX_PAGES || collection.members.len() >= MAX_MEMBERS || kept >= MAX_SIZE {
                tracing::debug!(pages = read.len(), "a collection of a BMC is longer than dayone reads");
                return Ok(collection);
            }
            body = match self.client().get(&next).await {
                Ok(page) => page.body,
                Err(error) if error.status().is_some() => {
                    collection.incomplete = Some(error);
                    return Ok(collection);
                }
                Err(error) => return Err(error),
            };
            read.push(next);
        }
    }

    /// The paths of a collection's members.
    pub(super) async fn member_paths(&self, path: &str) -> Result<Vec<String>, RedfishError> {
        Ok(self.collection(path).await?.paths())
    }
}

/// How much memory a value takes, about.
fn size(value: &Value) -> usize {
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Array(members) => members.iter().map(size).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + size(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    VALUE_SIZE + inner
}

/// The path of the next page. Older services leave `Members` out of the name.
fn next_page(body: &Value) -> Option<String> {
    let names = ["Members@odata.nextLink", "@odata.nextLink"];
    let link = names.into_iter().find_map(|name| body.get(name))?;
    // Some services give the path in an object.
    let link = link.as_str().or_else(|| link.get("@odata.id")?.as_str())?;
    properties::path(link)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use axum::{Json, Router};
    use http::Uri;
    use serde_json::json;

    use super::*;
    use crate::{ClientOptions, Target, Verification};

    #[tokio::test]
    async fn pages_are_read_only_while_there_is_memory_for_them() {
        let pages = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&pages);
        // Each page has a link to another one, and a member of a megabyte.
        let answer = move |uri: Uri| async move {
            if uri.path() != "/redfish/v1/Systems" {
                return Json(json!({}));
            }
            let page = counted.fetch_add(1, Ordering::Relaxed);
            let member = json!({"@odata.id": format!("/redfish/v1/Systems/{page}"), "Oem": "x".repeat(1 << 20)});
            Json(json!({"Members": [member], "@odata.nextLink": format!("/redfish/v1/Systems?$skip={page}")}))
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("redfish+http://{}/redfish/v1/Systems/1", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        let (address, verification) = (address.parse().unwrap(), Verification::System);
        let target = Target { address, credentials: None, verification };
        let options = ClientOptions { pace: Duration::ZERO, ..ClientOptions::default() };
        let bmc = Bmc::connect(&target, &options).await.unwrap();
        let read = bmc.collection("/redfish/v1/Systems").await.unwrap();
        assert_eq!((pages.load(Ordering::Relaxed), read.paths().len()), (32, 32));
    }

    #[test]
    fn the_next_page_is_at_the_same_bmc() {
        let path = Some("/redfish/v1/Jobs?$skip=50");
        for body in [
            json!({"Members@odata.nextLink": "/redfish/v1/Jobs?$skip=50"}),
            json!({"@odata.nextLink": "https://internal.example/redfish/v1/Jobs?$skip=50"}),
            json!({"Members@odata.nextLink": {"@odata.id": "/redfish/v1/Jobs?$skip=50"}}),
        ] {
            assert_eq!(next_page(&body).as_deref(), path, "{body}");
        }
        for body in [json!({}), json!({"Members@odata.nextLink": "//evil.example/x"}), json!({"@odata.nextLink": 50})] {
            assert_eq!(next_page(&body), None, "{body}");
        }
    }
}
