//! A topology as tables: interfaces, routes, rules, and whom the host asks for names.

use crate::model::{Ip, MAIN_TABLE, Route, RouteKind, Rule, Topology};

/// Rows of text under headings. Texts come from the user's documents, and may hold anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What stands above the columns.
    pub headings: &'static [&'static str],
    /// The rows, each with as many texts as there are headings.
    pub rows: Vec<Vec<String>>,
}

impl Topology {
    /// The host's network as tables, of which none is empty.
    pub fn tables(&self) -> Vec<Table> {
        let tables = [self.interface_table(), self.route_table(), self.rule_table(), self.dns_table()];
        tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
    }

    fn interface_table(&self) -> Table {
        let mut rows = Vec::new();
        for interface in &self.interfaces {
            let mtu = interface.mtu.map(|mtu| mtu.to_string()).unwrap_or_default();
            let mut what = self.describe(interface);
            if let Some(mac) = interface.mac {
                what = format!("{what}, gets MAC {mac}");
            }
            let mut addresses = interface.describe_addresses().into_iter();
            let first = addresses.next().unwrap_or_default();
            rows.push(vec![interface.name.clone(), what, interface.device.describe(), mtu, first]);
            rows.extend(addresses.map(|address| {
                let mut row = vec![String::new(); 4];
                row.push(address);
                row
            }));
        }
        Table { headings: &["INTERFACE", "WHAT IT IS", "FOUND BY", "MTU", "ADDRESSES"], rows }
    }

    fn route_table(&self) -> Table {
        let mut routes: Vec<&Route> = self.routes.iter().collect();
        routes.sort_by_key(|route| (route.table, !route.is_default(), route.destination, route.unusual_metric()));
        let written = routes.into_iter().map(|route| {
            let metric = route.unusual_metric().map(|metric| metric.to_string());
            let via = match (route.kind, route.gateway) {
                (RouteKind::Unicast, Some(gateway)) => gateway.to_string(),
                (RouteKind::Unicast, None) => "on the link".to_owned(),
                (kind, _) => kind.name().to_owned(),
            };
            let interface = route.interface.clone().unwrap_or_default();
            vec![route.describe_destination(), via, interface, metric.unwrap_or_default(), table(route.table)]
        });
        let offered = self.interfaces.iter().flat_map(|interface| {
            let has_place = |ip: &Ip| ip.metric.is_some() || ip.automatic_table != MAIN_TABLE;
            // Other routes that are offered may go to a table of their own, too.
            let offers = interface.offers().map(move |(family, by)| {
                let ip = interface.ip(family);
                (ip, ip.learns_gateway(family), by)
            });
            let offers = offers.filter(move |(ip, is_default, _)| *is_default || has_place(ip));
            offers.map(|(ip, is_default, by)| {
                let what = if is_default { "default" } else { "others offered" };
                let metric = ip.metric.map(|metric| metric.to_string()).unwrap_or_default();
                let (what, by) = (what.to_owned(), format!("from {by}"));
                vec![what, by, interface.name.clone(), metric, table(ip.automatic_table)]
            })
        });
        Table { headings: &["ROUTE TO", "VIA", "INTERFACE", "METRIC", "TABLE"], rows: written.chain(offered).collect() }
    }

    fn rule_table(&self) -> Table {
        let mut rules: Vec<&Rule> = self.rules.iter().collect();
        rules.sort_by_key(|rule| rule.priority);
        let row = |rule: &Rule| {
            let priority = rule.priority.map(|priority| priority.to_string()).unwrap_or_default();
            vec![priority, rule.selector(), rule.table.to_string()]
        };
        Table { headings: &["RULE", "PACKETS", "TABLE"], rows: rules.into_iter().map(row).collect() }
    }

    fn dns_table(&self) -> Table {
        let mut rows: Vec<[String; 2]> = Vec::new();
        let mut add = |name: &str, value: String| rows.push([name.to_owned(), value]);
        for server in &self.dns.servers {
            add("server", server.address.to_string());
        }
        for interface in &self.interfaces {
            for (_, by) in interface.offers().filter(|(family, _)| interface.ip(*family).automatic_dns) {
                add("server", format!("from {by} on {}", interface.name));
            }
        }
        for domain in &self.dns.search {
            add("search", domain.clone());
        }
        for option in &self.dns.options {
            add("option", option.clone());
        }
        Table { headings: &["DNS", ""], rows: rows.into_iter().map(Vec::from).collect() }
    }
}

