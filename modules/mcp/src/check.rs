//! Values against a tool's raw schema, before they are sent and after they came.
//!
//! The one file that knows the JSON Schema library. A schema that does not compile checks nothing: the
//! server knows best, and says so. References to elsewhere do not compile, so none is fetched.

mod cost;

use std::{fmt, sync::OnceLock};

use jsonschema::{Validator, error::ValidationErrorKind};
use lf_module::{Value, json};

use crate::text::{self, clean};

/// A schema that is compiled when first needed.
pub(crate) struct Checker {
    schema: Value,
    compiled: OnceLock<Result<Validator, String>>,
}

/// What does not fit, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// The top-level property that it is about, if it is about one.
    pub(crate) property: Option<String>,
    /// What is wrong, in one sentence with its place.
    pub(crate) why: String,
}

impl fmt::Debug for Checker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Checker").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Checker {
    pub(crate) fn new(schema: Value) -> Self {
        Self { schema, compiled: OnceLock::new() }
    }

    /// Why the schema cannot be used, if it cannot.
    pub(crate) fn unusable(&self) -> Option<&str> {
        self.compiled().as_ref().err().map(String::as_str)
    }

    /// The first thing in `value` that the schema does not allow.
    pub(crate) fn misfit(&self, value: &Value) -> Option<Misfit> {
        let validator = self.compiled().as_ref().ok()?;
        if !cost::affordable(&self.schema, value) {
            tracing::debug!("{}: a value is not checked, since its schema would take too long", crate::NAME);
            return None;
        }
        // A number beyond the library's range cannot be checked here; its digits are sent as they are.
        let value = general(value)?;
        let error = validator.iter_errors(&value).next()?;
        let place = error.instance_path().as_str();
        let property = if !place.is_empty() {
            place.split('/').nth(1).map(|step| step.replace("~1", "/").replace("~0", "~"))
        } else if let ValidationErrorKind::Required { property } = error.kind() {
            property.as_str().map(str::to_owned)
        } else if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() {
            unexpected.first().cloned()
        } else {
            None
        };
        let place = if place.is_empty() { String::new() } else { format!("at `{}`: ", clean(place, 200)) };
        Some(Misfit { property, why: format!("{place}{}", clean(&error.to_string(), text::MESSAGE)) })
    }

    fn compiled(&self) -> &Result<Validator, String> {
        self.compiled.get_or_init(|| {
            let schema = general(&self.schema).ok_or("it holds a number that is out of range")?;
            // Formats stay annotations: servers use names that nobody else knows.
            let options = jsonschema::options().offline().should_validate_formats(false);
            options.build(&schema).map_err(|error| clean(&error.to_string(), text::MESSAGE))
        })
    }
}

/// The value as the library's own type.
fn general(value: &Value) -> Option<serde_json::Value> {
    serde_json::from_str(&json::plain(value)).ok()
}

#[cfg(test)]
mod tests;
