//! A server's tools: read from its list one by one, so that a bad one costs only itself.

use std::sync::OnceLock;

use lf_module::{
    FieldType, TypeShape, Value,
    schema::{Count, Field, Pin},
};
use smol_str::SmolStr;

use crate::{
    check::{Checker, Patterns},
    era::Era,
    param_headers::{self, ParamHeader},
    schema::{self, Properties, Property, Warnings},
    text::{self, clean},
};

/// The field that takes all arguments at once, where the tool's input cannot be read.
pub(crate) const WHOLE: &str = "arguments";

/// One tool.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: SmolStr,
    doc: Option<String>,
    /// The server marks it as reading only.
    pub(crate) read_only: bool,
    pub(crate) arguments: Arguments,
    /// The arguments that also go as headers.
    pub(crate) headers: Vec<ParamHeader>,
    /// Checks the arguments; `None` if there is no schema that could.
    pub(crate) input: Option<Checker>,
    /// What the answer holds beside its parts; `None` without an output schema.
    pub(crate) output: Option<Output>,
    /// Why it can be neither read nor written.
    pub(crate) unusable: Option<String>,
    /// What is looked for in an answer, put together for the first one.
    expected: OnceLock<Vec<Expected>>,
}

/// A field of the answer.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) name: SmolStr,
    pub(crate) ty: FieldType,
    /// The server's schema promises it.
    pub(crate) promised: bool,
}

/// Which tools are taken to change things although their server says that they only read. The other way round there is
/// nothing: a wrong claim to read only would have a change made twice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caution {
    /// All of them.
    pub(crate) all: bool,
    /// These.
    pub(crate) tools: Vec<SmolStr>,
}

impl Caution {
    fn holds(&self, name: &str) -> bool {
        self.all || self.tools.iter().any(|tool| tool == name)
    }
}

/// How a tool takes its arguments.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// By name.
    Named(Properties),
    /// As one JSON object: its schema could not be understood.
    Whole,
}

/// What an output schema says.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) properties: Properties,
    pub(crate) checker: Checker,
}

impl Tool {
    /// Reads one entry of a list. What is wrong with it goes to `said`; `None` if not even its name is right.
    pub(crate) fn read(
        entry: &Value,
        era: Era,
        caution: &Caution,
        patterns: &mut Patterns,
        said: &mut Vec<String>,
    ) -> Option<Self> {
        let Some(name) = entry.field("name").and_then(Value::as_text) else {
            said.push("a tool without a name was left out".to_owned());
            return None;
        };
        let mut warnings = Warnings { tool: name, said };
        if !writable_name(name) {
            warnings.at("/name", "a movement cannot write such a name; the tool was left out");
            return None;
        }
        let headers = match (era, entry.field("inputSchema").map(param_headers::declared)) {
            (Era::Modern, Some(Ok(headers))) => headers,
            (Era::Modern, Some(Err(why))) => {
                warnings.at("/inputSchema", &format!("{why}; such a tool may not be offered and was left out"));
                return None;
            }
            (Era::Legacy, _) | (Era::Modern, None) => Vec::new(),
        };
        let arguments = arguments(entry, &mut warnings);
        let input = entry.field("inputSchema").filter(|schema| matches!(schema, Value::Record(_)));
        let input = input.map(|schema| Checker::new(schema.clone(), patterns));
        if let Some(why) = input.as_ref().and_then(Checker::unusable) {
            warnings.at("/inputSchema", &format!("arguments are not checked before they are sent: {why}"));
        }
        let output = output(entry, patterns, &mut warnings);
        let tasks = entry.field("execution").and_then(|execution| execution.field("taskSupport"));
        let unusable = (tasks.and_then(Value::as_text) == Some("required"))
            .then(|| "its server runs it only as a task, which is not built".to_owned());
        Some(Self {
            name: name.into(),
            doc: description(entry),
            read_only: read_only(entry) && !caution.holds(name),
            arguments,
            headers,
            input,
            output,
            unusable,
            expected: OnceLock::new(),
        })
    }

    /// Whether an argument is called `name`: then the answer's field of that name is left out.
    fn names(&self, name: &str) -> bool {
        match &self.arguments {
            Arguments::Named(properties) => properties.contains_key(name),
            Arguments::Whole => name == WHOLE,
        }
    }

    /// What its arguments are called.
    pub(crate) fn argument_names(&self) -> Vec<&str> {
        match &self.arguments {
            Arguments::Named(properties) => properties.keys().map(SmolStr::as_str).collect(),
            Arguments::Whole => vec![WHOLE],
        }
    }

    /// What is looked for in an answer, in order.
    pub(crate) fn expected(&self) -> &[Expected] {
        let expected = |(name, Property { ty, required, nullable, base64: _, doc: _ })| Expected {
            name,
            ty,
            promised: required && !nullable,
        };
        self.expected.get_or_init(|| self.answer_fields().into_iter().map(expected).collect())
    }

