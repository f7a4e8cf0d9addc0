//! `connect MODULE`: install a module in the project.

use clap::Args;
use lf_lang::diag::suggest;
use serde_json::json;

use super::{
    exit::{Exit, Failure},
    shell::Shell,
    unbuilt,
};
use crate::project::{
    edit::{self, Edit},
    file::{BUNDLED, quoted},
};

/// Install a module in the project, once. A second time changes only what is given.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  listen-fire connect @lf/mcp\n  listen-fire connect @lf/mcp --yes   (asks nothing)"
)]
pub(super) struct Arguments {
    /// The module: `@lf/mcp`
    module: String,
    /// Set no OAuth app up, and do not ask
    #[arg(long, short)]
    yes: bool,
    /// The authorization endpoint of an OAuth app (not built yet)
    #[arg(long, value_name = "URL")]
    oauth_authorize_url: Option<String>,
    /// The token endpoint of an OAuth app (not built yet)
    #[arg(long, value_name = "URL")]
    oauth_token_url: Option<String>,
    /// The app's id (not built yet)
    #[arg(long, value_name = "ID")]
    oauth_client_id: Option<String>,
    /// The app's secret (not built yet)
    #[arg(long, value_name = "@env:NAME")]
    oauth_client_secret: Option<String>,
    /// What the app asks for (not built yet)
    #[arg(long, value_name = "SCOPE")]
    oauth_scope: Option<String>,
    /// Find the endpoints at the server (not built yet)
    #[arg(long)]
    oauth_discover: bool,
}

pub(super) fn run(arguments: &Arguments, shell: &Shell) -> Result<Exit, Failure> {
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
    if arguments.oauth() {
        return Err(no_app(module));
    }
    let installed = project.file.modules.contains(module);
    if !arguments.yes && !installed && shell.confirm("set up an OAuth app (a token needs none)?", "--yes")? {
        return Err(no_app(module));
    }
    let changed = edit::install(&project, module)? == Edit::Changed;
    if shell.output.json {
        shell.output.json(&json!({ "module": module, "changed": changed }));
    } else if changed {
        shell.output.line(&format!("installed `{module}`"));
        shell.output.note(&format!("next: listen-fire credential add --module {module} NAME --credential mcp_token"));
    } else {
        shell.output.line(&format!("`{module}` is installed already"));
    }
    Ok(Exit::Done)
}

impl Arguments {
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

fn no_app(module: &str) -> Failure {
    unbuilt::refused("setting an OAuth app up").help(format!(
        "`listen-fire connect {module} --yes` installs the module without one; `mcp_token` credentials need none"
    ))
}
