//! The pump against a server whose resources can be watched, on a clock that the test moves. Each test names the
//! statements that it shows, `a27_…`, or the acceptance case, `ta14_…`.

mod day;
mod gaps;
mod hostile;
mod leaving;
mod liveness;
mod modern;
mod opening;
mod reconnecting;
mod stage;
mod updates;
