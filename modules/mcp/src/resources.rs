//! A server's resources as types: `resource`, found by its URI, and one type for each template, found by the
//! template's variables. Reading is here; listening is [`crate::source`]'s.

use indexmap::IndexMap;
use lf_module::{
    Call, CallError, FieldType, File, Key, Landed, Record, TypeShape, Value,
    schema::{Count, Field, How, Listening, Pin},
};
use smol_str::SmolStr;

use crate::{
    client::{Ask, Client},
    era::Era,
    files,
    listed::Said,
    message,
    template::Template,
    text::{self, clean},
    tools::writable_name,
};

/// The type of all resources.
pub(crate) const RESOURCE: &str = "resource";
const URI: &str = "uri";
/// The fields of every resource, in order.
const FIELDS: [(&str, FieldType, bool, &str); 6] = [
    (URI, FieldType::Text, false, "where it is"),
    ("name", FieldType::Text, true, "what the server calls it"),
    ("mime_type", FieldType::Text, true, "what sort of content it is"),
    ("text", FieldType::Text, false, "the text of its parts, joined by new lines"),
    ("content", FieldType::Json, false, "every part of it, without bytes"),
    ("file", FieldType::File, true, "its own bytes"),
];
/// JSON-RPC: there is no such resource, in the two generations.
const UNKNOWN: i64 = -32002;
const UNKNOWN_MODERN: i64 = -32602;

/// A type of resources.
#[derive(Debug, Clone)]
pub(crate) struct ResourceType {
    name: SmolStr,
    doc: Option<String>,
    /// How a URI is made of the pins; `None` where the URI is a pin itself.
    template: Option<Template>,
    /// What sort of content all of them are, if the server says so.
    mime_type: Option<Value>,
    listenable: bool,
}

pub(crate) type ResourceTypes = IndexMap<SmolStr, ResourceType>;

/// The types of a server with resources. `taken`: a tool of that name goes before it.
pub(crate) fn types(
    templates: &[Value],
    listenable: bool,
    taken: impl Fn(&str) -> bool,
    warnings: &mut Vec<String>,
) -> ResourceTypes {
    let mut all = ResourceTypes::new();
    let doc = Some("what the server has at a URI".to_owned());
    let whole = ResourceType { name: RESOURCE.into(), doc, template: None, mime_type: None, listenable };
    if taken(RESOURCE) {
        warnings.push(format!("a tool is called `{RESOURCE}`, so resources cannot be read by their URI"));
    } else {
        all.insert(whole.name.clone(), whole);
    }
    for entry in templates {
        let text = |key: &str| entry.field(key).and_then(Value::as_text);
        let name = text("name").unwrap_or_default();
        let read = match text("uriTemplate") {
            _ if !writable_name(name) => Err("a movement cannot write such a name"),
            _ if taken(name) => Err("a tool has the name"),
            _ if all.contains_key(name) => Err("another resource has the name"),
            Some(template) => Template::read(template),
            None => Err("it has no `uriTemplate`"),
        };
        match read {
            Ok(template) => {
                let doc = text("description").or_else(|| text("title")).map(|doc| clean(doc, text::DOC));
                let name = SmolStr::from(name);
                let (template, mime_type) = (Some(template), text("mimeType").map(Value::text));
                all.insert(name.clone(), ResourceType { name, doc, template, mime_type, listenable });
            }
            Err(why) => {
                warnings.push(format!("the template `{}` of resources was left out: {why}", clean(name, 128)));
            }
        }
    }
    all
}

/// What the server says of its resources, if it has any: whether they can be subscribed to.
pub(crate) fn offered(capabilities: Option<&Value>) -> Option<bool> {
    let resources = capabilities.and_then(|all| all.field("resources")).filter(|it| !it.is_absent())?;
    Some(resources.field("subscribe") == Some(&Value::Bool(true)))
}

impl ResourceType {
    /// The pins, and whether each has to be there.
    fn pins(&self) -> Vec<(SmolStr, bool)> {
        match &self.template {
            None => vec![(SmolStr::new_static(URI), true)],
            Some(template) => template.variables(),
        }
    }

