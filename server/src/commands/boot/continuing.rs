//! Boots that an earlier command has left in the data directory. The server in this process continues them, and begins no others at
//! their BMCs.

use std::fmt::Write as _;

use redfish::BmcAddress;
use serde::Deserialize as _;

use super::order::Order;
use crate::boots::BmcKey;
use crate::commands::boot_api::{Api, Boot};
use crate::commands::boots::all;
use crate::commands::client::ApiError;
use crate::commands::failure::Failure;
use crate::commands::terminal::plain;

/// The boots in the data directory that have not ended.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    /// Those of hosts of the order. If there are any, the command continues them and begins no others: hosts that have no unfinished boot
    /// may have booted before.
    pub(super) ours: Vec<Boot>,
    /// Those of other hosts. Another command may have left their media in, so this one does not eject them.
    others: Vec<Boot>,
    /// The hosts of the order whose boots the command does not begin.
    pub(super) left_out: Vec<String>,
}

impl Unfinished {
    /// Reads the unfinished boots of the server in this process.
    pub(super) async fn read(api: &Api, order: &Order) -> Result<Self, ApiError> {
        let boots = all(api, &[("ended", "false".to_owned())]).await?;
        let boots = boots.into_iter().map(Boot::deserialize).collect::<Result<Vec<Boot>, _>>()?;
        // Converting the documents takes a while, and most directories have no such boots.
        Ok(if boots.is_empty() { Self::default() } else { Self::of(boots, &order.hosts()) })
    }

    fn of(boots: Vec<Boot>, hosts: &[(String, Option<BmcAddress>)]) -> Self {
        let key = |boot: &Boot| boot.bmc.address.parse::<BmcAddress>().ok().map(|address| BmcKey::of(&address));
        let hosts: Vec<(&String, Option<BmcKey>)> =
            hosts.iter().map(|(name, address)| (name, address.as_ref().map(BmcKey::of))).collect();
        let keys = || hosts.iter().filter_map(|(_, host)| host.as_ref());
        let is_ours = |boot: &Boot| key(boot).is_some_and(|key| keys().any(|host| host.overlaps(&key)));
        let (ours, others): (Vec<Boot>, Vec<Boot>) = boots.into_iter().partition(is_ours);
        let continued: Vec<BmcKey> = ours.iter().filter_map(key).collect();
        let is_continued = |host: &BmcKey| continued.iter().any(|key| key.overlaps(host));
        let is_left_out = |host: Option<&BmcKey>| !continued.is_empty() && !host.is_some_and(is_continued);
        let left_out = hosts.iter().filter(|(_, host)| is_left_out(host.as_ref())).map(|(name, _)| (*name).clone());
        Self { ours, others, left_out: left_out.collect() }
    }

    /// Says what the command does with these boots.
    pub(super) fn as_text(&self) -> String {
        let named = |boots: &[Boot]| boots.iter().map(|boot| plain(boot.name())).collect::<Vec<_>>().join(", ");
        let mut text = String::new();
        // Writing to a String does not fail.
        if !self.ours.is_empty() {
            let _ = writeln!(text, "continuing the boots in --data-dir that have not ended: {}", named(&self.ours));
        }
        if !self.left_out.is_empty() {
            let _ = writeln!(text, "beginning no boots of the other hosts: {}", listed(&self.left_out));
        }
        if !self.others.is_empty() {
            let others = named(&self.others);
            let _ = writeln!(
                text,
                "--data-dir also has boots of hosts that are not in the documents, which go on while this program runs: {others}"
            );
        }
        text
    }
}

/// Fails if the command has left out hosts.
pub(super) fn all_begun(left_out: &[String]) -> Result<(), Failure> {
    if left_out.is_empty() {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "dayone has begun no boots of {}, because it continued those of other hosts in --data-dir; boot a host with --host NAME",
        listed(left_out)
    )))
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn boot(name: &str, address: &str) -> Boot {
        let boot = json!({"id": "1", "host": name, "state": "running", "ended": false, "bmc": {"address": address},
            "progress": null, "steps": [], "remarks": []});
        serde_json::from_value(boot).unwrap()
    }

    fn names(boots: &[Boot]) -> Vec<&str> {
        boots.iter().map(Boot::name).collect()
    }

    #[test]
    fn a_command_continues_the_boots_of_its_hosts_and_leaves_those_of_others() {
        let host = |name: &str, address: &str| (name.to_owned(), Some(address.parse::<BmcAddress>().unwrap()));
        let without_address = ("d".to_owned(), None);
        let hosts = [host("a", "redfish://192.0.2.1/redfish/v1/Systems/1"), host("b", "192.0.2.2"), without_address];
        let found = || vec![boot("a", "192.0.2.1"), boot("c", "192.0.2.3")];

        let both = Unfinished::of(found(), &hosts);
        assert_eq!((names(&both.ours), names(&both.others)), (vec!["a"], vec!["c"]));
        assert_eq!(both.left_out, ["b", "d"]);
        let text = both.as_text();
        assert!(text.starts_with("continuing the boots in --data-dir that have not ended: a\n"), "{text}");
        assert!(
            text.contains("no boots of the other hosts: b, d\n") && text.ends_with("while this program runs: c\n"),
            "{text}"
        );
        assert!(
            matches!(all_begun(&both.left_out), Err(Failure::Input(message)) if message.contains("no boots of b, d,"))
        );

        let other = Unfinished::of(found(), &hosts[1..]);
        assert_eq!((names(&other.ours), names(&other.others)), (vec![], vec!["a", "c"]));
        assert!(other.left_out.is_empty() && all_begun(&other.left_out).is_ok());
    }
}
