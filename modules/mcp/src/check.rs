//! Values against a tool's raw schema, before they are sent and after they came.
//!
//! The one file that knows the JSON Schema library. A schema that does not compile checks nothing: the
//! server knows best, and says so. References to elsewhere do not compile, so none is fetched. A schema is compiled when
//! a value is first checked against it: of thousands of tools a movement calls a few.

mod cost;
mod instance;
mod sure;

use std::{collections::HashSet, fmt, sync::OnceLock};

use jsonschema::{Validator, error::ValidationErrorKind};
use lf_module::Value;
use smol_str::SmolStr;

use self::instance::Values;
use crate::text::{self, clean};

/// A schema that is compiled when first needed.
pub(crate) struct Checker {
    schema: Value,
    /// Why it cannot be.
    unusable: Option<String>,
    compiled: OnceLock<Option<Compiled>>,
}

struct Compiled {
    validator: Validator<Values>,
    /// No value takes more steps than it has parts.
    linear: bool,
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
    /// `patterns`: those that were found good, in this schema and in others.
    pub(crate) fn new(schema: Value, patterns: &mut Patterns) -> Self {
        let unusable = if sure::compiles(&schema, patterns) { None } else { compile(&schema).err() };
        Self { schema, unusable, compiled: OnceLock::new() }
    }

    /// Why the schema cannot be used, if it cannot.
    pub(crate) fn unusable(&self) -> Option<&str> {
        self.unusable.as_deref()
    }

    /// The first thing in `value` that the schema does not allow.
    pub(crate) fn misfit(&self, value: &Value) -> Option<Misfit> {
        let Compiled { validator, linear } = self.compiled()?;
        if !linear && !cost::affordable(&self.schema, value) {
            tracing::debug!("{}: a value is not checked, since its schema would take too long", crate::NAME);
            return None;
        }
        if !instance::in_range(value) || validator.is_valid(value) {
            return None;
        }
        let error = validator.iter_errors(value).next()?;
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

    fn compiled(&self) -> Option<&Compiled> {
        let compiled = self.compiled.get_or_init(|| {
            if self.unusable.is_some() {
                return None;
            }
            let validator = compile(&self.schema).inspect_err(|why| tracing::debug!("{}: {why}", crate::NAME)).ok()?;
            Some(Compiled { validator, linear: cost::linear(&self.schema) })
        });
        compiled.as_ref()
    }
}

fn compile(schema: &Value) -> Result<Validator<Values>, String> {
    let schema = instance::general(schema).ok_or("it holds a number that is out of range")?;
    // Formats stay annotations: servers use names that nobody else knows.
    let options = jsonschema::options_for::<Values>().offline().should_validate_formats(false);
    options.build(&schema).map_err(|error| clean(&error.to_string(), text::MESSAGE))
}

/// The regular expressions that are known to be some: the schemas of one server have few of them, again and again.
#[derive(Debug, Default)]
pub(crate) struct Patterns(HashSet<SmolStr>);

impl Patterns {
    fn has(&mut self, text: &str) -> bool {
        let is = |text| jsonschema::options().offline().build(&serde_json::json!({"pattern": text})).is_ok();
        self.0.contains(text) || (is(text) && self.0.insert(text.into()))
    }
}

#[cfg(test)]
mod tests;
