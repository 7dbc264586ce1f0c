//! Serving: clients of the API and of the media plane, good and bad.

mod all_addresses;
mod ambiguous_requests;
mod api_conformance;
mod call_home;
mod connection_floods;
mod data_directory;
mod documented_proxies;
mod fair_turns;
mod fetch_shown;
mod fetched_bases;
mod fetched_durably;
mod hung_file_system;
mod media_log;
mod modes;
mod page_load;
mod power_loss;
mod proxies;
mod range_clients;
mod ranges;
mod reading;
mod remembered_attributes;
mod served_formats;
mod shared_blocks;
mod soak;
mod stalled_readers;
mod wrong_clock;
