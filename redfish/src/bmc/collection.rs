//! Reads collections, which BMCs may answer in pages (`Members@odata.nextLink`, DSP0266).

use serde_json::Value;

use super::Bmc;
use super::properties::{self, Properties};
use crate::RedfishError;

/// The maximum number of pages that are read.
const MAX_PAGES: usize = 64;
/// The maximum number of members that are kept.
const MAX_MEMBERS: usize = 4096;

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
        loop {
            let next = next_page(&body).filter(|next| !read.contains(next));
            if let Some(Value::Array(members)) = body.get_mut("Members").map(Value::take) {
                let room = MAX_MEMBERS.saturating_sub(collection.members.len());
                collection.members.extend(members.into_iter().take(room));
            }
            let Some(next) = next else { return Ok(collection) };
            if read.len() >= MAX_PAGES || collection.members.len() >= MAX_MEMBERS {
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
    use serde_json::json;

    use super::*;

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
