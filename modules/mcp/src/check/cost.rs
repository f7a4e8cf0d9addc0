//! What checking a value against a schema can cost at worst.
//!
//! References and alternatives multiply: eighteen lines of schema can keep a validator busy for a minute,
//! and a server writes both the schema and the value that is checked. So the steps are counted first, as
//! if every branch were tried, and a check that would take too many is not made. Where nothing multiplies, no value has
//! more steps than parts, and nothing is counted.

use lf_module::Value;

use crate::schema::pointer;

/// The most steps of one check.
const STEPS: usize = 20_000;

/// What has more than one schema apply to one value.
const MULTIPLYING: [&str; 18] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "patternProperties",
    "contains",
    "unevaluatedItems",
    "unevaluatedProperties",
    "propertyNames",
    "additionalItems",
];

type Step<'a> = (&'a Value, &'a Value);

/// Whether nothing in `schema` multiplies. A property of such a name counts as if it did.
pub(super) fn linear(schema: &Value) -> bool {
    match schema {
        Value::Record(record) => {
            record.iter().all(|(name, inner)| !MULTIPLYING.contains(&name.as_str()) && linear(inner))
        }
        Value::List(items) => items.iter().all(linear),
        Value::Absent
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::Duration(_)
        | Value::Position(_)
        | Value::File(_) => true,
    }
}

/// Whether checking `value` against `root` stays within the bound.
pub(super) fn affordable(root: &Value, value: &Value) -> bool {
    let mut steps = Steps { root, left: STEPS, todo: Vec::new() };
    // A list of its own, not the call stack: a reference may lead to itself.
    let mut next: Option<Step<'_>> = Some((root, value));
    while let Some((schema, value)) = next {
        if steps.expand(schema, value).is_none() {
            return false;
        }
        next = steps.todo.pop();
    }
    true
}

struct Steps<'a> {
    root: &'a Value,
    left: usize,
    todo: Vec<Step<'a>>,
}

impl<'a> Steps<'a> {
    /// `None` when there are too many.
    fn add(&mut self, schema: &'a Value, value: &'a Value) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        self.todo.push((schema, value));
        Some(())
    }

    fn expand(&mut self, schema: &'a Value, value: &'a Value) -> Option<()> {
        let Value::Record(keywords) = schema else { return Some(()) };
        keywords.iter().try_for_each(|(keyword, inner)| self.keyword(keyword, inner, value))
    }

    fn keyword(&mut self, keyword: &str, inner: &'a Value, value: &'a Value) -> Option<()> {
        match (keyword, inner, value) {
            ("$ref" | "$dynamicRef", Value::Text(reference), _) => {
                // Where it leads by other means than a pointer, nobody here knows the cost.
                self.add(pointer::resolve(self.root, reference)?, value)
            }
            ("allOf" | "anyOf" | "oneOf", Value::List(branches), _) => {
                branches.iter().try_for_each(|branch| self.add(branch, value))
            }
            ("not" | "if" | "then" | "else", branch, _) => self.add(branch, value),
            ("dependentSchemas" | "dependencies", Value::Record(branches), _) => {
                branches.iter().try_for_each(|(_, branch)| self.add(branch, value))
            }
            ("properties", Value::Record(properties), Value::Record(record)) => record
                .iter()
                .filter_map(|(name, child)| Some((properties.get(name)?, child)))
                .try_for_each(|(property, child)| self.add(property, child)),
            ("patternProperties", Value::Record(patterns), Value::Record(record)) => record
                .iter()
                .try_for_each(|(_, child)| patterns.iter().try_for_each(|(_, pattern)| self.add(pattern, child))),
            ("additionalProperties" | "unevaluatedProperties" | "propertyNames", rest, Value::Record(record)) => {
                record.iter().try_for_each(|(_, child)| self.add(rest, child))
            }
            ("items" | "prefixItems", Value::List(places), Value::List(items)) => {
                places.iter().zip(items.iter()).try_for_each(|(place, item)| self.add(place, item))
            }
            (
                "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" | "contains",
                every,
                Value::List(items),
            ) => items.iter().try_for_each(|item| self.add(every, item)),
            _ => Some(()),
        }
    }
}
