//! Which names a template may place, by where it stands.

use crate::{problem::Problems, template::Template};

use super::table::At;

/// The names that have a value in one place.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope<'a> {
    settings: &'a [&'a str],
    fields: &'a [&'a str],
    key: bool,
    to: bool,
    whole: bool,
}

impl<'a> Scope<'a> {
    /// `{setting.NAME}` alone.
    pub(super) fn settings(settings: &'a [&'a str]) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Also `{key}`.
    pub(super) fn with_key(self) -> Self {
        Self { key: true, ..self }
    }

    /// Also `{to}`, the key of the record at the other end of an edge.
    pub(super) fn with_to(self) -> Self {
        Self { to: true, ..self }
    }

    /// Also these fields.
    pub(super) fn with_fields(self, fields: &'a [&'a str]) -> Self {
        Self { fields, ..self }
    }

    /// Also `{fields}`, in a body.
    pub(super) fn in_body(&self) -> Self {
        Self { whole: true, ..self.clone() }
    }

    /// Reads a template and checks its names.
    pub(super) fn template(&self, text: &At<String>, problems: &mut Problems) -> Option<Template> {
        let template = match Template::parse(&text.value) {
            Ok(template) => template,
            Err(why) => {
                problems.error(&text.span, why);
                return None;
            }
        };
        for name in template.names() {
            let known = match name.strip_prefix("setting.") {
                Some(setting) => self.settings.contains(&setting),
                None => {
                    (name == "key" && self.key)
                        || (name == "to" && self.to)
                        || (name == "fields" && self.whole && template.only().is_some())
                        || self.fields.contains(&name)
                }
            };
            if name == "fields" && self.whole && !known {
                let help = "write `\"{fields}\"`, or place single fields";
                problems.error_with(&text.span, "`{fields}` is an object, so it stands alone in its text", help);
            } else if !known {
                problems.unknown(
                    &text.span,
                    format!("`{{{name}}}` is nothing that can be placed here"),
                    name,
                    self.names().iter().map(String::as_str),
                );
            }
        }
        Some(template)
    }

    fn names(&self) -> Vec<String> {
        let key = self.key.then(|| "key".to_owned());
        let to = self.to.then(|| "to".to_owned());
        let whole = self.whole.then(|| "fields".to_owned());
        let fields = self.fields.iter().map(|&field| field.to_owned());
        let settings = self.settings.iter().map(|setting| format!("setting.{setting}"));
        key.into_iter().chain(to).chain(fields).chain(whole).chain(settings).collect()
    }
}
