//! The documents that describe hosts, each as far as it was read when it was sorted.

use super::document::Document;
use super::object::Object;
use super::shape::Shape;
use super::site::Site;
use vocabulary::report::Report;

/// A document that describes a host.
pub(super) enum HostDocument {
    Nmstate(Document),
    NetworkData(Document),
    BareMetalHost(Object),
    InstallConfig(Document),
    AgentConfig(Document),
    NmstateConfig(Object),
    Policy(Object),
    Site(Site),
    Fleet(Object),
}

impl HostDocument {
    /// Reports the numbers that other readers take for others.
    pub(super) fn check_octals(&self, report: &mut Report) {
        match self {
            Self::Nmstate(document)
            | Self::NetworkData(document)
            | Self::InstallConfig(document)
            | Self::AgentConfig(document) => document.check_octals(report),
            Self::BareMetalHost(object) | Self::NmstateConfig(object) | Self::Policy(object) | Self::Fleet(object) => {
                object.check_octals(report);
            }
            Self::Site(site) => site.object.check_octals(report),
        }
    }

    /// What it is, if it is a network and does not say whose.
    pub(super) fn nameless(&self) -> Option<Shape<'static>> {
        match self {
            Self::Nmstate(_) => Some(Shape::Nmstate),
            Self::NetworkData(_) => Some(Shape::NetworkData),
            _ => None,
        }
    }
}
