//! Kubernetes: an API server, the controller, the manifests, and Metal3.

mod api;
mod chart;
mod chart_install;
mod chart_page;
mod chart_values;
mod controller;
mod deploy;
mod deploy_api;
mod manifest;
mod metal3_audit;
mod metal3_bases;
mod metal3_data_image;
mod metal3_drop_in;
mod metal3_images;
mod metal3_ironic;
mod metal3_key_rotation;
mod metal3_network_data;
mod metal3_outages;
mod metal3_reconcile;
mod metal3_reload;
mod metal3_replicas;
mod metal3_static_server;
mod metal3_versions;
mod metal3_webhooks;
mod monitoring;
mod second_step;
