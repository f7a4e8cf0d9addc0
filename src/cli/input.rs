//! What a person or a script hands over: values of `--set`, JSON on standard input, answers on a terminal. A question
//! is asked on a terminal only.

use std::io::{Read as _, stdin};

use indexmap::IndexMap;
use lf_module::{CredentialKind, Secret, module::CredentialField};
use smol_str::SmolStr;

use super::{
    environment,
    exit::{Exit, Failure},
    shell::Shell,
};
use crate::project::files;

/// How a field can be given.
pub(super) const WAYS: &str =
    "give fields with `--set field=@env:NAME`, `--set field=@file:PATH`, or as a JSON object on standard input";
/// The most that is read from standard input.
const LARGEST: u64 = 1 << 20;

/// `field=value`, `field=@env:NAME`, `field=@file:PATH`.
pub(super) fn setting(given: &str, shell: &Shell) -> Result<(SmolStr, Secret), Failure> {
    let Some((field, value)) = given.split_once('=').filter(|(field, _)| !field.trim().is_empty()) else {
        // What was meant as a value may be a secret: it is not repeated.
        return Err(Failure::usage("`--set` needs `field=value`"));
    };
    Ok((field.trim().into(), value_of(value, &format!("`{field}`"), shell)?))
}

/// A value as it is, `@env:NAME`, or `@file:PATH`; `what` it is for, for the message.
pub(super) fn value_of(value: &str, what: &str, shell: &Shell) -> Result<Secret, Failure> {
    if let Some(name) = value.strip_prefix("@env:") {
        return environment::variable(name)
            .ok_or_else(|| Failure::usage(format!("the variable `{name}` for {what} is not set")));
    }
    let Some(path) = value.strip_prefix("@file:") else { return Ok(Secret::new(value)) };
    let text = files::read(&shell.absolute(path.as_ref()))
        .map_err(|why| Failure::usage(format!("the file for {what} cannot be read: {why}")))?;
    Ok(Secret::new(text.trim_end_matches(['\n', '\r'])))
}

/// The fields of a credential from a JSON object on standard input, which is no terminal.
pub(super) fn json(kind: &CredentialKind) -> Result<IndexMap<SmolStr, Secret>, Failure> {
    let wrong = |why: &str| Failure::usage(why.to_owned()).help(WAYS);
    let mut text = String::new();
    let read = stdin().lock().take(LARGEST + 1).read_to_string(&mut text);
    let text = Secret::new(text);
    read.map_err(|_| wrong("standard input is no text"))?;
    if text.expose().trim().is_empty() {
        let missing = kind.fields.iter().find(|field| field.required).map_or("", |field| field.name.as_str());
        return Err(wrong(&format!(
            "`{missing}` and the other fields are not given, and standard input is no terminal to ask on"
        )));
    }
    if text.expose().len() as u64 > LARGEST {
        return Err(wrong("standard input is too large"));
    }
    let fields: IndexMap<SmolStr, serde_json::Value> =
        serde_json::from_str(text.expose()).map_err(|_| wrong("standard input is not a JSON object"))?;
    let texts = fields.into_iter().map(|(field, value)| {
        let serde_json::Value::String(value) = value else {
            return Err(wrong(&format!("`{field}` on standard input is not a text")));
        };
        Ok((field, Secret::new(value)))
    });
    texts.collect()
}

/// Asks for a field on the terminal; a secret is typed unseen. Nothing typed is nothing given.
pub(super) fn ask(field: &CredentialField) -> Result<Option<Secret>, Failure> {
    let optional = if field.required { "" } else { " (may be left empty)" };
    let prompt = format!("{} - {}{optional}", field.name, field.doc);
    let value = if field.secret {
        let prompt = dialoguer::Password::new().with_prompt(prompt).allow_empty_password(!field.required);
        prompt.interact()
    } else {
        dialoguer::Input::<String>::new().with_prompt(prompt).allow_empty(!field.required).interact_text()
    };
    let value = value.map_err(|why| Failure::new(Exit::Interrupted, format!("nothing was entered: {why}")))?;
    Ok(Some(Secret::new(value)).filter(|value| !value.expose().is_empty()))
}

impl Shell {
    /// Asks yes or no on the terminal; `no` is the default. Without a terminal it fails, naming the flag.
    pub(super) fn confirm(&self, question: &str, flag: &str) -> Result<bool, Failure> {
        if !self.environment.stdin {
            let failure = Failure::usage("there is a question, and standard input is no terminal to ask it on");
            return Err(failure.help(format!("the question is: {question} `{flag}` answers it with no")));
        }
        let answer = dialoguer::Confirm::new().with_prompt(question).default(false).interact();
        answer.map_err(|why| Failure::new(Exit::Interrupted, format!("nothing was answered: {why}")))
    }
}
