//! The text of a module's file to its [`Model`], with every mistake and its place.
//!
//! Reading never stops at the first mistake. What is in [`Model`] leads somewhere: names of fields,
//! settings and types exist, pointers fit the schema, templates hold only what their place can give.

mod credential;
mod follow;
mod kind;
mod names;
mod request;
mod schema;
mod scope;
mod shape;
mod table;

use http::{HeaderName, Method};
use lf_module::{FieldType, module::Setting};
use serde_json::{Map, Value as Json};
use toml::de::DeTable;

use crate::{
    model::{Limits, Model},
    pointer::Pointer,
    problem::{Problem, Problems},
    template::Template,
};
use scope::Scope;
use table::{At, Table};

/// The largest file that is read.
const MAX_BYTES: usize = 1 << 20;

/// Reads a file. The model is there only if nothing is wrong.
pub(crate) fn read(text: &str) -> (Option<Model>, Vec<Problem>) {
    let mut problems = Problems::default();
    if text.len() > MAX_BYTES {
        problems.error(&(0..0), "a module's file is at most 1 MiB");
        return (None, problems.sorted());
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let message = error.message().trim_end_matches('.').to_owned();
        problems.error(&error.span().unwrap_or(0..0), message);
    }
    if problems.has_errors() {
        return (None, problems.sorted());
    }
    let model = model(Table::new("the file", 0..0, root.get_ref()), &mut problems);
    let usable = !problems.has_errors();
    (usable.then_some(model), problems.sorted())
}

fn model(mut root: Table<'_>, problems: &mut Problems) -> Model {
    let doc = root.text("doc", problems).map(|doc| doc.value).unwrap_or_default();
    let mut model = Model { doc, ..Model::default() };
    model.settings = settings(&mut root, problems);
    let settings: Vec<&str> = model.settings.iter().map(|setting| setting.name.as_str()).collect();
    let scope = Scope::settings(&settings);
    model.credentials = credential::read(&mut root, problems);
    model.credential_optional = root.flag("credential_optional", problems).unwrap_or_default();
    model.base_url = base_url(&mut root, &scope, problems);
    let elsewhere = settings.contains(&"url")
        || model.credentials.iter().any(|signed| signed.kind.fields.iter().any(|field| field.name == "url"));
    model.headers = headers(&mut root, &scope, problems);
    if let Some(mut verify) = root.table("verify", problems) {
        model.verify = request::request(&mut verify, &[Method::GET, Method::POST], &scope, problems);
        verify.finish(problems);
    }
    if let Some(mut error) = root.table("error", problems) {
        model.error_message = pointer(error.text("message", problems), problems);
        model.error_field = pointer(error.text("field", problems), problems);
        error.finish(problems);
    }
    model.limits = limits(&mut root, problems);
    let definitions: Map<String, Json> = root
        .entries("defs", problems)
        .into_iter()
        .map(|(name, node)| (name.value.to_owned(), table::json(node, problems)))
        .collect();
    model.types = kind::read_all(&mut root, &definitions, &settings, problems);
    let span = root.span.clone();
    root.finish(problems);
    // Whatever else is wrong may be why.
    if model.base_url.is_none() && !elsewhere && !problems.has_errors() {
        let help = "write `base_url = \"https://…\"`, or give a credential or a setting a field `url`";
        problems.error_with(&span, "the file does not say where the system is", help);
    }
    model
}

fn base_url(root: &mut Table<'_>, scope: &Scope<'_>, problems: &mut Problems) -> Option<Template> {
    let text = root.text("base_url", problems)?;
    let absolute = ["http://", "https://"].iter().any(|scheme| text.value.starts_with(scheme));
    if !absolute || text.value.contains(['?', '#']) {
        let help = "for example `https://crm.example.com/api`, without a query";
        problems.error_with(&text.span, "`base_url` is an absolute URL that starts with `https://` or `http://`", help);
        return None;
    }
    scope.template(&text, problems)
}

fn settings(root: &mut Table<'_>, problems: &mut Problems) -> Vec<Setting> {
    let mut settings = Vec::new();
    for (name, node) in root.entries("setting", problems) {
        let Some(mut table) = table::table(node, &format!("`[setting.{}]`", name.value), problems) else { continue };
        let ty = match table.text("type", problems) {
            None => FieldType::Text,
            Some(ty) => match ty.value.as_str() {
                "text" => FieldType::Text,
                "number" => FieldType::Number,
                "boolean" => FieldType::Boolean,
                other => {
                    let message = format!("a setting cannot be of type `{other}`");
                    problems.unknown(&ty.span, message, other, ["text", "number", "boolean"].into_iter());
                    FieldType::Text
                }
            },
        };
        let doc = table.text("doc", problems).map(|doc| doc.value).unwrap_or_default();
        table.finish(problems);
        settings.push(Setting { name: name.value.into(), ty, doc });
    }
    settings
}

fn limits(root: &mut Table<'_>, problems: &mut Problems) -> Limits {
    let mut limits = Limits::default();
    if let Some(mut table) = root.table("limits", problems) {
        for (key, limit, most) in [
            ("pages", &mut limits.pages, 1_000_000),
            ("records", &mut limits.records, 100_000_000),
            ("bytes", &mut limits.bytes, 256 << 20),
            ("seconds", &mut limits.seconds, 600),
        ] {
            let Some(number) = table.whole(key, problems) else { continue };
            if number.value == 0 || number.value > most {
                problems.error(&number.span, format!("`{key}` is a number from 1 to {most}"));
            }
            *limit = number.value;
        }
        table.finish(problems);
    }
    limits
}

/// The `headers` of a table.
fn headers(table: &mut Table<'_>, scope: &Scope<'_>, problems: &mut Problems) -> Vec<(HeaderName, Template)> {
    let what = format!("`headers` of {}", table.name);
    let mut headers = Vec::new();
    for (name, node) in table.entries("headers", problems) {
        let header = header_name(&At { value: name.value.to_owned(), span: name.span.clone() }, problems);
        let text = table::text(node, &what, problems);
        if let (Some(header), Some(text)) = (header, text)
            && let Some(template) = scope.template(&text, problems)
        {
            headers.push((header, template));
        }
    }
    headers
}

fn header_name(name: &At<String>, problems: &mut Problems) -> Option<HeaderName> {
    let header = HeaderName::try_from(name.value.as_str()).ok();
    if header.is_none() {
        problems.error(&name.span, format!("`{}` is not the name of a header", name.value));
    }
    // The transport says these itself; a second one would change where the message ends.
    let taken = ["host", "content-length", "transfer-encoding", "connection"];
    if header.as_ref().is_some_and(|header| taken.contains(&header.as_str())) {
        problems.error(&name.span, format!("the header `{}` cannot be set by a module", name.value));
    }
    header
}

fn pointer(text: Option<At<String>>, problems: &mut Problems) -> Option<Pointer> {
    let text = text?;
    let pointer = Pointer::parse(&text.value);
    if pointer.is_none() {
        let help = format!("write `/{}`", text.value.replace('.', "/"));
        problems.error_with(&text.span, format!("`{}` is not a JSON Pointer, which starts with `/`", text.value), help);
    }
    pointer
}