/// The number of a routing table, but the usual one's.
fn table(number: u32) -> String {
    if number == MAIN_TABLE { String::new() } else { number.to_string() }
}

#[cfg(test)]
mod tests {
    use crate::model::Topology;
    use vocabulary::report::DocumentPath;

    #[test]
    fn where_offered_routes_go_is_told() {
        let nic = |name: &str, rest: &str| {
            format!(
                "[connection]\nid={name}\ntype=ethernet\ninterface-name={name}\n[ipv4]\nmethod=auto\n{rest}\n[ipv6]\n\
                 method=disabled\n"
            )
        };
        let profiles = [
            nic("eth0", "route-metric=50\nroute-table=100"),
            nic("eth1", "never-default=true\nroute-table=101"),
            nic("eth2", "never-default=true"),
        ];
        let topology = Topology::from_profiles(profiles.iter().map(|text| (DocumentPath::root(), text.as_str())), None);
        let routes = topology.tables().into_iter().find(|table| table.headings[0] == "ROUTE TO").unwrap();
        let rows: Vec<String> = routes.rows.iter().map(|row| row.join("|")).collect();
        assert_eq!(rows, ["default|from DHCPv4|eth0|50|100", "others offered|from DHCPv4|eth1||101"]);
        let picture = crate::topology::svg::Picture { topology: &topology, bmc: None, boot_mac: None }.to_svg();
        assert!(picture.contains("routes with metric 50, table 100"), "{picture}");
        let json = serde_json::to_value(&topology).unwrap();
        let eth0 = &json["interfaces"][0]["ipv4"];
        assert_eq!((&eth0["automatic_metric"], &eth0["automatic_table"]), (&50.into(), &100.into()));
        assert!(json["interfaces"][2]["ipv4"].get("automatic_table").is_none());
    }

    #[test]
    fn dhcpv6_by_itself_offers_no_default_route() {
        let of = |method: &str| {
            let text = format!(
                "[connection]\nid=a\ntype=ethernet\ninterface-name=eth0\n[ipv4]\nmethod=disabled\n[ipv6]\nmethod={method}\n"
            );
            let tables = Topology::from_profiles([(DocumentPath::root(), text.as_str())], None).tables();
            tables.iter().flat_map(|table| &table.rows).filter(|row| row[0] == "default").count()
        };
        assert_eq!((of("auto"), of("dhcp")), (1, 0));
    }

    #[test]
    fn a_host_is_told_in_rows() {
        let bond = "[connection]\nid=b\ntype=bond\ninterface-name=bond0\n[bond]\nmode=802.3ad\n[ipv4]\nmethod=auto\n\
                    address1=192.0.2.10/24\nroute1=10.0.0.0/8,192.0.2.1,50\nroute1_options=table=70\ndns=192.0.2.53\n\
                    routing-rule1=priority 5 from 192.0.2.0/24 table 70\n[ipv6]\nmethod=disabled\n";
        let port = "[connection]\nid=left\ntype=ethernet\nmaster=bond0\nslave-type=bond\nautoconnect=false\n[ethernet]\n\
                    mac-address=52:54:00:00:00:01\nmtu=9000\n";
        let profiles = [("b", bond), ("p", port)].map(|(name, content)| (DocumentPath::document(name), content));
        let text: Vec<String> = Topology::from_profiles(profiles, None)
            .tables()
            .iter()
            .flat_map(|table| {
                std::iter::once(table.headings.join("|")).chain(table.rows.iter().map(|row| row.join("|")))
            })
            .collect();
        assert_eq!(
            text,
            [
                "INTERFACE|WHAT IT IS|FOUND BY|MTU|ADDRESSES",
                "bond0|bond 802.3ad of left|name||192.0.2.10/24",
                "||||DHCPv4",
                "left|ethernet, port of bond0, stays down|MAC 52:54:00:00:00:01|9000|",
                "ROUTE TO|VIA|INTERFACE|METRIC|TABLE",
                "10.0.0.0/8|192.0.2.1|bond0|50|70",
                "default|from DHCPv4|bond0||",
                "RULE|PACKETS|TABLE",
                "5|from 192.0.2.0/24|70",
                "DNS|",
                "server|192.0.2.53",
                "server|from DHCPv4 on bond0",
            ]
        );
    }
}
