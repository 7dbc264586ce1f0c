//! Calls the nmstate crate, and turns its errors into findings. No other code calls it.

mod attempt;
mod diagnosis;
mod hints;
mod locate;
mod refusal;

use serde_yaml::Value;

use self::attempt::generate;
use self::diagnosis::Diagnosis;
use self::locate::Attempts;
use self::refusal::report_one;
use super::parts::Bad;
use super::profiles::Profile;
use vocabulary::report::{DocumentPath, Report};

/// Returns the profiles that nmstate makes of a document, or findings that say why it makes none.
///
/// nmstate's errors carry no position, and it stops at the first. So every interface, route and rule is shown to it by
/// itself; what is wrong only between them is found by leaving parts of the document out: where a part is missing and the
/// error with it, there it is. `values` is how many values the document holds.
pub(crate) fn convert(
    document: &Value,
    values: usize,
    path: &DocumentPath,
    report: &mut Report,
) -> Option<Vec<Profile>> {
    let refusal = match generate(document) {
        Ok(files) => return Some(files.into_iter().map(Profile::read).collect()),
        Err(refusal) => refusal,
    };
    let before = report.findings().len();
    let mut attempts = Attempts::for_document(values);
    Diagnosis::of(document, path, &mut attempts).report_all(Bad::default(), report);
    if report.findings().len() == before {
        report_one(document, &refusal, path, &mut attempts, report);
    }
    None
}

/// Reports nmstate's errors about the parts of a document that have no errors yet.
pub(super) fn diagnose(document: &Value, values: usize, bad: Bad, path: &DocumentPath, report: &mut Report) {
    let mut attempts = Attempts::for_document(values);
    Diagnosis::of(document, path, &mut attempts).report_all(bad, report);
}
