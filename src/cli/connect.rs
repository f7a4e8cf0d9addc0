//! `connect MODULE`: install a module in the project.

use clap::Args;
use lf_lang::diag::suggest;
use lf_module::{Secret, module::CredentialField};
use serde_json::json;

use super::{
    exit::{Exit, Failure},
    input,
    shell::Shell,
};
use crate::project::{
    edit::{self, Edit},
    file::{BUNDLED, OauthSettings, quoted},
    registry,
};

/// Install a module in the project, once. A second time changes only what is given.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  listen-fire connect @lf/mcp\n  listen-fire connect @lf/mcp --yes   (asks nothing)\n  \
                  listen-fire connect @lf/mcp --oauth-authorize-url https://as.example.com/authorize \\\n      \
                  --oauth-token-url https://as.example.com/token --oauth-client-id APP --oauth-client-secret \
                  @env:SECRET\n  listen-fire connect @lf/mcp --oauth-discover"
)]
pub(super) struct Arguments {
    /// The module: `@lf/mcp`
    module: String,
    /// Set no OAuth app up, and do not ask
    #[arg(long, short)]
    yes: bool,
    /// The authorization endpoint of an OAuth app
    #[arg(long, value_name = "URL")]
    oauth_authorize_url: Option<String>,
    /// The token endpoint of an OAuth app
    #[arg(long, value_name = "URL")]
    oauth_token_url: Option<String>,
    /// The app's id; may be the https address of its metadata document
    #[arg(long, value_name = "ID")]
    oauth_client_id: Option<String>,
    /// The app's secret: `@env:NAME` or `@file:PATH`. It is sealed in the project's store
    #[arg(long, value_name = "@env:NAME")]
    oauth_client_secret: Option<String>,
    /// What the app asks for, separated by blanks
    #[arg(long, value_name = "SCOPE")]
    oauth_scope: Option<String>,
    /// Find the endpoints at each server, and register an app there if none is named
    #[arg(long)]
    oauth_discover: bool,
}

pub(super) async fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let module = arguments.module.trim_matches('`');
    let project = shell.project()?;
    if let Some(own) = module.strip_prefix('#') {
        let file = format!("modules/{own}.toml");
        if project.root.join(&file).is_file() {
            shell
                .output
                .note(&format!("`{module}` is this project's own module (`{file}`): there is nothing to install"));
            return Ok(Exit::Done);
        }
        return Err(Failure::usage(format!("there is no `{file}`")).help("a project's own module is that file"));
    }
    if !BUNDLED.contains(&module) {
        let failure = Failure::usage(format!("no module `{module}` comes with listen-fire"));
        return Err(match suggest::nearest(module, BUNDLED.iter().copied()) {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure.help(format!("there is {}", quoted(BUNDLED))),
        });
    }
    let installed = project.file.modules.contains(module);
    let mut app = arguments.oauth().then(|| arguments.app());
    let question = "set up an OAuth app (a token needs none)?";
    if app.is_none() && !arguments.yes && !installed && shell.confirm(question, "--yes")? {
        app = Some(arguments.app());
    }
    let before = project.file.oauth.get(module);
    let mut secret = arguments.oauth_client_secret.as_deref().map(|given| secret(given, shell)).transpose()?;
    if let Some(app) = &mut app {
        complete(app, &mut secret, before, shell)?;
    }
    let mut changed = edit::install(&project, module)? == Edit::Changed;
    if let Some(app) = &app {
        changed |= edit::set_oauth(&project, module, app)? == Edit::Changed;
    }
    if let Some(secret) = secret {
        let opened = shell.open().await?;
        let credentials = &opened.connector.credentials;
        let same = matches!(credentials.app_secret(module).await, Ok(Some(before)) if before == secret);
        if !same {
            credentials.keep_app_secret(module, secret).await?;
            changed = true;
        }
    }
    let kind = if app.is_some() || before.is_some() { "mcp" } else { "mcp_token" };
    if shell.output.json {
        let oauth = app.is_some() || before.is_some();
        shell.output.json(&json!({ "module": module, "changed": changed, "oauth": oauth }));
    } else if changed {
        let text = match (installed, &app) {
            (false, None) => format!("installed `{module}`"),
            (false, Some(_)) => format!("installed `{module}`, with an OAuth app"),
            (true, _) => format!("changed the OAuth app of `{module}`"),
        };
        shell.output.line(&text);
        shell.output.note(&format!("next: listen-fire credential add --module {module} NAME --credential {kind}"));
    } else {
        shell.output.line(&format!("`{module}` is installed already"));
    }
    Ok(Exit::Done)
}