    /// The fields of the answer that the tool's type has: their names, what is known of their types, in order.
    fn answer_fields(&self) -> Vec<(SmolStr, Property)> {
        let present =
            |ty, doc: &str| Property { ty, required: true, nullable: false, base64: false, doc: Some(doc.to_owned()) };
        let mut fields = vec![
            (SmolStr::new_static("text"), present(FieldType::Text, "the answer's text parts, joined by new lines")),
            (SmolStr::new_static("content"), present(FieldType::Json, "every part of the answer")),
        ];
        if let Some(output) = &self.output {
            fields.push((SmolStr::new_static("structured"), present(FieldType::Json, "the whole structured answer")));
            // A property with the name of one of those above is still found inside `structured`.
            let fixed = ["text", "content", "structured"];
            let own = output.properties.iter().filter(|(name, _)| !fixed.contains(&name.as_str()));
            fields.extend(own.map(|(name, property)| (name.clone(), property.clone())));
        }
        fields.retain(|(name, _)| !self.names(name) && writable_name(name));
        fields
    }

    /// The tool as a type of its connection. `strict`: what an answer may lack is typed as such.
    pub(crate) fn shape(&self, strict: bool) -> TypeShape {
        let usable = self.unusable.is_none();
        let mut fields = Vec::new();
        let mut pins = Vec::new();
        let whole = Property { ty: FieldType::Json, required: false, nullable: false, base64: false, doc: None };
        let whole = Properties::from_iter([(SmolStr::new_static(WHOLE), whole)]);
        let arguments = match &self.arguments {
            Arguments::Named(properties) => properties,
            Arguments::Whole => &whole,
        };
        for (name, property) in arguments {
            fields.push(Field {
                name: name.clone(),
                ty: property.ty.clone(),
                doc: property.doc.clone(),
                // A read answers a record that holds its arguments; those not given are not in it.
                readable: self.read_only,
                optional: self.read_only && !property.required,
                writable: !self.read_only,
                required: !self.read_only && property.required,
                doubtful: false,
                clearable: false,
                takes_file: !self.read_only && property.base64,
            });
            if self.read_only {
                pins.push(Pin { field: name.clone(), required: property.required });
            }
        }
        for (name, property) in self.answer_fields() {
            let doubtful = !property.required || property.nullable;
            fields.push(Field {
                name,
                ty: property.ty,
                doc: property.doc,
                readable: true,
                optional: doubtful && strict,
                doubtful: doubtful && !strict,
                writable: false,
                required: false,
                clearable: false,
                takes_file: false,
            });
        }
        TypeShape {
            name: self.name.clone(),
            doc: self.doc.clone(),
            fields,
            count: Count::One,
            pins,
            readable: usable && self.read_only,
            writable: usable && !self.read_only,
            unusable: self.unusable.clone(),
            ..TypeShape::default()
        }
    }
}

/// Only the literal `true` is a claim to read only, and any sign of destruction outweighs it: a wrong
/// claim would have a change made twice.
fn read_only(entry: &Value) -> bool {
    let hint = |name| entry.field("annotations").and_then(|hints| hints.field(name));
    let destructive = !matches!(hint("destructiveHint"), None | Some(Value::Absent | Value::Bool(false)));
    hint("readOnlyHint") == Some(&Value::Bool(true)) && !destructive
}

fn description(entry: &Value) -> Option<String> {
    let title = || entry.field("annotations").and_then(|hints| hints.field("title"));
    let text = ["description", "title"].into_iter().find_map(|key| entry.field(key)?.as_text());
    let text = text.or_else(|| title()?.as_text())?;
    Some(clean(text, text::DOC)).filter(|doc| !doc.is_empty())
}

/// Whether a name can stand between backticks.
pub(crate) fn writable_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(|character| character == '`' || character.is_control())
}

fn arguments(entry: &Value, warnings: &mut Warnings<'_>) -> Arguments {
    let at = "/inputSchema";
    let schema = entry.field("inputSchema").filter(|schema| !schema.is_absent());
    let found = match schema {
        Some(schema) => schema::properties(schema, at, warnings),
        None => Err("there is none"),
    };
    let mut properties = match found {
        Ok(properties) => properties,
        Err(why) => {
            warnings.at(at, &format!("{why}; all arguments are given at once, as json, in `{WHOLE}`"));
            return Arguments::Whole;
        }
    };
    if properties.iter().any(|(name, property)| property.required && !writable_name(name)) {
        warnings.at(at, &format!("it requires a name that a movement cannot write; use `{WHOLE}` for all arguments"));
        return Arguments::Whole;
    }
    properties.retain(|name, _| {
        let possible = writable_name(name);
        if !possible {
            warnings.at(at, "a movement cannot write one of its names, which was left out");
        }
        possible
    });
    Arguments::Named(properties)
}

fn output(entry: &Value, patterns: &mut Patterns, warnings: &mut Warnings<'_>) -> Option<Output> {
    let at = "/outputSchema";
    let schema = entry.field("outputSchema").filter(|schema| !schema.is_absent())?;
    let checker = Checker::new(schema.clone(), patterns);
    if let Some(why) = checker.unusable() {
        warnings.at(at, &format!("it cannot be used and was left out: {why}"));
        return None;
    }
    // A list or a single value is no object: it is found in `structured` only.
    let properties = schema::properties(schema, at, warnings).unwrap_or_default();
    Some(Output { properties, checker })
}
