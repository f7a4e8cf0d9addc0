//! Gaps: what was missed while no stream was open.

use lf_harness::{Step, watched::Habits};

use super::stage::{A, B, Setting, board};

#[tokio::test]
async fn a49_after_a_gap_what_changed_is_told_once_and_marked() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    stage.pass(35).await;
    stage.watched.end_streams(&Step::Close);
    stage.watched.change(A, "missed");
    stage.watched.change(A, "missed twice");
    stage.pass(5).await;
    let lines = stage.results();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!((&lines[0]["uri"], &lines[0]["resync"]), (&A.into(), &true.into()));
    stage.pass(35).await;
    stage.watched.end_streams(&Step::Close);
    stage.pass(5).await;
    assert_eq!(stage.results().len(), 1, "nothing changed in this one");
}

#[tokio::test]
async fn a49_a_new_session_is_a_gap_too() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    stage.pass(35).await;
    stage.watched.forget();
    stage.watched.write(B, "changed while nobody listened");
    stage.pass(5).await;
    let lines = stage.results();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!((&lines[0]["uri"], &lines[0]["resync"]), (&B.into(), &true.into()));
}

#[tokio::test]
async fn a49_echo_rules_hold_for_what_changed_in_a_gap() {
    let setting = Setting::new(Habits::LEGACY).one().ignoring(&["ai:claude"]);
    setting.watched.write(A, board(&[("1", "user:1", "1")]));
    let stage = setting.listening().await;
    stage.pass(35).await;
    stage.watched.end_streams(&Step::Close);
    stage.watched.write(A, board(&[("1", "user:1", "1"), ("2", "ai:claude", "2")]));
    stage.pass(5).await;
    assert!(stage.results().is_empty());
}

#[tokio::test]
async fn a49_no_resync_turns_it_off() {
    let stage = Setting::new(Habits::LEGACY).with(|options| options.resync = false).listening().await;
    stage.pass(35).await;
    stage.watched.end_streams(&Step::Close);
    stage.watched.write(A, "missed");
    stage.pass(35).await;
    assert!(stage.results().is_empty());
    assert!(stage.got("resources/read").is_empty());
}

#[tokio::test]
async fn a49_a_server_with_event_ids_replays_and_nothing_is_told_twice() {
    let stage = Setting::new(Habits { replays: true, ..Habits::LEGACY }).listening().await;
    stage.watched.change(A, "one");
    stage.pass(35).await;
    let reads = stage.got("resources/read").len();
    stage.watched.end_streams(&Step::Close);
    stage.watched.change(A, "two");
    stage.watched.change(B, "three");
    stage.pass(5).await;
    let again = stage.got("GET").pop().unwrap();
    assert!(again.header("last-event-id").is_some());
    let lines = stage.results();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.iter().all(|line| line["resync"].is_null()), "replay takes the place of looking");
    assert_eq!(stage.got("resources/read").len(), reads + 2);
    // A server that replays all that it ever said.
    let update = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{{\"uri\":\"{A}\"}}}}"
    );
    for _ in 0..2 {
        stage.watched.say(&format!("id: x-1\ndata: {update}\n\n"));
    }
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 4, "doubles are told by their id");
    // A server that counts anew on each stream: what looks like a double is looked at, and is none.
    stage.watched.write(A, "changed under an old id");
    stage.watched.say(&format!("id: x-1\ndata: {update}\n\n"));
    stage.pass(1).await;
    assert_eq!(stage.results().len(), 5);
}

#[tokio::test]
async fn a49_the_retry_of_a_stream_is_kept_to() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    stage.watched.say("retry: 7000\n\n");
    stage.pass(35).await;
    stage.watched.end_streams(&Step::Close);
    stage.pass(6).await;
    assert_eq!(stage.got("GET").len(), 1);
    stage.pass(2).await;
    assert_eq!(stage.got("GET").len(), 2);
}

#[tokio::test]
async fn a49_what_is_pushed_right_after_a_gap_is_one_line() {
    let stage = Setting::new(Habits::LEGACY).one().listening().await;
    stage.pass(35).await;
    let watched = stage.watched.clone();
    // The push comes with the opening of the stream, as from a server that kept it back.
    stage.watched.end_streams(&Step::Close);
    watched.write(A, "changed in the gap");
    for _ in 0..2000 {
        tokio::task::yield_now().await;
        if watched.streams() == 1 {
            break;
        }
    }
    watched.push(A);
    stage.pass(5).await;
    assert_eq!(stage.results().len(), 1, "{:?}", stage.results());
}
