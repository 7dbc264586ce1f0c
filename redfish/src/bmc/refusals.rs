//! Tells which refusals are about one resource of a BMC.

use http::StatusCode;

use crate::RedfishError;

pub(super) fn cannot_be_read(path: &str, error: &RedfishError) -> String {
    format!("{path} cannot be read: {error}")
}

/// Whether the BMC may answer requests for other resources although it refused this one.
pub(super) fn is_about_one_resource(error: &RedfishError) -> bool {
    error.status().is_some_and(|status| matches!(status.as_u16(), 400 | 404 | 405 | 410 | 500 | 501))
}

/// Whether the BMC answered with a status other than success, and does not refuse the login.
pub(super) fn is_answer(error: &RedfishError) -> bool {
    error.status().is_some_and(|status| status != StatusCode::UNAUTHORIZED)
}
