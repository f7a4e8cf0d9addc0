//! Everything before a runner starts: store, lock, program, and what the store still knows of older programs.

use std::{path::PathBuf, sync::Arc};

use lf_lang::diag::Severity;
use lf_module::Kind;

use super::{Arguments, dry::Copy};
use crate::{
    cli::{
        check,
        exit::{Exit, Failure},
        listens,
        shell::{Opened, Shell},
    },
    host::{
        News, Options, Parts,
        load::{self, Ask, Ready},
    },
    store::{Store, sqlite::RunLock},
};

/// Under which name the store keeps which text the runner works with.
pub(in crate::cli) const RUNNING: &str = "the text that runs";

/// What has to stay as long as the runner runs.
pub(super) struct Kept {
    _lock: Option<RunLock>,
    _copy: Option<Copy>,
}

/// Everything up to the start; or the exit code of a program that cannot be started.
pub(super) async fn prepare(arguments: &Arguments, shell: &Shell) -> Result<Result<(Parts, Kept), Exit>, Failure> {
    let opened = if arguments.dry_run { shell.look().await? } else { shell.open().await? };
    let lock = if arguments.dry_run { None } else { opened.lock_runner()? };
    let copy = if arguments.dry_run { Some(Copy::of(&opened, shell).await?) } else { None };
    let store: Arc<dyn Store> = copy.as_ref().map_or_else(|| opened.store.clone(), |copy| copy.store.clone());
    let paths: Vec<_> = arguments.paths.iter().map(|path| shell.absolute(path)).collect();
    let ready = match program(&opened, &paths, shell).await? {
        Ok(ready) => ready,
        Err(exit) => return Ok(Err(exit)),
    };
    let over = ready.over(store.as_ref(), &arguments.drop).await??;
    if let Some(unfit) = over.unfit().filter(|_| paths.is_empty() && !arguments.dry_run) {
        return Err(Failure { exit: Exit::NotSo, ..unfit.into() });
    }
    let now = opened.connector.clock.now();
    for listen in &over.drop {
        store.drop_listen(listen, now).await?;
    }
    if !arguments.dry_run {
        opened.store.note(RUNNING, ready.id.0.as_str(), now).await?;
    }
    listens::tell(&opened, shell).await?;
    let owner = format!("{}@{}", std::process::id(), opened.connector.clock.now().as_millisecond());
    let options =
        Options { once: arguments.once, dry_run: arguments.dry_run, owner: owner.into(), ..Options::default() };
    let parts = ready.parts(opened.connector.clone(), store, &opened.project.file.limits, options, News::new());
    Ok(Ok((parts, Kept { _lock: lock, _copy: copy })))
}

/// The checked and compiled program; its reports are printed. The exit code if it has errors.
pub(in crate::cli) async fn program(
    opened: &Opened,
    paths: &[PathBuf],
    shell: &Shell,
) -> Result<Result<Ready, Exit>, Failure> {
    shell.output.progress("describing the connections …");
    let loaded = load::load(&opened.project, &opened.connector, opened.modules.clone(), paths, Ask::RefreshOrOld).await;
    shell.output.progress("");
    let loaded = loaded?;
    // A runner may stand on a disk that it cannot write; its descriptions are fresh all the same.
    if let Err(error) = loaded.lock.save(&opened.project) {
        shell.output.note(&format!("the lock file stays as it is: {error}"));
    }
    for (connection, why) in &loaded.old {
        let what = match why.kind {
            Kind::Passing => format!("is away ({why})"),
            Kind::Credential => format!("refuses the credential ({why}); what needs it waits until that is mended"),
            Kind::Refused | Kind::Drift | Kind::Limit => format!("does not say what it is ({why})"),
        };
        shell.output.note(&format!("{connection} {what}; its description is old, from `listen-fire.lock`"));
    }
    shell.output.reports(&loaded.sources, &loaded.problems);
    Ok(Ready::new(loaded).map_err(|loaded| {
        let errors = loaded.count(Severity::Error);
        shell.output.note(&format!("{errors} {}: nothing runs", if errors == 1 { "error" } else { "errors" }));
        check::exit(&loaded, false, false)
    }))
}
