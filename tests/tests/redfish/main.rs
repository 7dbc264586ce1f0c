//! Redfish: BMCs, boots by way of them, and the commands for both.

mod bmc_commands;
mod bmc_emulator;
mod boot;
mod boot_access;
mod boot_command;
mod boot_faults;
mod boot_hosts;
mod boot_orders;
mod boot_signs;
mod boot_view;
mod boots;
mod boots_command;
mod client;
mod doctor;
mod faults;
mod fleet;
mod ironic;
mod ironic_agent;
mod key_rotation;
mod recorded;
mod self_check;
mod spoiled;
mod sushy_faults;
mod sushy_reads;
mod undo;
mod vendors;
