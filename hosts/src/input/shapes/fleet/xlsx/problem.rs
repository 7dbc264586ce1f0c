//! Errors in workbooks.

/// An error in a workbook: a sentence whose subject is the file.
pub(super) type Problem = String;
