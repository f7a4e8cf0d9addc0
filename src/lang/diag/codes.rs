//! The one table of codes: each is declared once, with its severity, the edition that brought it, and its page.
//!
//! To add a code: a row here, a page `codes/<CODE>.md` (a `wrong` and a `right` example, both run as tests), a case
//! in `tests/corpus` whose marker names it. A code has one meaning and is never reused.

use super::{Code, Severity};

/// Who can raise a code, so that the tests know where to look for its cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raised {
    /// Reading or checking files: the page's examples and a corpus case show it.
    Files,
    /// A system, the project's folder, a run, or sheer size; no text that fits a page can show it.
    World,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub code: Code,
    /// What it is reported as, unless the reporter says otherwise.
    pub severity: Severity,
    /// The edition that brought it.
    pub since: &'static str,
    pub raised: Raised,
    /// The page that `listen-fire explain` prints.
    pub page: &'static str,
}

macro_rules! codes {
    ($($name:ident $severity:ident $raised:ident $since:literal;)*) => {
        $(pub const $name: Code = Code(stringify!($name));)*

        /// Every code, in the order of declaration.
        pub const ALL: &[Entry] = &[$(Entry {
            code: $name,
            severity: Severity::$severity,
            since: $since,
            raised: Raised::$raised,
            page: include_str!(concat!("codes/", stringify!($name), ".md")),
        },)*];
    };
}

codes! {
    // reading the text
    MOV_PARSE_UNEXPECTED            Error       Files "1";
    MOV_PARSE_UNCLOSED              Error       Files "1";
    MOV_PARSE_TEXT_UNCLOSED         Error       Files "1";
    MOV_PARSE_CHARACTER             Error       Files "1";
    MOV_PARSE_ESCAPE                Error       Files "1";
    MOV_PARSE_INTERPOLATION_EMPTY   Error       Files "1";
    MOV_PARSE_NUMBER                Error       Files "1";
    MOV_PARSE_CHAIN                 Error       Files "1";
    MOV_PARSE_HABIT                 Error       Files "1";
    MOV_PARSE_TOO_DEEP              Error       Files "1";
    MOV_PARSE_TOO_LARGE             Error       World "1";
    MOV_NOT_BUILT                   Error       Files "1";

    // the project's own files
    MOV_PROJECT                     Error       World "1";
    MOV_MODULE_FILE                 Error       World "1";
}

/// The row of a code written by a person, in whatever case.
#[must_use]
pub fn find(code: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.code.as_str().eq_ignore_ascii_case(code.trim()))
}
