//! `connect … using …`: module, credential and settings are known, and the system could be described.

use std::collections::BTreeMap;

use lf_module::value::Value;
use smol_str::SmolStr;

use super::{
    catalog::{ConnectionKey, Described, ModuleFacts},
    context::{Context, Symbol},
    index::Meaning,
    literals, typed,
};
use crate::{
    diag::{Diagnostic, codes, suggest},
    source::Span,
    syntax::ast::{self, Item},
    types::ConnectionId,
};

/// A connection that files ask for, to be described.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectRequest {
    pub key: ConnectionKey,
    pub module: SmolStr,
    pub using: Option<SmolStr>,
    pub settings: BTreeMap<SmolStr, Value>,
    /// Of the first `connect` of it.
    pub span: Span,
}

/// Every distinct connection of the files, once, in the order of the text. A `connect` whose settings are no
/// literals is left out: a check reports it.
#[must_use]
pub fn connections(files: &[ast::File]) -> Vec<ConnectRequest> {
    let mut found = indexmap::IndexMap::new();
    for item in files.iter().flat_map(|file| &file.items) {
        let Item::Connection(item) = item else { continue };
        let Some(settings) = literal_settings(item) else { continue };
        let request = request(item, settings);
        found.entry(request.key.clone()).or_insert(request);
    }
    found.into_values().collect()
}

fn literal_settings(item: &ast::Connection) -> Option<BTreeMap<SmolStr, Value>> {
    item.settings.iter().map(|setting| Some((setting.name.text.clone(), literals::literal(&setting.value)?))).collect()
}

fn request(item: &ast::Connection, settings: BTreeMap<SmolStr, Value>) -> ConnectRequest {
    let module = item.module.text.clone();
    let using = item.using.as_ref().map(|using| using.text.clone());
    let key = ConnectionKey::new(&module, using.as_deref(), &settings);
    ConnectRequest { key, module, using, settings, span: item.span }
}

/// Resolves one `connect` to a connection that is described.
pub(super) fn connect(cx: &mut Context<'_>, item: &ast::Connection) -> Symbol {
    let catalog = cx.catalog;
    let module = &item.module;
    cx.offer_modules(module.span);
    cx.notes.mention(module.span, Meaning::Module);
    if let Some(using) = &item.using {
        cx.offer_credentials(using.span, &module.text);
        if catalog.credentials.contains_key(&using.text) {
            cx.notes.mention(using.span, Meaning::Credential);
        }
    }
    let Some(facts) = catalog.modules.get(&module.text) else {
        cx.report(module_unknown(cx, module));
        return Symbol::Failed;
    };
    if facts.not_installed {
        cx.report(
            Diagnostic::error(
                codes::MOV_MODULE_NOT_INSTALLED,
                module.span,
                format!("the module `{}` is not installed in this project", module.text),
            )
            .help(format!("install it with `listen-fire connect {}`", module.text)),
        );
        return Symbol::Failed;
    }
    let credential = credential_fits(cx, item, facts);
    let whose = format!("`{}`", module.text);
    let settings = literals::settings(cx, &whose, &item.settings, &facts.settings);
    if !credential || settings.len() != item.settings.len() {
        return Symbol::Failed;
    }
    let settings = settings.into_iter().map(|(name, given)| (name, given.value)).collect();
    described(cx, item, request(item, settings))
}

fn described(cx: &mut Context<'_>, item: &ast::Connection, request: ConnectRequest) -> Symbol {
    let catalog = cx.catalog;
    let (refused, why, offline) = match catalog.connections.get(&request.key) {
        Some(Described::Yes(description)) => {
            if let Some(known) = cx.connections.iter().position(|connection| connection.key == request.key) {
                return Symbol::Connection(ConnectionId(u32::try_from(known).unwrap_or(u32::MAX)));
            }
            let id = cx.graph.add(item.name.text.clone(), description);
            let ConnectRequest { key, module, using, settings, span } = request;
            let name = item.name.text.clone();
            cx.connections.push(typed::Connection { key, name, module, using, settings, span });
            return Symbol::Connection(id);
        }
        Some(Described::No { refused, why, offline }) => (*refused, why.as_str(), offline.as_deref()),
        None => (false, "nothing is known of it here", None),
    };
    let module_to = item.using.as_ref().map_or(item.module.span, |using| item.module.span.to(using.span));
    let report = if refused {
        Diagnostic::error(
            codes::MOV_CONNECTION_REFUSED,
            module_to,
            format!("the system behind `{}` refused to describe itself", item.name.text),
        )
    } else {
        Diagnostic::error(
            codes::MOV_CONNECTION_UNREACHABLE,
            module_to,
            format!("the system behind `{}` could not be described", item.name.text),
        )
    };
    let report = report.label(why);
    let report = match offline {
        Some(offline) => report.help(format!("`--offline` would use {offline}")),
        None if refused => match &item.using {
            Some(using) => report.help(format!("try its credential with `listen-fire credential test {}`", using.text)),
            None => report,
        },
        None => report.help("what uses it is not checked until it can be described"),
    };
    // The same connection in two files is one failure.
    let seen = cx.problems.iter().any(|other| {
        other.code == report.code && other.primary.text == report.primary.text && other.headline == report.headline
    });
    if !seen {
        cx.report(report);
    }
    Symbol::Failed
}

