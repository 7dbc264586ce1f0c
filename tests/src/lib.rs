//! What the acceptance tests share: finding the peers, making bases, running the binary.

pub mod bases;
pub mod bmc;
pub mod boots;
pub mod chain;
pub mod container;
pub mod data_url;
pub mod documents;
pub mod drives;
pub mod extents;
pub mod fat;
pub mod fault_proxy;
pub mod fleet;
pub mod hosts;
pub mod ironic;
pub mod kubernetes;
pub mod kustomize;
pub mod libnm;
pub mod metal3;
pub mod network_manager;
pub mod peers;
pub mod qemu;
pub mod report;
pub mod server;
pub mod state;
pub mod sushy;
pub mod usage;
