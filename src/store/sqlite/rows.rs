//! Statements over many rows at once: every round trip to the connection's thread costs as much as tens of rows.
//!
//! A statement holds one `VALUES` list between a head and a tail. It is prepared in a few sizes, so that each stays
//! in the connection's cache whatever the number of rows.

use std::sync::{Arc, OnceLock};

use sqlx::{
    Arguments as _, AssertSqlSafe, Encode, Executor as _, SqlSafeStr as _, SqlStr, Sqlite, SqliteConnection, Type,
    error::BoxDynError,
    sqlite::{SqliteArguments, SqliteRow},
};

/// Largest first; the last must be 1.
const SIZES: [usize; 4] = [256, 32, 4, 1];

/// One statement over rows.
pub(super) struct Rows {
    head: &'static str,
    tail: &'static str,
    width: usize,
    texts: [OnceLock<SqlStr>; SIZES.len()],
}

/// The values of a statement, in order.
pub(super) struct Values(SqliteArguments, Option<BoxDynError>);

impl Values {
    /// Adds the next one.
    pub(super) fn bind<'v, V: Encode<'v, Sqlite> + Type<Sqlite>>(&mut self, value: V) -> &mut Self {
        if let Err(why) = self.0.add(value) {
            self.1.get_or_insert(why);
        }
        self
    }

    fn with_room_for(values: usize) -> Self {
        let mut arguments = SqliteArguments::default();
        arguments.reserve(values, 0);
        Self(arguments, None)
    }

    fn done(self) -> Result<SqliteArguments, sqlx::Error> {
        match self.1 {
            None => Ok(self.0),
            Some(why) => Err(sqlx::Error::Encode(why)),
        }
    }
}

impl Rows {
    /// `head`, a list of rows of `width` values, `tail`.
    pub(super) const fn new(head: &'static str, width: usize, tail: &'static str) -> Self {
        Self { head, tail, width, texts: [const { OnceLock::new() }; SIZES.len()] }
    }

    /// The statements over these rows, as few as there are sizes for. `bind` must bind `width` values for a row.
    pub(super) fn over<R>(&self, rows: &[R], bind: impl Fn(&mut Values, &R)) -> Statements {
        self.over_with(rows, bind, |_| {})
    }

    /// The same; `rest` binds the values of the tail.
    pub(super) fn over_with<R>(
        &self,
        rows: &[R],
        bind: impl Fn(&mut Values, &R),
        rest: impl Fn(&mut Values),
    ) -> Statements {
        self.between(rows, |_| {}, bind, rest)
    }

    /// The same; `first` binds the values of the head.
    pub(super) fn over_after<R>(
        &self,
        rows: &[R],
        first: impl Fn(&mut Values),
        bind: impl Fn(&mut Values, &R),
    ) -> Statements {
        self.between(rows, first, bind, |_| {})
    }

    fn between<R>(
        &self,
        rows: &[R],
        first: impl Fn(&mut Values),
        bind: impl Fn(&mut Values, &R),
        rest: impl Fn(&mut Values),
    ) -> Statements {
        let mut statements = Vec::new();
        let mut left = rows;
        for (size, text) in SIZES.iter().zip(&self.texts) {
            while left.len() >= *size {
                let (now, later) = left.split_at(*size);
                left = later;
                let mut values = Values::with_room_for(size * self.width + 2);
                first(&mut values);
                for row in now {
                    bind(&mut values, row);
                }
                rest(&mut values);
                statements.push((self.text(*size, text), values));
            }
        }
        Statements(statements)
    }

    fn text(&self, size: usize, kept: &OnceLock<SqlStr>) -> SqlStr {
        let make = || {
            let row = format!("({})", vec!["?"; self.width].join(","));
            let text = format!("{}{}{}", self.head, vec![row.as_str(); size].join(","), self.tail);
            AssertSqlSafe(Arc::<str>::from(text)).into_sql_str()
        };
        kept.get_or_init(make).clone()
    }

    /// Every text of it, for the test that prepares them.
    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<SqlStr> {
        SIZES.iter().zip(&self.texts).map(|(size, text)| self.text(*size, text)).collect()
    }
}

/// Statements with their values, to be run one after the other.
///
/// Made whole before the first is run: no closure lives across an await, which would keep the writer from being a task.
pub(super) struct Statements(Vec<(SqlStr, Values)>);

impl Statements {
    /// Runs them; answers the rows of all.
    pub(super) async fn fetch(self, connection: &mut SqliteConnection) -> Result<Vec<SqliteRow>, sqlx::Error> {
        let mut answers = Vec::new();
        for (text, values) in self.0 {
            let mut rows = connection.fetch_all(sqlx::query_with(text, values.done()?)).await?;
            if answers.is_empty() {
                answers = rows;
            } else {
                answers.append(&mut rows);
            }
        }
        Ok(answers)
    }

    /// Runs them for what they do; answers how many rows that were.
    pub(super) async fn run(self, connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
        let mut rows = 0;
        for (text, values) in self.0 {
            rows += connection.execute(sqlx::query_with(text, values.done()?)).await?.rows_affected();
        }
        Ok(rows)
    }
}
