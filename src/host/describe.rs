//! Asking connections what they are: each once, side by side, within a deadline.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt as _, stream};
use lf_lang::check::catalog::ConnectionKey;
use lf_module::{Call, CallError, Clock, Connection, Description, Kind};

use super::clock::within;

/// How long one description may take, with the module's own retries.
pub const DEADLINE: Duration = Duration::from_secs(30);
/// How many systems are asked at once.
const ASKED: usize = 16;

/// What each connection says of itself, or why it does not.
pub async fn all(
    clock: &dyn Clock,
    connections: Vec<(ConnectionKey, Arc<dyn Connection>)>,
) -> BTreeMap<ConnectionKey, Result<Description, CallError>> {
    let asked = connections.into_iter().map(|(key, connection)| async move {
        let answer = one(clock, connection.as_ref()).await;
        (key, answer)
    });
    stream::iter(asked).buffer_unordered(ASKED).collect().await
}

/// What one connection says of itself.
///
/// # Errors
/// Why it does not.
pub async fn one(clock: &dyn Clock, connection: &dyn Connection) -> Result<Description, CallError> {
    let call = call(clock);
    // A module keeps the deadline itself; that it is trusted with it is no reason to wait for ever.
    let grace = DEADLINE + Duration::from_secs(1);
    within(clock, grace, connection.describe(&call)).await.unwrap_or_else(|| {
        Err(CallError::new(Kind::Passing, format!("it was not described within {} s", DEADLINE.as_secs())))
    })
}

/// A call that ends within [`DEADLINE`] from now.
#[must_use]
pub fn call(clock: &dyn Clock) -> Call {
    Call { deadline: clock.monotonic() + DEADLINE, idempotency: None }
}
