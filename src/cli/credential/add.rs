//! `credential add`: its fields from `--set`, from JSON on standard input, or asked for on a terminal; tried, then
//! sealed.

use clap::Args;
use indexmap::IndexMap;
use lf_module::{Credential, CredentialKind, Secret};
use smol_str::SmolStr;

use super::{super::input, test};
use crate::{
    cli::{
        exit::{Exit, Failure},
        shell::Shell,
        sign_in::Browser,
    },
    host::load,
    project::{
        credentials::{kind_of, misfit, unknown},
        lock::Lock,
    },
};

/// Seal a credential of a module. It is tried against its system first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  listen-fire credential add --module @lf/mcp linear --credential mcp_token\n  \
                        listen-fire credential add --module @lf/mcp linear --credential mcp_token \\\n      \
                        --set url=https://mcp.example.com/mcp --set token=@env:TOKEN\n  \
                        listen-fire credential add --module '#acme_crm' acme --credential token < acme.json")]
pub(super) struct Arguments {
    /// The name that `connect … using` gives it
    name: String,
    /// The module whose systems it opens
    #[arg(long, value_name = "MODULE")]
    module: String,
    /// Its kind, as the module names it
    #[arg(long, value_name = "KIND")]
    credential: Option<String>,
    /// A field: `field=value`, `field=@env:NAME`, `field=@file:PATH`
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
    /// Seal it untried
    #[arg(long)]
    no_verify: bool,
    /// Print the address to sign in at instead of opening a browser, and wait there
    #[arg(long)]
    no_browser: bool,
    /// The port of this machine that a browser comes back to, where the app was set up with one
    #[arg(long, value_name = "PORT")]
    callback_port: Option<u16>,
}

pub(super) async fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let name = valid_name(&arguments.name)?;
    let mut opened = shell.look().await?;
    opened.whole_modules()?;
    let module = super::module(&opened, arguments.module.trim_matches('`'))?.clone();
    let manifest = module.manifest();
    let kind = match (&arguments.credential, manifest.credentials.as_slice()) {
        (Some(name), _) => kind_of(manifest, name).map_err(Failure::usage)?,
        (None, [only]) => only,
        (None, kinds) => {
            let names: Vec<_> = kinds.iter().map(|kind| format!("`--credential {}`", kind.name)).collect();
            let failure = Failure::usage(format!("`{}` has several kinds of credential", manifest.name));
            return Err(failure.help(format!("say which with {}", names.join(" or "))));
        }
    };
    if let Some(refusal) = &kind.refusal {
        return Err(Failure::usage(refusal.clone()));
    }
    let before = opened.store.get(&name).await?;
    if let Some(other) = before.as_ref().filter(|before| before.module != manifest.name) {
        let failure = Failure::new(Exit::NotSo, format!("`{name}` is a credential of `{}` already", other.module));
        return Err(failure.help(format!("choose another name, or `listen-fire credential remove {name}` first")));
    }
    let fields = fields(&arguments.set, kind, shell)?;
    if let Some(why) = misfit(kind, &fields) {
        return Err(Failure::usage(format!("the credential {why}")).help(input::WAYS));
    }
    let mut credential = Credential { name: name.clone(), kind: kind.name.clone(), fields };
    let sealed_before = before.is_some();
    if kind.signs_in {
        let person = Browser::new(shell, &opened.connector.clock, arguments.no_browser, arguments.callback_port)?;
        let signed = test::sign_in(&opened, module.as_ref(), credential, person, !arguments.no_verify).await;
        credential = signed.map_err(|why| test::failed(&name, &why).help("nothing was stored"))?;
    } else if arguments.no_verify {
        shell.output.note("it is sealed untried");
    } else {
        shell.output.progress("trying it …");
        let tried = test::attempt(&opened, module.as_ref(), credential.clone(), None).await;
        shell.output.progress("");
        tried.map_err(|why| test::failed(&name, &why).help("nothing was stored; `--no-verify` seals it untried"))?;
    }
    drop(opened);
    let opened = shell.open().await?;
    let mut sealed = opened.connector.credentials.seal(&manifest.name, &credential)?;
    if !arguments.no_verify {
        sealed.works = Some(true);
        sealed.last_used = Some(lf_module::Clock::now(opened.connector.clock.as_ref()));
    }
    opened.store.put(&sealed).await?;
    // A runner that waits for this goes on at once.
    let locked = Lock::read(&opened.project).unwrap_or_default().connections;
    let keys = locked.into_iter().filter(|(_, locked)| locked.using.as_ref() == Some(&name)).map(|(key, _)| key);
    for key in keys.chain([load::bare(&manifest.name, Some(&name)).key]) {
        opened.connector.holds.mended(key.as_str()).await;
    }
    let done = if sealed_before { "replaced" } else { "added" };
    let json =
        serde_json::json!({ "name": name, "module": manifest.name, "kind": kind.name, "replaced": sealed_before });
    shell.output.done(&format!("{done} `{name}` ({} of `{}`)", kind.name, manifest.name), &json);
    Ok(Exit::Done)
}

/// The fields that were given; on a terminal, those that are missing are asked for.
fn fields(set: &[String], kind: &CredentialKind, shell: &Shell) -> Result<IndexMap<SmolStr, Secret>, Failure> {
    let mut fields = IndexMap::new();
    for given in set {
        let (field, value) = input::setting(given, shell)?;
        if !given.contains("=@") && kind.fields.iter().any(|known| known.name == field && known.secret) {
            shell.output.note(&format!(
                "a secret on the command line can be seen by others; `--set {field}=@env:NAME` keeps it out"
            ));
        }
        if let Some(why) = unknown(kind, &field) {
            return Err(Failure::usage(format!("the credential {why}")));
        }
        if fields.insert(field.clone(), value).is_some() {
            return Err(Failure::usage(format!("`{field}` is set twice")));
        }
    }
    let missing: Vec<_> = kind.fields.iter().filter(|field| !fields.contains_key(&field.name)).collect();
    if shell.environment.stdin {
        for field in missing {
            if let Some(value) = input::ask(field)? {
                fields.insert(field.name.clone(), value);
            }
        }
    } else if missing.iter().any(|field| field.required) {
        for (field, value) in input::json(kind)? {
            fields.entry(field).or_insert(value);
        }
    }
    Ok(fields)
}

fn valid_name(name: &str) -> Result<SmolStr, Failure> {
    let name = name.trim().trim_matches('`');
    if name.is_empty() || name.chars().count() > 100 || name.chars().any(|letter| letter.is_control() || letter == '`')
    {
        let failure = Failure::usage("the name of a credential is one to 100 characters without backticks");
        return Err(failure.help("a word such as `linear` needs no quoting in a movement"));
    }
    Ok(name.into())
}
