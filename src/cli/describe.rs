//! `describe CONNECTION [TYPE]`: what a connection offers, as a program sees it.

use clap::Args;
use lf_lang::{check::ConnectRequest, diag::suggest};
use lf_module::{CallError, Kind};
use smol_str::SmolStr;

use super::{
    exit::{Exit, Failure},
    shell::{Opened, Shell},
};
use crate::host::{describe, load};

mod page;

/// Show what a connection offers: its types and fields, what is readable, writable and listenable, and which pins
/// they take.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  listen-fire describe tracker\n  listen-fire describe tracker create_issue\n  \
                        listen-fire describe linear --raw   (what the system itself said)")]
pub(super) struct Arguments {
    /// A connection's name in the movements; or a credential's, or a module's
    connection: String,
    /// One type of it, with every field
    #[arg(value_name = "TYPE")]
    ty: Option<String>,
    /// Show what the system said, as it said it
    #[arg(long, conflicts_with = "ty")]
    raw: bool,
}

pub(super) async fn run(arguments: Arguments, shell: &Shell) -> Result<Exit, Failure> {
    let mut opened = shell.look().await?;
    opened.whole_modules()?;
    let request = find(&opened, arguments.connection.trim_matches('`')).await?;
    let failed = |why: CallError| {
        let exit = if why.kind == Kind::Limit { Exit::Damaged } else { Exit::System };
        Failure::new(exit, format!("`{}` could not be described: {}", request.key, why.message))
    };
    let connection = opened.connector.connect(&request).await.map_err(failed)?;
    let clock = opened.connector.clock.as_ref();
    if arguments.raw {
        let raw = connection.raw(&describe::call(clock)).await.map_err(failed)?;
        shell.output.line(raw.trim_end());
        return Ok(Exit::Done);
    }
    shell.output.progress("asking …");
    let description = describe::one(clock, connection.as_ref()).await;
    shell.output.progress("");
    let description = description.map_err(failed)?;
    let Some(ty) = &arguments.ty else {
        if shell.output.json {
            shell.output.json(&description);
        } else {
            page::connection(&shell.output, request.key.as_str(), &description);
        }
        return Ok(Exit::Done);
    };
    let ty = ty.trim_matches('`');
    let Some(shape) = description.get(ty) else {
        let failure = Failure::usage(format!("`{}` has no type `{ty}`", request.key));
        let near = suggest::nearest(ty, description.types.iter().map(|shape| shape.name.as_str()));
        return Err(match near {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure.help(format!("`listen-fire describe {}` lists them", arguments.connection)),
        });
    };
    if shell.output.json {
        shell.output.json(shape);
    } else {
        page::whole_type(&shell.output, shape);
    }
    Ok(Exit::Done)
}

/// The connection that is meant: of the movements, else of a credential, else of a module that needs none.
async fn find(opened: &Opened, name: &str) -> Result<ConnectRequest, Failure> {
    let registry = &opened.connector.registry;
    let (found, mut names) = match load::named(&opened.project, name) {
        Ok(found) => found,
        // A project without movements still has credentials and modules.
        Err(crate::project::ProjectError::Missing(_)) => Default::default(),
        Err(error) => return Err(error.into()),
    };
    match found.as_slice() {
        [] => {}
        [one] => return Ok(one.clone()),
        many => {
            let keys: Vec<_> = many.iter().map(|one| format!("`{}`", one.key)).collect();
            let failure = Failure::usage(format!("`{name}` is several connections: {}", keys.join(", ")));
            return Err(failure.help("name the credential instead"));
        }
    }
    let sealed = opened.connector.credentials.sealed().await?;
    if let Some(credential) = sealed.iter().find(|credential| credential.name == name) {
        return Ok(load::bare(&credential.module, Some(name)));
    }
    if registry.get(name).is_some() {
        return Ok(load::bare(name, None));
    }
    names.extend(sealed.into_iter().map(|credential| credential.name));
    names.extend(registry.names().map(SmolStr::from));
    let failure = Failure::usage(format!("there is no connection `{name}`"));
    Err(match suggest::nearest(name, names.iter().map(SmolStr::as_str)) {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure.help("name a connection of the movements, a credential or a module"),
    })
}
