//! The one task that writes: it owns the one writing connection and puts what waits into one transaction.
//!
//! A commit costs a sync of the disk, whatever it holds; so the changes that came while one commit was under way share
//! the next. Nobody is told before the commit is through. It never waits for more to come.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::sync::{mpsc, oneshot};

use super::{
    claim,
    desk::Desk,
    error::Failure,
    journal,
    op::{Job, Op},
    orders, small, taking,
};
use crate::store::StoreError;

/// At most so many changes share a commit.
const GROUP: usize = 512;
/// So many may wait; whoever comes after waits to be let in.
const QUEUE: usize = 2048;

/// The callers' end.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    ops: mpsc::Sender<Op>,
}

impl Writer {
    /// Starts the task. It ends when the last handle is gone.
    pub(super) fn start(connection: SqliteConnection, options: SqliteConnectOptions) -> Self {
        let (ops, waiting) = mpsc::channel(QUEUE);
        tokio::spawn(write(
            Pen { connection: Some(connection), options, listens: BTreeMap::new(), desk: Desk::default() },
            waiting,
        ));
        Self { ops }
    }

    /// Sends a change and waits until it is durable.
    pub(super) async fn send<I, T>(&self, wrap: impl FnOnce(Job<I, T>) -> Op, input: I) -> Result<T, StoreError> {
        let closed = || StoreError::Away("the store was closed".to_owned());
        let (job, answer): (_, oneshot::Receiver<_>) = Job::new(input);
        self.ops.send(wrap(job)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

/// The writing connection; gone after a failure of the disk, until the next change makes it anew.
struct Pen {
    connection: Option<SqliteConnection>,
    options: SqliteConnectOptions,
    /// Numbers of listens by name. They never change; emptied after a rollback, which may have taken some back.
    listens: Listens,
    desk: Desk,
}

/// Numbers of listens by name.
pub(super) type Listens = BTreeMap<SmolStr, i64>;

async fn write(mut pen: Pen, mut waiting: mpsc::Receiver<Op>) {
    let mut ops = Vec::with_capacity(GROUP);
    while waiting.recv_many(&mut ops, GROUP).await > 0 {
        if let Err(why) = pen.commit(&mut ops).await {
            match why {
                // One change among them is at fault: each goes by itself.
                Failure::Refused(_) if ops.len() > 1 => {
                    for op in &mut ops {
                        op.forget();
                        if let Err(why) = pen.commit(std::slice::from_mut(op)).await {
                            op.fail(&why);
                        }
                    }
                }
                Failure::Refused(_) | Failure::Away(_) | Failure::Unusable(_) => {
                    ops.iter_mut().for_each(|op| op.fail(&why));
                }
            }
        }
        ops.drain(..).for_each(Op::tell);
    }
    if let Some(connection) = pen.connection {
        // Closing moves the log into the file; what fails here is done at the next opening.
        drop(connection.close().await);
    }
}

impl Pen {
    /// All of the changes in one transaction, or none.
    async fn commit(&mut self, ops: &mut [Op]) -> Result<(), Failure> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => SqliteConnection::connect_with(&self.options).await?,
        };
        let done = apply(&mut connection, &mut self.listens, &mut self.desk, ops).await;
        match &done {
            Ok(()) | Err(Failure::Refused(_)) => self.connection = Some(connection),
            // After a failure of the disk the connection is not trusted again.
            Err(Failure::Away(_) | Failure::Unusable(_)) => drop(connection),
        }
        if done.is_err() {
            self.listens.clear();
            self.desk.clear();
        }
        done
    }
}

async fn apply(
    connection: &mut SqliteConnection,
    listens: &mut Listens,
    desk: &mut Desk,
    ops: &mut [Op],
) -> Result<(), Failure> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    // Callers that wait at the same time have no order among them; kinds are done together, claims last, so that they
    // see what just came in.
    desk.refresh(&mut transaction).await?;
    taking::take_in(&mut transaction, listens, ops).await?;
    journal::write(&mut transaction, desk, ops).await?;
    orders::carry_out(&mut transaction, desk, ops).await?;
    small::do_all(&mut transaction, desk, ops).await?;
    claim::claim(&mut transaction, listens, desk, ops).await?;
    transaction.commit().await?;
    Ok(())
}
