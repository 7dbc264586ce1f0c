//! Name servers and search domains.

use serde_json::{Value, json};

use super::addresses::is_automatic;
use super::{Comparison, is_up, list, text};

impl Comparison<'_> {
    pub(super) fn name_servers(&mut self) {
        self.expect("name servers", &json!(self.wanted_names("server")), &json!(self.resolver("nameserver")));
        self.expect("search domains", &json!(self.wanted_names("search")), &json!(self.resolver("search")));
    }

    /// After the document's come those that were offered, where an interface takes them.
    pub(super) fn every_name_server(&mut self) {
        let takes = |family: &str| {
            let interfaces = list(&self.document["interfaces"]).filter(|interface| is_up(interface));
            interfaces.map(|interface| &interface[family]).any(|ip| is_automatic(ip) && ip["auto-dns"] != false)
        };
        let mut servers = self.wanted_names("server");
        let mut domains = self.wanted_names("search");
        let offered = &self.report["offered"];
        for family in ["ipv4", "ipv6"].into_iter().filter(|family| takes(family)) {
            servers.push(text(&offered[family]));
        }
        let is_taken = offered["is_domain_taken"].as_bool().unwrap_or(domains.is_empty());
        if is_taken && (takes("ipv4") || takes("ipv6")) {
            domains.push(text(&offered["domain"]));
        }
        let mut found = self.resolver("nameserver");
        // Which family's are offered first is chance.
        if takes("ipv4") && takes("ipv6") {
            servers.sort_unstable();
            found.sort_unstable();
        }
        let (servers, domains) = (json!(servers), json!(domains));
        self.expect("name servers", &servers, &json!(found));
        self.expect("search domains", &domains, &json!(self.resolver("search")));
        self.expect("resolver options", &json!(self.wanted_names("options")), &json!(self.resolver("options")));
    }

    fn wanted_names(&self, name: &str) -> Vec<&str> {
        list(&self.document["dns-resolver"]["config"][name]).map(text).collect()
    }

    /// systemd-resolved writes "search ." if there is no search domain.
    fn resolver(&self, keyword: &str) -> Vec<&str> {
        let lines: &Value = &self.report["resolv.conf"];
        let words = list(lines).map(|line| text(line).split_whitespace().collect::<Vec<_>>());
        let said = words.filter(|words| words.first() == Some(&keyword)).flat_map(|words| words[1..].to_vec());
        said.filter(|word| *word != ".").collect()
    }
}
