//! What a person asked for that does not fit the program: what is wrong, and the ways out.

use lf_lang::diag::suggest;

/// Why it does not fit, in one line, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    pub why: String,
    pub help: Vec<String>,
}

impl Unfit {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), help: Vec::new() }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// The nearest name that would have fitted.
    pub(super) fn near<'n>(self, wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Self {
        match suggest::nearest(wrong, names) {
            Some(near) => self.help(format!("did you mean `{near}`?")),
            None => self,
        }
    }
}
