//! The runner in a world of its own: paused time, seeded chance, a store that fails and systems that answer, refuse,
//! delay, lose answers and die, judged by what the outside saw.
//!
//! - `scenarios/*.txt`: what happens, when, and the trace that it leaves; one test each. `LF_BLESS=1` writes traces.
//! - `matrix`: one undisturbed day, then the same day with the host killed on each side of every durable change.
//! - `modes`: once, dry, stopped.
//! - `deadlines`: what happened before a deadline counts, whenever it is seen, by seed.
//! - `retries`: a run that is tried again in every way, by seed.
//! - `schedules`: random days (`LF_SIM_SEEDS`, 200 by default; `LF_SIM_SEED=N` repeats one).
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops here, with the place; and it says itself which seeds it runs"
)]

mod deadlines;
mod life;
mod matrix;
mod modes;
mod program;
mod retries;
mod scenario;
mod schedules;
mod world;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let mut trials: Vec<Trial> = Vec::new();
    trials.extend(scenario::trials());
    trials.extend(matrix::trials());
    trials.extend(modes::trials());
    trials.extend(schedules::trials());
    trials.extend(retries::trials());
    trials.extend(deadlines::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
