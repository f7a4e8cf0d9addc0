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

    // names
    MOV_NAME_AMBIGUOUS              Error       Files "1";
    MOV_NAME_DUPLICATE              Error       Files "1";
    MOV_NAME_NOT_VALUE              Error       Files "1";
    MOV_NAME_SHADOWED               Error       Files "1";
    MOV_NAME_UNKNOWN                Error       Files "1";
    MOV_NAME_USE_BEFORE_BIND        Error       Files "1";

    // imports between files
    MOV_IMPORT_CYCLE                Error       Files "1";
    MOV_IMPORT_NAME                 Error       Files "1";
    MOV_IMPORT_NOT_FOUND            Error       Files "1";

    // connections and settings
    MOV_CONNECTION_REFUSED          Error       Files "1";
    MOV_CONNECTION_UNREACHABLE      Error       Files "1";
    MOV_CREDENTIAL_MISSING          Error       Files "1";
    MOV_CREDENTIAL_UNEXPECTED       Error       Files "1";
    MOV_CREDENTIAL_UNKNOWN          Error       Files "1";
    MOV_CREDENTIAL_WRONG_MODULE     Error       Files "1";
    MOV_MODULE_NOT_INSTALLED        Error       Files "1";
    MOV_MODULE_UNKNOWN              Error       Files "1";
    MOV_SETTING_LITERAL             Error       Files "1";
    MOV_SETTING_TWICE               Error       Files "1";
    MOV_SETTING_TYPE                Error       Files "1";
    MOV_SETTING_UNKNOWN             Error       Files "1";
    MOV_SETTING_VALUE               Error       Files "1";

    // types
    MOV_TYPE_CHOICE_TWICE           Error       Files "1";
    MOV_TYPE_CYCLE                  Error       Files "1";
    MOV_TYPE_LARGE                  Error       Files "1";
    MOV_TYPE_POSITION               Error       Files "1";
    MOV_TYPE_UNION                  Error       Files "1";
    MOV_TYPE_UNKNOWN                Error       Files "1";

    // fields, expressions and conditions
    MOV_ABSENT                      Error       Files "1";
    MOV_ARITHMETIC                  Error       Files "1";
    MOV_AS_NOT_JSON                 Error       Files "1";
    MOV_AS_TYPE                     Error       Files "1";
    MOV_CHOICE_UNKNOWN              Error       Files "1";
    MOV_COMPARE_KINDS               Error       Files "1";
    MOV_COMPARE_ORDER               Error       Files "1";
    MOV_CONDITION_BOOLEAN           Error       Files "1";
    MOV_CONDITION_FIXED             Warning     Files "1";
    MOV_FIELD_TWICE                 Error       Files "1";
    MOV_FIELD_UNKNOWN               Error       Files "1";
    MOV_FIELD_WRITE_ONLY            Error       Files "1";
    MOV_FILE_OPAQUE                 Error       Files "1";
    MOV_IF_TYPES                    Error       Files "1";
    MOV_JSON_OPAQUE                 Error       Files "1";
    MOV_LIST_MIXED                  Error       Files "1";
    MOV_READ_PLACE                  Error       Files "1";
    MOV_RECORD_NOT_VALUE            Error       Files "1";
    MOV_SPREAD                      Error       Files "1";

    // calls and functions
    MOV_BUILTIN_ARGUMENT            Error       Files "1";
    MOV_BUILTIN_ARGUMENTS           Error       Files "1";
    MOV_BUILTIN_LITERAL             Error       Files "1";
    MOV_BUILTIN_UNKNOWN             Error       Files "1";
    MOV_CALL_ARGUMENTS              Error       Files "1";
    MOV_CALL_ARGUMENT_TYPE          Error       Files "1";
    MOV_CALL_ARGUMENT_UNKNOWN       Error       Files "1";
    MOV_CALL_MIXED                  Error       Files "1";
    MOV_CALL_NOT_FUNCTION           Error       Files "1";
    MOV_CALL_NO_VALUE               Error       Files "1";
    MOV_CALL_PLACE                  Error       Files "1";
    MOV_CLOSURE_PARAMS              Error       Files "1";
    MOV_CLOSURE_PLACE               Error       Files "1";
    MOV_CONSTANT_CYCLE              Error       Files "1";
    MOV_NO_EFFECT                   Error       Files "1";
    MOV_RETURN_MISSING              Error       Files "1";
    MOV_RETURN_TYPE                 Error       Files "1";
    MOV_RETURN_UNDECLARED           Error       Files "1";
    MOV_RETURN_VALUE                Error       Files "1";
    MOV_UNREACHABLE                 Warning     Files "1";

    // walks
    MOV_EDGE_UNKNOWN                Error       Files "1";
    MOV_HOP_FILTER_LOCAL            Information Files "1";
    MOV_HOP_NOT_READABLE            Error       Files "1";
    MOV_HOP_NOT_RECORD              Error       Files "1";
    MOV_HOP_PIN_FORM                Error       Files "1";
    MOV_HOP_PIN_REQUIRED            Error       Files "1";
    MOV_LIMIT_NEEDS_ORDER           Error       Files "1";
    MOV_LIMIT_ZERO                  Error       Files "1";

    // writes
    MOV_LINK_NOT_LINKABLE           Error       Files "1";
    MOV_LINK_TARGET                 Error       Files "1";
    MOV_DELETE_NOT_DELETABLE        Error       Files "1";
    MOV_UNIQUE_FIELD_MISSING        Error       Files "1";
    MOV_UNIQUE_NOT_FINDABLE         Error       Files "1";
    MOV_UNIQUE_UPDATE               Error       Files "1";
    MOV_WRITE_FIELD_MISSING         Error       Files "1";
    MOV_WRITE_FIELD_MODE            Error       Files "1";
    MOV_WRITE_FIELD_READ_ONLY       Error       Files "1";
    MOV_WRITE_FIELD_TWICE           Error       Files "1";
    MOV_WRITE_FIELD_TYPE            Error       Files "1";
    MOV_WRITE_NOT_WRITABLE          Error       Files "1";
    MOV_WRITE_NO_CLEAR              Error       Files "1";
    MOV_WRITE_NO_UPDATE             Error       Files "1";
    MOV_WRITE_SPREAD                Error       Files "1";
    MOV_WRITE_TARGET                Error       Files "1";

    // listens
    MOV_LISTEN_CYCLE                Warning     Files "1";
    MOV_LISTEN_FUNCTION             Error       Files "1";
    MOV_LISTEN_NOT_LISTENABLE       Error       Files "1";
    MOV_LISTEN_PARAM                Error       Files "1";
    MOV_LISTEN_PATH                 Error       Files "1";
    MOV_LISTEN_TWICE                Error       Files "1";

    // tests
    MOV_TEST_ANSWER                 Error       Files "1";
    MOV_TEST_BEFORE                 Error       Files "1";
    MOV_TEST_EFFECT                 Error       Files "1";
    MOV_TEST_FAILED                 Error       World "1";
    MOV_TEST_FILE                   Error       Files "1";
    MOV_TEST_FAILS                  Error       Files "1";
    MOV_TEST_FIRES_NOTHING          Warning     Files "1";
    MOV_TEST_NEVER                  Error       Files "1";
    MOV_TEST_PATH                   Error       Files "1";
    MOV_TEST_TIME                   Error       Files "1";
    MOV_TEST_TWICE                  Error       Files "1";
    MOV_TEST_WHERE                  Error       Files "1";

    // waits
    MOV_AWAIT_ARMS                  Error       Files "1";
    MOV_AWAIT_FORM                  Error       Files "1";
    MOV_AWAIT_LENGTH                Error       Files "1";
    MOV_AWAIT_PLACE                 Error       Files "1";

    // the rest
    MOV_UNUSED                      Warning     Files "1";

    // the project's own files
    MOV_PROJECT                     Error       World "1";
    MOV_MODULE_FILE                 Error       World "1";
}

/// The row of a code written by a person, in whatever case.
#[must_use]
pub fn find(code: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.code.as_str().eq_ignore_ascii_case(code.trim()))
}
