//! Networks: documents and keyfiles, shown to nmstate, libnm, systemd-networkd and others.

mod arbitrary_values;
mod check_facts;
mod given_keyfiles;
mod inventories;
mod inventory_directories;
mod keyfiles;
mod network_config;
mod network_data;
mod network_manager_versions;
mod networkd;
mod nmstate_examples;
mod talos;
mod topology;
mod workbooks;
