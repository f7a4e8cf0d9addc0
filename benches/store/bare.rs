//! The bare program: the least that makes a change durable twice, when it comes and when it is done. One table, the
//! same SQLite settings, grouped commits, many callers at once; no journal, no claims, no order, no check of a delivery.

use std::{path::Path, time::Instant};

use sqlx::{
    Arguments as _, AssertSqlSafe, Connection as _, Executor as _, SqlSafeStr as _, SqliteConnection,
    sqlite::{SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use tokio::sync::{mpsc, oneshot};

const GROUP: usize = 512;
/// Rows of one statement, largest first.
const SIZES: [usize; 4] = [256, 32, 4, 1];

enum Step {
    Come { id: i64, body: String, stored: oneshot::Sender<()> },
    Done { id: i64 },
}

/// Changes a second, and processor seconds for each.
pub(super) async fn measure(full: bool, callers: usize, changes: usize, body: &str) -> (f64, f64) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (steps, waiting) = mpsc::channel(4096);
    let (start, cpu) = (Instant::now(), super::cpu_seconds());
    let writer = tokio::spawn(write(open(&folder.path().join("bare.db"), full).await, waiting));
    let each = changes / callers;
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let (steps, body) = (steps.clone(), body.to_owned());
            tokio::spawn(async move {
                for number in 0..each {
                    let id = i64::try_from(caller * each + number).unwrap();
                    let (stored, durable) = oneshot::channel();
                    steps.send(Step::Come { id, body: body.clone(), stored }).await.ok().unwrap();
                    durable.await.unwrap();
                    steps.send(Step::Done { id }).await.ok().unwrap();
                }
            })
        })
        .collect();
    drop(steps);
    for task in tasks {
        task.await.unwrap();
    }
    writer.await.unwrap();
    let done = (each * callers) as f64;
    (done / start.elapsed().as_secs_f64(), (super::cpu_seconds() - cpu) / done)
}

async fn open(path: &Path, full: bool) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(if full { SqliteSynchronous::Full } else { SqliteSynchronous::Normal })
        .pragma("wal_autocheckpoint", "4000")
        .pragma("cache_size", "-4000");
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    connection.execute("CREATE TABLE run (id INTEGER PRIMARY KEY, body TEXT, state INTEGER)").await.unwrap();
    connection
}

async fn write(mut connection: SqliteConnection, mut waiting: mpsc::Receiver<Step>) {
    let mut steps = Vec::with_capacity(GROUP);
    while waiting.recv_many(&mut steps, GROUP).await > 0 {
        let (mut come, mut done, mut told) = (Vec::new(), Vec::new(), Vec::new());
        for step in steps.drain(..) {
            match step {
                Step::Come { id, body, stored } => {
                    come.push((id, body));
                    told.push(stored);
                }
                Step::Done { id } => done.push(id),
            }
        }
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
        rows(&mut transaction, "INSERT INTO run VALUES ", "(?, ?, 0)", "", &come, |values, (id, body)| {
            values.add(*id).unwrap();
            values.add(body.as_str()).unwrap();
        })
        .await;
        rows(&mut transaction, "UPDATE run SET state = 1 WHERE id IN (", "?", ")", &done, |values, id| {
            values.add(*id).unwrap();
        })
        .await;
        transaction.commit().await.unwrap();
        for caller in told {
            caller.send(()).unwrap();
        }
    }
}

async fn rows<R>(
    connection: &mut SqliteConnection,
    head: &str,
    row: &str,
    tail: &str,
    rows: &[R],
    bind: impl Fn(&mut SqliteArguments, &R),
) {
    let mut left = rows;
    for size in SIZES {
        while left.len() >= size {
            let (now, later) = left.split_at(size);
            left = later;
            let mut values = SqliteArguments::default();
            now.iter().for_each(|row| bind(&mut values, row));
            let text = format!("{head}{}{tail}", vec![row; size].join(", "));
            let text = AssertSqlSafe(text).into_sql_str();
            connection.execute(sqlx::query_with(text, values)).await.unwrap();
        }
    }
}