fn module_unknown(cx: &Context<'_>, module: &ast::Name) -> Diagnostic {
    let report =
        Diagnostic::error(codes::MOV_MODULE_UNKNOWN, module.span, format!("there is no module `{}`", module.text));
    let near = suggest::nearest(&module.text, cx.catalog.modules.keys().map(SmolStr::as_str));
    if let Some(near) = near {
        let written = if near.starts_with('@') { format!("`{near}`") } else { near.to_owned() };
        return report.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), module.span, written);
    }
    match module.text.strip_prefix('#') {
        Some(name) => report.label(format!("`modules/{name}.toml` does not declare it")),
        None => report.help("`listen-fire connect --help` names the modules that come with listen-fire"),
    }
}

fn credential_fits(cx: &mut Context<'_>, item: &ast::Connection, facts: &ModuleFacts) -> bool {
    let module = &item.module.text;
    let Some(using) = &item.using else {
        if facts.takes_credential && !facts.credential_optional {
            let report = Diagnostic::error(
                codes::MOV_CREDENTIAL_MISSING,
                item.module.span,
                format!("`{module}` needs a credential"),
            )
            .label("no `using` here");
            let own = own_credentials(cx, module);
            cx.report(match own.as_slice() {
                [] => report.help(format!("add one with `listen-fire credential add --module {module} NAME`")),
                [name] => {
                    let end = Span { start: item.module.span.end, ..item.module.span };
                    let written = written(name);
                    report.fix(format!("write `using {written}`"), end, format!(" using {written}"))
                }
                names => {
                    let names: Vec<_> = names.iter().map(|name| format!("`using {name}`")).collect();
                    report.help(format!("write {}", names.join(" or ")))
                }
            });
            return false;
        }
        return true;
    };
    if !facts.takes_credential {
        cx.report(
            Diagnostic::error(codes::MOV_CREDENTIAL_UNEXPECTED, using.span, format!("`{module}` takes no credential"))
                .fix("leave `using` out", Span { start: item.module.span.end, ..using.span }, ""),
        );
        return false;
    }
    let Some(credential) = cx.catalog.credentials.get(&using.text) else {
        let report = Diagnostic::error(
            codes::MOV_CREDENTIAL_UNKNOWN,
            using.span,
            format!("there is no credential `{}`", using.text),
        );
        let own = own_credentials(cx, module);
        cx.report(match suggest::nearest(&using.text, own.iter().map(SmolStr::as_str)) {
            Some(near) => {
                report.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), using.span, near)
            }
            None => report.help(format!("add it with `listen-fire credential add --module {module} {}`", using.text)),
        });
        return false;
    };
    if credential.module != *module {
        let other = credential.module.clone();
        let report = Diagnostic::error(
            codes::MOV_CREDENTIAL_WRONG_MODULE,
            using.span,
            format!("the credential `{}` belongs to `{other}`, not to `{module}`", using.text),
        )
        .label("opens no other module");
        let own = own_credentials(cx, module);
        cx.report(match own.as_slice() {
            [] => report.help(format!("add one with `listen-fire credential add --module {module} NAME`")),
            [name] => {
                let written = written(name);
                report.fix(format!("write `{written}`"), using.span, written)
            }
            names => {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                report.help(format!("of `{module}` there is {}", names.join(", ")))
            }
        });
        return false;
    }
    true
}

/// A name as it stands in a text.
fn written(name: &str) -> String {
    let plain = name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
        && name.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_');
    if plain { name.to_owned() } else { format!("`{name}`") }
}

fn own_credentials(cx: &Context<'_>, module: &str) -> Vec<SmolStr> {
    let credentials = &cx.catalog.credentials;
    credentials.iter().filter(|(_, facts)| facts.module == module).map(|(name, _)| name.clone()).collect()
}
