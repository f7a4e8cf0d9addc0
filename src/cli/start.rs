//! What a command needs to run: a runtime, a log, and an ear for Ctrl-C. Nothing of it exists before it is needed.

use std::{future::Future, io};

use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::EnvFilter;

use super::{
    exit::{Exit, Failure},
    shell::Shell,
};

/// As much as the first thread has: what is nested as deep as a program may be is run, read and stored on any of them.
const STACK: usize = 8 << 20;

/// Runs a command that speaks to systems or to the store; Ctrl-C ends it where it stands.
pub(super) fn blocking(shell: &Shell, work: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    // Beside what a command says itself a log is for people only; whoever wants it asks for it.
    let level = if shell.environment.stderr && !shell.output.quiet() { "warn" } else { "off" };
    runtime(shell, level)?.block_on(async {
        tokio::select! {
            done = work => done,
            Ok(()) = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
        }
    })
}

/// The runtime, and the log at `level` unless the environment says otherwise.
pub(super) fn runtime(shell: &Shell, level: &str) -> Result<Runtime, Failure> {
    log(shell, level)?;
    let workers = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    let runtime = Builder::new_multi_thread().worker_threads(workers).thread_stack_size(STACK).enable_all().build();
    runtime.map_err(|why| Failure::new(Exit::Damaged, format!("cannot start: {why}")))
}

/// The signals that ask a runner to end.
#[derive(Debug)]
pub(super) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    /// Listens from now on.
    #[cfg(unix)]
    pub(super) fn new() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |why| Failure::new(Exit::Damaged, format!("cannot listen to signals: {why}"));
        let terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        Ok(Self { terminate, interrupt })
    }

    #[cfg(unix)]
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(super) fn new() -> Result<Self, Failure> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The log at `level` unless the environment says otherwise.
pub(super) fn log(shell: &Shell, level: &str) -> Result<(), Failure> {
    let level = if shell.output.quiet() { "off" } else { level };
    let directives = shell.environment.log.as_deref().unwrap_or(level);
    let filter = EnvFilter::builder().parse(directives).map_err(|why| {
        Failure::usage(format!("`LISTEN_FIRE_LOG` cannot be read: {why}")).help("for example `info`, or `lf_mcp=debug`")
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // A second subscriber is refused; the first one serves.
    let _set = if shell.environment.stderr {
        log.with_target(false).with_ansi(!shell.environment.no_color).try_init().is_ok()
    } else {
        log.json().try_init().is_ok()
    };
    Ok(())
}
