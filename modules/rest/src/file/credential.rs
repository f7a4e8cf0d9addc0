//! `[credential.KIND]`: what is asked for, and how it signs a request.

use lf_module::{CredentialKind, module::CredentialField};

use super::{
    header_name,
    scope::Scope,
    table::{self, At, Node, Table},
};
use crate::{
    model::{Sign, Signed},
    problem::Problems,
    template::Template,
};

pub(super) fn read(root: &mut Table<'_>, problems: &mut Problems) -> Vec<Signed> {
    let entries = root.entries("credential", problems);
    entries.into_iter().filter_map(|(name, node)| one(&name, node, problems)).collect()
}

fn one(name: &At<&str>, node: &Node<'_>, problems: &mut Problems) -> Option<Signed> {
    let mut table = table::table(node, &format!("`[credential.{}]`", name.value), problems)?;
    let doc = table.text("doc", problems).map(|doc| doc.value).unwrap_or_default();
    let fields: Vec<CredentialField> =
        table.entries("fields", problems).into_iter().filter_map(|(name, node)| field(&name, node, problems)).collect();
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    let scope = Scope::default().with_fields(&names);
    let sign = match table.node("sign") {
        Some(node) => table::table(node, "`sign`", problems).and_then(|table| sign(table, &scope, problems)),
        None => {
            let help = "for example `sign = { bearer = \"{token}\" }`";
            problems.error_with(&name.span, format!("{} needs `sign`", table.name), help);
            None
        }
    };
    table.finish(problems);
    let kind = CredentialKind { name: name.value.into(), doc, fields, refusal: None, signs_in: false };
    Some(Signed { kind, sign: sign? })
}

fn field(name: &At<&str>, node: &Node<'_>, problems: &mut Problems) -> Option<CredentialField> {
    let mut table = table::table(node, &format!("the field `{}`", name.value), problems)?;
    let doc = table.text("doc", problems).map_or_else(|| name.value.to_owned(), |doc| doc.value);
    let secret = table.flag("secret", problems).unwrap_or(true);
    let required = table.flag("required", problems).unwrap_or(true);
    table.finish(problems);
    Some(CredentialField { name: name.value.into(), doc, secret, required })
}

fn sign(mut table: Table<'_>, scope: &Scope<'_>, problems: &mut Problems) -> Option<Sign> {
    let span = table.span.clone();
    let bearer = table.text("bearer", problems);
    let header = table.text("header", problems);
    let query = table.text("query", problems);
    let value = table.text("value", problems);
    let basic = table.node("basic").map(|node| pair(node, scope, problems));
    if !table.finish(problems) {
        return None;
    }
    let needs_value = |problems: &mut Problems| {
        let Some(value) = &value else {
            problems.error(&span, "`sign` needs a `value`, for example `value = \"{key}\"`");
            return None;
        };
        scope.template(value, problems)
    };
    match (bearer, header, query, basic) {
        (Some(token), None, None, None) => scope.template(&token, problems).map(Sign::Bearer),
        (None, Some(name), None, None) => {
            let (name, value) = (header_name(&name, problems), needs_value(problems));
            Some(Sign::Header(name?, value?))
        }
        (None, None, Some(name), None) => Some(Sign::Query(name.value, needs_value(problems)?)),
        (None, None, None, Some(pair)) => pair.map(|(user, password)| Sign::Basic(user, password)),
        _ => {
            problems.error(&span, "`sign` is one of `bearer`, `header` with `value`, `basic`, `query` with `value`");
            None
        }
    }
}

fn pair(node: &Node<'_>, scope: &Scope<'_>, problems: &mut Problems) -> Option<(Template, Template)> {
    let items = node.get_ref().as_array().map(|items| items.iter().collect::<Vec<_>>()).unwrap_or_default();
    let [user, password] = items.as_slice() else {
        problems.error(&node.span(), "`basic` is a list of two: `[\"{user}\", \"{password}\"]`");
        return None;
    };
    let mut part = |node: &Node<'_>| {
        let text = table::text(node, "`basic`", problems)?;
        scope.template(&text, problems)
    };
    let (user, password) = (part(user), part(password));
    Some((user?, password?))
}