    pub(crate) fn shape(&self) -> TypeShape {
        let pins = self.pins();
        let variables = pins.iter().filter(|(name, _)| self.template.is_some() || name != URI);
        let variable = |(name, needed): &(SmolStr, bool)| Field {
            optional: !needed,
            doc: Some("a part of its URI".to_owned()),
            ..Field::readable(name.clone(), FieldType::Text)
        };
        let mut fields: Vec<Field> = variables.map(variable).collect();
        for (name, ty, optional, doc) in FIELDS {
            if fields.iter().all(|field| field.name != name) {
                fields.push(Field { optional, doc: Some(doc.to_owned()), ..Field::readable(name, ty) });
            }
        }
        let pins: Vec<Pin> = pins.into_iter().map(|(field, required)| Pin { field, required }).collect();
        let listening = || Listening { how: How::Push, deletions: false, every: None, pins: pins.clone() };
        TypeShape {
            name: self.name.clone(),
            doc: self.doc.clone(),
            key: Some(URI.into()).filter(|_| !self.hides(URI)),
            count: Count::Optional,
            listenable: self.listenable.then(listening),
            fields,
            pins,
            readable: true,
            ..TypeShape::default()
        }
    }

    /// Whether a variable has the name, so that the field of that name holds the variable.
    fn hides(&self, field: &str) -> bool {
        self.template.as_ref().is_some_and(|template| template.variables().iter().any(|(name, _)| name == field))
    }

    /// The URI that is meant by `pins`.
    pub(crate) fn uri(&self, pins: &Record) -> Result<SmolStr, CallError> {
        for (name, needed) in self.pins() {
            let fits =
                matches!((pins.get(&name), needed), (Some(Value::Text(_)), _) | (None | Some(Value::Absent), false));
            if !fits {
                let message = format!("`{}` is found by a text in `{name}`", self.name);
                return Err(CallError { field: Some(name.to_string()), ..CallError::refused(message) });
            }
        }
        Ok(match &self.template {
            None => pins.get(URI).and_then(Value::as_text).unwrap_or_default().into(),
            Some(template) => template.fill(pins).into(),
        })
    }

    /// The record of what is at `uri`. What its parts do not say of it, the server's lists say.
    pub(crate) fn record(
        &self,
        connection: &str,
        uri: &SmolStr,
        pins: &Record,
        contents: &Value,
        said: &Said,
    ) -> Landed {
        let parts = if let Value::List(parts) = contents { parts.as_slice() } else { &[] };
        let first = |key: &str| parts.iter().find_map(|part| part.field(key)).filter(|it| it.as_text().is_some());
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.field("text").and_then(Value::as_text)).collect();
        let mut fields: Record = pins.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let mime_type = first("mimeType").or(said.mime_type.as_ref()).or(self.mime_type.as_ref());
        let file = files::of(connection, uri, contents).map(|file| {
            let media_type = file.media_type.clone().or_else(|| mime_type.and_then(Value::as_text).map(Into::into));
            Value::file(File { media_type, ..file })
        });
        let own = [
            (URI, Some(Value::Text(uri.clone()))),
            ("name", first("name").or(said.name.as_ref()).cloned()),
            ("mime_type", mime_type.cloned()),
            ("text", Some(Value::text(texts.join("\n")))),
            ("content", Some(files::without_bytes(contents))),
            ("file", file),
        ];
        for (name, value) in own {
            if let Some(value) = value.filter(|_| !self.hides(name)) {
                fields.set(name, value);
            }
        }
        let key = (!self.hides(URI)).then(|| Key(uri.clone()));
        Landed { key, version: None, fields }
    }
}

/// Reads what is at `uri`: its contents; `None` if there is nothing.
pub(crate) async fn read(client: &Client, uri: &str, call: &Call) -> Result<Option<Value>, CallError> {
    let params = format!(r#"{{"uri":{}}}"#, message::quoted(uri));
    let what = format!("resources/read {}", clean(uri, 128));
    let ask = Ask { what: &what, name: Some(uri), ..Ask::plain("resources/read", &params) };
    let reply = client.request(ask, call).await?;
    match reply.answer {
        Ok(answer) => match answer.field("contents") {
            Some(contents @ Value::List(_)) => Ok(Some(contents.clone())),
            Some(_) | None => Err(CallError::refused(format!(
                "`{what}`: the server broke the protocol: its answer has no list of contents"
            ))),
        },
        Err(error) => {
            let modern = client.session(call).await?.era == Era::Modern;
            if error.code == UNKNOWN || modern && error.code == UNKNOWN_MODERN {
                return Ok(None);
            }
            let message = format!("`{what}`: the server refused it: {} (error {})", error.message, error.code);
            let error = CallError { status: Some(error.code), attempts: reply.attempts, ..CallError::refused(message) };
            Err(client.discreet(error))
        }
    }
}
