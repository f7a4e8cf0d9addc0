//! The bytes of the files that a write holds: asked for where they are, directly before the write is journalled and
//! sent, and given along with it. Nothing of them is kept.
//!
//! Whatever fails here, nothing was written: it is the run's failure, never the written system's refusal.

use std::{collections::BTreeMap, sync::Arc};

use lf_lang::run::{Failure, io::FailureKind};
use lf_module::{CallError, File, Kind, Record, Write};

use super::Asked;
use crate::host::{
    attempt::{Attempt, Link},
    trouble::Trouble,
};

/// The write with the bytes of its files.
pub(super) async fn fetched(attempt: &Attempt<'_>, asked: &Asked<'_>, write: Write) -> Result<Write, Trouble> {
    Ok(match write {
        Write::Create { ty, origin, fields } => {
            Write::Create { ty, origin, fields: filled(attempt, asked, fields).await? }
        }
        Write::Update { ty, key, fields } => Write::Update { ty, key, fields: filled(attempt, asked, fields).await? },
        Write::Delete { .. } | Write::Link(_) | Write::Unlink(_) => write,
    })
}

async fn filled(attempt: &Attempt<'_>, asked: &Asked<'_>, fields: Record) -> Result<Record, Trouble> {
    let most = attempt.service.limits.file;
    let mut left = most;
    let mut known: BTreeMap<(String, String), Arc<Vec<u8>>> = BTreeMap::new();
    for (field, value) in fields.iter() {
        for file in value.files() {
            let place = (file.connection.to_string(), file.token.to_string());
            if known.contains_key(&place) {
                continue;
            }
            let wanted = Wanted { attempt, asked, field, file };
            let size = usize::try_from(file.size).unwrap_or(usize::MAX);
            if size > left {
                let held = format!("has {} bytes", file.size);
                return Err(wanted.fails(Kind::Limit, &format!("{held}, and {}", allowed(most))));
            }
            let bytes = wanted.bytes(most, left).await?;
            left = left.saturating_sub(bytes.len());
            known.insert(place, Arc::new(bytes));
        }
    }
    if known.is_empty() {
        return Ok(fields);
    }
    let mut fill = |file: Arc<File>| {
        let bytes = known.get(&(file.connection.to_string(), file.token.to_string())).cloned();
        Ok::<_, Trouble>(Arc::new(File { bytes, ..Arc::unwrap_or_clone(file) }))
    };
    fields.0.into_iter().map(|(name, value)| Ok((name, value.with_files(&mut fill)?))).collect()
}

fn allowed(most: usize) -> String {
    format!("the files of one write have at most {most} together (`file` of `[limits]` in listen-fire.toml)")
}

/// One file of a write.
struct Wanted<'a> {
    attempt: &'a Attempt<'a>,
    asked: &'a Asked<'a>,
    field: &'a str,
    file: &'a File,
}

impl Wanted<'_> {
    async fn bytes(&self, most: usize, left: usize) -> Result<Vec<u8>, Trouble> {
        let (attempt, asked, file) = (self.attempt, self.asked, self.file);
        let id = attempt.plan.connection_by_key(&file.connection);
        let Some(id) = id else {
            return Err(self.fails(Kind::Drift, "is of a connection that is no longer part of the program"));
        };
        let link = attempt.link(id, asked.place).await?;
        let mut drifted = false;
        loop {
            let call = attempt.call(asked.place, None)?;
            let found = match attempt.bounded(&call, &link, link.connection.bytes(file, left, &call)).await {
                Ok(found) => found,
                Err(error) => {
                    self.failed(&link, error, &mut drifted).await?;
                    continue;
                }
            };
            let Some(bytes) = found else {
                return Err(self.fails(
                    Kind::Refused,
                    &format!("is no longer there: `{}` has nothing where it was read", link.name),
                ));
            };
            if bytes.len() > left {
                let held = format!("has {} bytes by now", bytes.len());
                return Err(self.fails(Kind::Limit, &format!("{held}, and {}", allowed(most))));
            }
            if !file.had(&bytes) {
                let what = if usize::try_from(file.size).is_ok_and(|size| size == bytes.len()) {
                    "other bytes".to_owned()
                } else {
                    format!("{} bytes; it had {}", bytes.len(), file.size)
                };
                return Err(self.fails(
                    Kind::Refused,
                    &format!("is not what it was when it was read: `{}` has {what}", link.name),
                ));
            }
            return Ok(bytes);
        }
    }

    /// A failure to read it. `Ok`: it is asked for once more.
    async fn failed(&self, link: &Link, error: CallError, drifted: &mut bool) -> Result<(), Trouble> {
        let called = self.file.called();
        let message = format!("{called} cannot be read from `{}`: {}; nothing was written", link.name, error.message);
        let error = CallError { message, field: Some(self.field.to_owned()), ..error };
        match self.attempt.failed(link, "", self.asked, error, drifted).await {
            Err(Trouble::Refused { failure, .. }) => Err(Trouble::Failed(failure)),
            other => other,
        }
    }

    fn fails(&self, kind: Kind, what: &str) -> Trouble {
        let message = format!("{} {what}; nothing was written{}", self.file.called(), self.way_out(kind));
        let blamed = CallError { field: Some(self.field.to_owned()), ..CallError::new(kind, "") };
        let place = Some(self.asked.blamed(self.attempt.plan, &blamed));
        Trouble::Failed(Failure { kind: FailureKind::Call(kind), message, place })
    }

    fn way_out(&self, kind: Kind) -> String {
        let run = self.attempt.run.id;
        match kind {
            Kind::Refused => {
                format!("; put it back and `listen-fire runs retry {run}`, or let its record's next change do it")
            }
            Kind::Limit => format!("; allow more and `listen-fire runs retry {run}`, or test its `size` first"),
            Kind::Drift | Kind::Passing | Kind::Credential => String::new(),
        }
    }
}
