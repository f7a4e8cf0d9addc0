//! `credential rotate-key`: every credential sealed anew under a new key.

use clap::Args;
use serde_json::json;

use crate::cli::{
    exit::{Exit, Failure},
    shell::Shell,
};

/// Seal every credential anew under a new key. A key file is replaced; a key that comes from `LISTEN_FIRE_KEY` is replaced
/// by the one in `LISTEN_FIRE_KEY_NEXT`. It can be done while a runner runs, and goes on where it was interrupted.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  listen-fire credential rotate-key\n  LISTEN_FIRE_KEY_NEXT=$(head -c 32 /dev/urandom | \
                        base64) listen-fire credential rotate-key"
)]
pub(super) struct Arguments {}

pub(super) async fn run(shell: &Shell) -> Result<Exit, Failure> {
    let opened = shell.open().await?;
    let clock = opened.connector.clock.as_ref();
    let rotated = opened.connector.credentials.rotate(clock).await?;
    let text = match rotated.sealed {
        1 => "1 credential is sealed under the new key".to_owned(),
        many => format!("{many} credentials are sealed under the new key"),
    };
    shell.output.done(&text, &json!({ "sealed": rotated.sealed, "key": rotated.key }));
    if rotated.from_environment {
        shell
            .output
            .note("now set `LISTEN_FIRE_KEY` to the value of `LISTEN_FIRE_KEY_NEXT` wherever this project runs");
    }
    Ok(Exit::Done)
}
