//! Boots: a host brought from its documents to a booted system by way of its BMC, one step after the other.

pub mod call_home;
