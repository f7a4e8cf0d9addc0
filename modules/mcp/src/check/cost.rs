//! What checking a value against a schema can cost at worst.
//!
//! References and alternatives multiply: eighteen lines of schema can keep a validator busy for a minute,
//! and a server writes both the schema and the value that is checked. So the steps are counted first, as
//! if every branch were tried, and a check that would take too many is not made.

use lf_module::Value;

use crate::schema::pointer;

/// The most steps of one check.
const STEPS: usize = 20_000;

type Step<'a> = (&'a Value, &'a Value);

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
        for keyword in ["$ref", "$dynamicRef"] {
            if let Some(reference) = schema.field(keyword).and_then(Value::as_text) {
                // Where it leads by other means than a pointer, nobody here knows the cost.
                self.add(pointer::resolve(self.root, reference)?, value)?;
            }
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            if let Some(Value::List(branches)) = schema.field(keyword) {
                branches.iter().try_for_each(|branch| self.add(branch, value))?;
            }
        }
        for keyword in ["not", "if", "then", "else"] {
            schema.field(keyword).map_or(Some(()), |branch| self.add(branch, value))?;
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            if let Some(Value::Record(branches)) = schema.field(keyword) {
                branches.iter().try_for_each(|(_, branch)| self.add(branch, value))?;
            }
        }
        if let Value::Record(record) = value {
            record.iter().try_for_each(|(name, child)| self.property(schema, name, child))?;
        }
        if let Value::List(items) = value {
            items.iter().enumerate().try_for_each(|(at, item)| self.item(schema, at, item))?;
        }
        Some(())
    }

    fn property(&mut self, schema: &'a Value, name: &str, child: &'a Value) -> Option<()> {
        if let Some(property) = schema.field("properties").and_then(|properties| properties.field(name)) {
            self.add(property, child)?;
        }
        if let Some(Value::Record(patterns)) = schema.field("patternProperties") {
            patterns.iter().try_for_each(|(_, pattern)| self.add(pattern, child))?;
        }
        for keyword in ["additionalProperties", "unevaluatedProperties", "propertyNames"] {
            schema.field(keyword).map_or(Some(()), |rest| self.add(rest, child))?;
        }
        Some(())
    }

    fn item(&mut self, schema: &'a Value, at: usize, item: &'a Value) -> Option<()> {
        for keyword in ["items", "prefixItems"] {
            match schema.field(keyword) {
                Some(Value::List(places)) => places.get(at).map_or(Some(()), |place| self.add(place, item))?,
                Some(every) => self.add(every, item)?,
                None => {}
            }
        }
        for keyword in ["additionalItems", "unevaluatedItems", "contains"] {
            schema.field(keyword).map_or(Some(()), |rest| self.add(rest, item))?;
        }
        Some(())
    }
}