/// The app's secret, as it is to be sealed.
fn secret(given: &str, shell: &Shell) -> Result<Secret, Failure> {
    if !given.starts_with('@') {
        let seen = "a secret on the command line can be seen by others; `--oauth-client-secret @env:NAME` keeps it out";
        shell.output.note(seen);
    }
    let secret = input::value_of(given, "`--oauth-client-secret`", shell)?;
    if secret.expose().trim().is_empty() {
        return Err(Failure::usage("`--oauth-client-secret` is empty"));
    }
    Ok(secret)
}

/// Sees to it that the app is whole together with what was set up before; asks for what is missing, on a terminal.
fn complete(
    app: &mut OauthSettings,
    secret: &mut Option<Secret>,
    before: Option<&OauthSettings>,
    shell: &Shell,
) -> Result<(), Failure> {
    let had = |of: fn(&OauthSettings) -> &Option<String>| before.is_some_and(|before| of(before).is_some());
    let discovers = app.discover || before.is_some_and(|before| before.discover);
    let urls = app.authorize_url.is_some() || app.token_url.is_some();
    let needs_urls = urls || !discovers;
    if needs_urls && app.authorize_url.is_none() && !had(|app| &app.authorize_url) {
        app.authorize_url = Some(asked("--oauth-authorize-url", "the authorization endpoint of the app", shell)?);
    }
    if needs_urls && app.token_url.is_none() && !had(|app| &app.token_url) {
        app.token_url = Some(asked("--oauth-token-url", "the token endpoint of the app", shell)?);
    }
    // Where endpoints are written down, nobody registers an app by itself.
    if needs_urls && app.client_id.is_none() && !had(|app| &app.client_id) {
        app.client_id = Some(asked("--oauth-client-id", "the app's id", shell)?);
        if secret.is_none() && shell.environment.stdin {
            *secret = input::ask(&field("client_secret", "the app's secret", true, false))?;
        }
    }
    for (url, flag) in [(&app.authorize_url, "--oauth-authorize-url"), (&app.token_url, "--oauth-token-url")] {
        if let Some(url) = url {
            registry::check_oauth_address(url, &format!("`{flag}`")).map_err(Failure::usage)?;
        }
    }
    Ok(())
}

fn asked(flag: &str, doc: &str, shell: &Shell) -> Result<String, Failure> {
    if !shell.environment.stdin {
        return Err(Failure::usage(format!("an OAuth app needs `{flag}` ({doc})")));
    }
    let name = flag.trim_start_matches("--oauth-");
    let given = input::ask(&field(name, doc, false, true))?;
    given.map(|given| given.expose().trim().to_owned()).ok_or_else(|| Failure::usage(format!("`{flag}` is empty")))
}

fn field(name: &str, doc: &str, secret: bool, required: bool) -> CredentialField {
    CredentialField { name: name.into(), doc: doc.to_owned(), secret, required }
}

impl Arguments {
    fn app(&self) -> OauthSettings {
        OauthSettings {
            authorize_url: self.oauth_authorize_url.clone(),
            token_url: self.oauth_token_url.clone(),
            client_id: self.oauth_client_id.clone(),
            scope: self.oauth_scope.clone(),
            discover: self.oauth_discover,
        }
    }

    fn oauth(&self) -> bool {
        let given = [
            &self.oauth_authorize_url,
            &self.oauth_token_url,
            &self.oauth_client_id,
            &self.oauth_client_secret,
            &self.oauth_scope,
        ];
        self.oauth_discover || given.iter().any(|given| given.is_some())
    }
}
