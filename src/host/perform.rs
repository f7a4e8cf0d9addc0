//! An effect and its outcome. Reads are pulled page by page within the limits; a write is resolved against what is
//! there, given the bytes of its files, journalled as an intent, sent, and settled. What follows from a failure is the executor's.

mod change;
mod files;
mod sending;

use lf_lang::{
    plan::{Plan, ir::PlaceId},
    run::{
        self, Address, Entry, Failure, Request, RunState, Settlement,
        entry::{Intent, Sending},
        io::FailureKind,
    },
    types::ConnectionId,
};
use lf_module::{CallError, Kind, Page, Read, Record, Repeat, Write};

use self::{
    change::{Change, Resolved},
    sending::{as_write, is_looked_up, position, written_type},
};
use super::{
    attempt::{Attempt, Link, limit},
    journal::Journal,
    news::{What, show},
    size,
    trouble::Trouble,
};

/// A call that the machine wants.
#[derive(Debug)]
pub(super) struct Asked<'r> {
    pub(super) address: Address,
    pub(super) place: PlaceId,
    pub(super) connection: ConnectionId,
    pub(super) request: Request,
    /// A refusal has a way in the text.
    pub(super) declines: bool,
    /// How often it was refused before.
    pub(super) refusals: u32,
    /// The run that waits for it.
    pub(super) state: &'r RunState,
}

impl Asked<'_> {
    /// Where in the text to look for what went wrong: at the field that was named, if the text gave it.
    pub(super) fn blamed(&self, plan: &Plan, error: &CallError) -> PlaceId {
        let named = error.field.as_deref().and_then(|field| run::given(plan, self.state, &self.address, field));
        named.unwrap_or(self.place)
    }
}

/// Every record of a hop.
pub(super) async fn read(
    attempt: &Attempt<'_>,
    journal: &mut Journal<'_>,
    asked: &Asked<'_>,
    read: Read,
    by: &Record,
) -> Result<Settlement, Trouble> {
    // What was answered before is made durable while the system is asked.
    let (kept, settlement) = tokio::join!(journal.settle(), landed(attempt, asked, read, by));
    kept?;
    let settlement = settlement?;
    journal.note(settled(attempt, asked, settlement.clone()));
    Ok(settlement)
}

/// A read of which only what follows from it is journalled.
pub(super) async fn look(attempt: &Attempt<'_>, asked: &Asked<'_>) -> Result<Settlement, Trouble> {
    let Request::Read { ty, origin, pins, by } = &asked.request else {
        let message = "only a read is made while a run waits".to_owned();
        let kind = FailureKind::Journal;
        return Err(Trouble::Failed(Failure { kind, message, place: Some(asked.place) }));
    };
    let read = Read { ty: ty.clone(), origin: origin.clone(), pins: pins.clone(), page: None };
    landed(attempt, asked, read, by).await
}

/// What a read lands on, page by page; looked up by `by` at once, if it names anything.
async fn landed(attempt: &Attempt<'_>, asked: &Asked<'_>, mut read: Read, by: &Record) -> Result<Settlement, Trouble> {
    let place = asked.place;
    let ty = read.ty.clone();
    let link = attempt.link(asked.connection, place).await?;
    let (mut values, mut bytes, mut drifted) = (Vec::new(), 0_usize, false);
    let limits = &attempt.service.limits;
    loop {
        let call = attempt.call(place, None)?;
        let answer = if by.is_empty() || !attempt.service.options.look_up {
            attempt.bounded(&call, &link, link.connection.read(&read, &call)).await
        } else {
            let found = attempt.bounded(&call, &link, link.connection.find(&ty, by, &call)).await;
            found.map(|records| Page { records, next: None })
        };
        let page = match answer {
            Ok(page) => page,
            Err(error) => {
                attempt.failed(&link, &ty, asked, error, &mut drifted).await?;
                continue;
            }
        };
        if values.len().saturating_add(page.records.len()) > limits.rows {
            let message =
                format!("the read of `{ty}` lands on more than {} records, the limit for one read", limits.rows);
            return Err(limit(place, message));
        }
        for landed in page.records {
            bytes = bytes.saturating_add(size::of_record(&landed.fields));
            if bytes > limits.value {
                let message =
                    format!("the read of `{ty}` is larger than {} bytes, the limit for one value", limits.value);
                return Err(limit(place, message));
            }
            values.push(position(&link, &ty, landed.key, landed.fields));
        }
        match page.next {
            None => break,
            Some(next) if read.page.as_ref() == Some(&next) => {
                return Err(Trouble::Failed(Failure {
                    kind: FailureKind::Call(Kind::Drift),
                    message: format!("`{}` answered the page of `{ty}` that comes next with the same page", link.name),
                    place: Some(place),
                }));
            }
            Some(next) => read.page = Some(next),
        }
    }
    attempt.tell(What::Read {
        spot: attempt.spot(place),
        connection: link.name,
        ty,
        asked: show(if by.is_empty() { &read.pins } else { by }),
        records: values.len(),
    });
    Ok(Settlement::Records(values))
}

/// A write or a delete, from what is wanted to what was answered. `open`: the same write of an earlier life, of which
/// nothing is known (R4).
pub(super) async fn write(
    attempt: &Attempt<'_>,
    journal: &mut Journal<'_>,
    asked: &Asked<'_>,
    open: Option<&Intent>,
) -> Result<Settlement, Trouble> {
    let link = attempt.link(asked.connection, asked.place).await?;
    let change = Change::new(attempt, asked, &link);
    let _identities = change.lock().await;
    // What was answered before is made durable while the systems are asked.
    let (kept, resolved) = tokio::join!(journal.settle(), change.resolve(open));
    kept?;
    let settlement = match resolved? {
        Resolved::Unchanged { key, fields, created } => change.unchanged(key, fields, created),
        Resolved::Send { sending, base, created } if attempt.service.options.dry_run => {
            change.dry(&sending, base, created)
        }
        Resolved::Send { sending, base, created } => {
            return change.send(journal, &sending, base, created).await;
        }
    };
    journal.note(settled(attempt, asked, settlement.clone()));
    Ok(settlement)
}

/// The entry that settles a call.
pub(super) fn settled(attempt: &Attempt<'_>, asked: &Asked<'_>, settlement: Settlement) -> Entry {
    let at = attempt.service.clock.now();
    Entry::Settled { address: asked.address.clone(), place: asked.place, settlement, at }
}

/// The settlement of a write that was carried out and whose answer never came: all that is known is what was sent.
pub(super) fn settled_unanswered(link: &Link, intent: &Intent) -> Settlement {
    let ty = written_type(&intent.request);
    match &intent.sending {
        Sending::Create { origin: _, fields, idempotency: _ } => {
            Settlement::Written { handle: position(link, ty, None, fields.clone()), created: true, unchanged: false }
        }
        Sending::Update { key, fields, idempotency: _ } => Settlement::Written {
            handle: position(link, ty, Some(key.clone()), fields.clone()),
            created: false,
            unchanged: false,
        },
        Sending::Delete { .. } => Settlement::Deleted,
        Sending::Link { .. } => Settlement::Linked,
    }
}

/// Whether a write of unknown outcome may be sent again (R4).
pub(super) fn may_repeat(link: &Link, intent: &Intent) -> bool {
    may_send_again(link, &intent.request, &as_write(written_type(&intent.request), &intent.sending))
}

fn may_send_again(link: &Link, request: &Request, write: &Write) -> bool {
    is_looked_up(request)
        || match link.connection.repeat(write) {
            Repeat::Harmless | Repeat::ByKey => true,
            Repeat::Never => false,
        }
}
