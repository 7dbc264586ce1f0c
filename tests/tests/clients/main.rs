//! Clients of the API that others have: made by generators of its description, and the Ansible collection.

mod ansible;
mod ansible_boot;
mod generated;
mod playbook;
