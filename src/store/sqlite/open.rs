//! Opening the file: its folder and rights, its version, its settings, and who may run it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, SqlSafeStr as _, SqliteConnection, SqlitePool,
    migrate::{Migration, MigrationType, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{Durability, error::Failure};
use crate::store::StoreError;

/// The version that this program writes.
pub(super) const VERSION: i64 = 1;

fn migrator() -> Migrator {
    Migrator::with_migrations(vec![Migration::new(
        1,
        "init".into(),
        MigrationType::Simple,
        include_str!("../migrations/sqlite/0001_init.sql").into_sql_str(),
        false,
    )])
}

/// How every connection is made.
pub(super) fn options(path: &Path, durability: Durability) -> SqliteConnectOptions {
    let synchronous = match durability {
        Durability::Full => SqliteSynchronous::Full,
        Durability::Normal => SqliteSynchronous::Normal,
    };
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(5))
        .statement_cache_capacity(256)
        .row_buffer_size(256)
        // Larger than the default of 1,000 pages: a checkpoint makes everybody wait for two more syncs.
        .pragma("wal_autocheckpoint", "4000")
        .pragma("journal_size_limit", "67108864")
        .pragma("cache_size", "-4000")
        .disable_statement_logging()
}

/// Makes the folder and the file, readable by their owner alone.
pub(super) fn prepare(path: &Path) -> Result<(), StoreError> {
    let away = |what: &Path, why: &std::io::Error| {
        StoreError::Unusable(format!("`{}` cannot be made or opened: {why}", what.display()))
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|why| away(folder, &why))?;
    }
    private_file(path).map(drop).map_err(|why| away(path, &why))
}

fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Brings the file to this program's version, or refuses it.
pub(super) async fn migrate(path: &Path, options: &SqliteConnectOptions) -> Result<(), StoreError> {
    // Two programs that meet a new file make one of it, not two.
    let lock_path = beside(path, "lock");
    let lock =
        tokio::task::spawn_blocking(move || private_file(&lock_path).and_then(|file| file.lock().map(|()| file)))
            .await
            .map_err(|why| StoreError::Away(format!("the store cannot be opened: {why}")))?
            .map_err(|why| StoreError::Away(format!("the store cannot be opened: {why}")))?;
    let mut connection = SqliteConnection::connect_with(options).await.map_err(|why| not_a_store(path, why))?;
    let found = version(&mut connection).await.map_err(|why| not_a_store(path, why))?;
    match found {
        Some(VERSION) => {}
        Some(found) if found > VERSION => {
            return Err(StoreError::Unusable(format!(
                "the store `{}` is of version {found}, this program knows versions up to {VERSION}; use a newer listen-fire",
                path.display()
            )));
        }
        None if has_tables(&mut connection).await? => {
            return Err(StoreError::Unusable(format!(
                "`{}` is a database of something else, not a listen-fire store",
                path.display()
            )));
        }
        Some(_) | None => migrator().run(&mut connection).await.map_err(|why| {
            StoreError::Unusable(format!(
                "the store `{}` cannot be brought to version {VERSION}: {why}",
                path.display()
            ))
        })?,
    }
    connection.close().await?;
    drop(lock);
    Ok(())
}

fn not_a_store(path: &Path, why: sqlx::Error) -> StoreError {
    match Failure::from(why) {
        Failure::Away(why) => StoreError::Away(why),
        Failure::Unusable(why) | Failure::Refused(why) => StoreError::Unusable(format!(
            "`{}` is damaged, or not a listen-fire store ({why}); move it away to start anew, or bring it back from a copy",
            path.display()
        )),
    }
}

async fn version(connection: &mut SqliteConnection) -> Result<Option<i64>, sqlx::Error> {
    let known = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '_sqlx_migrations'";
    let known: i64 = sqlx::query(known).fetch_one(&mut *connection).await?.try_get(0)?;
    if known == 0 {
        return Ok(None);
    }
    sqlx::query("SELECT max(version) FROM _sqlx_migrations").fetch_one(connection).await?.try_get(0)
}

async fn has_tables(connection: &mut SqliteConnection) -> Result<bool, StoreError> {
    let tables: i64 = sqlx::query("SELECT count(*) FROM sqlite_master").fetch_one(connection).await?.try_get(0)?;
    Ok(tables > 0)
}

/// The connections that read. They never write, whatever is asked of them.
pub(super) fn readers(options: &SqliteConnectOptions) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(4)
        .acquire_timeout(Duration::from_secs(10))
        .idle_timeout(Duration::from_secs(60))
        .connect_lazy_with(options.clone().pragma("query_only", "ON").pragma("cache_size", "-1000"))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    path.with_extension(ending)
}

/// Held by the one `run` of a project, as long as it lives; the system lets go of it when the process dies.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

impl RunLock {
    /// The process that runs the project now, as far as it said who it is.
    pub(super) fn holder(store: &Path) -> Result<Option<String>, StoreError> {
        let path = store.with_file_name("run.lock");
        if !path.exists() {
            return Ok(None);
        }
        let unusable =
            |why: &std::io::Error| StoreError::Unusable(format!("`{}` cannot be looked at: {why}", path.display()));
        let file = private_file(&path).map_err(|why| unusable(&why))?;
        // Shared: whoever looks at the same time is no runner.
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                file.take(32).read_to_string(&mut holder).map_err(|why| unusable(&why))?;
                Ok(Some(holder.trim().to_owned()))
            }
            Err(TryLockError::Error(why)) => Err(unusable(&why)),
        }
    }

    /// Takes `run.lock` beside the store, or says who has it.
    pub(super) fn take(store: &Path) -> Result<Self, StoreError> {
        let path = store.with_file_name("run.lock");
        let unusable =
            |why: &std::io::Error| StoreError::Unusable(format!("`{}` cannot be locked: {why}", path.display()));
        let mut file = private_file(&path).map_err(|why| unusable(&why))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let named = file.take(32).read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
                let holder = if named { format!(" (process {})", holder.trim()) } else { String::new() };
                return Err(StoreError::Unusable(format!(
                    "another `listen-fire run`{holder} runs this project already"
                )));
            }
            Err(TryLockError::Error(why)) => return Err(unusable(&why)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "{}", std::process::id()))
            .map_err(|why| unusable(&why))?;
        Ok(Self { _file: file })
    }
}
