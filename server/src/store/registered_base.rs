//! Configured bases, and what is known of each at the moment.

use std::sync::{Arc, PoisonError, RwLock};

use imagelib::delivery::DeliveryProfile;

use super::definition::{BaseDefinition, BaseName};
use super::open_base::OpenBase;

/// Whether a configured base can be used.
#[derive(Debug, Clone)]
pub enum BaseState {
    /// It can.
    Available(Arc<OpenBase>),
    /// It cannot, for now. It is looked at again every few seconds.
    Unavailable {
        /// Why, for operators: it names files.
        reason: String,
    },
}

/// A configured base.
#[derive(Debug)]
pub struct RegisteredBase {
    definition: BaseDefinition,
    state: RwLock<BaseState>,
}

impl RegisteredBase {
    pub(super) fn new(definition: BaseDefinition, state: BaseState) -> Self {
        Self { definition, state: RwLock::new(state) }
    }

    /// What users call it.
    pub fn name(&self) -> &BaseName {
        &self.definition.name
    }

    /// How its system takes what is added, where the operator says so.
    pub fn profile(&self) -> Option<DeliveryProfile> {
        self.definition.profile
    }

    /// What the operator configured.
    pub fn definition(&self) -> &BaseDefinition {
        &self.definition
    }

    /// Whether it can be used at the moment.
    pub fn state(&self) -> BaseState {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The open base, where it can be used at the moment.
    pub fn available(&self) -> Option<Arc<OpenBase>> {
        match self.state() {
            BaseState::Available(open) => Some(open),
            BaseState::Unavailable { .. } => None,
        }
    }

    pub(super) fn set_state(&self, state: BaseState) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
