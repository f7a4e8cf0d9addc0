//! Leaving: by being told to, or because the reader went away.

use lf_harness::{Reply, watched::Habits};

use super::stage::{A, Setting};

#[tokio::test]
async fn a52_a53_it_ends_its_session_and_says_nothing_on_the_way_out() {
    let mut stage = Setting::new(Habits::LEGACY).listening().await;
    let said = stage.asides().len();
    stage.stop();
    stage.pass(1).await;
    assert!(stage.ended(), "ta23");
    let deletes = stage.got("DELETE");
    assert_eq!(deletes.len(), 1);
    assert_eq!(deletes[0].header("mcp-session-id"), Some("session-1"));
    assert!(stage.results().is_empty());
    assert_eq!(stage.asides().len(), said);
}

#[tokio::test]
async fn a52_a_refused_good_bye_is_fine_and_one_that_hangs_is_cut() {
    for (reply, seconds) in [(Reply::status(405), 1), (Reply::silence(), 2)] {
        let mut stage = Setting::new(Habits::LEGACY).listening().await;
        stage.watched.fault(move |received| (received.method == "DELETE").then(|| reply.clone()));
        stage.stop();
        stage.pass_millis(1900).await;
        assert_eq!(stage.ended(), seconds == 1);
        stage.pass_millis(200).await;
        assert!(stage.ended());
    }
}

#[tokio::test]
async fn a52_while_it_waits_for_the_stream_it_ends_its_session_too() {
    let mut stage = Setting::new(Habits::LEGACY).listening().await;
    stage.watched.fault(|received| (received.method == "GET").then(|| Reply::status(500)));
    stage.watched.end_streams(&lf_harness::Step::Close);
    stage.pass(100).await;
    stage.stop();
    stage.pass(1).await;
    assert!(stage.ended(), "ta23");
    assert_eq!(stage.got("DELETE").len(), 1);
}

#[tokio::test]
async fn a52_a_session_that_is_just_being_opened_is_ended_too() {
    let setting = Setting::new(Habits::LEGACY);
    setting.watched.fault(|received| (received.rpc() == "notifications/initialized").then(Reply::silence));
    let mut stage = setting.start();
    stage.pass(5).await;
    stage.stop();
    stage.pass(1).await;
    assert!(stage.ended());
    assert_eq!(stage.got("DELETE")[0].header("mcp-session-id"), Some("session-1"));
}

#[tokio::test]
async fn a52_without_a_session_there_is_nothing_to_end() {
    for habits in [Habits { sessions: false, ..Habits::LEGACY }, Habits::MODERN] {
        let mut stage = Setting::new(habits).listening().await;
        stage.stop();
        stage.pass(1).await;
        assert!(stage.ended());
        assert!(stage.got("DELETE").is_empty());
    }
}

#[tokio::test]
async fn a19_a_reader_of_results_that_goes_away_ends_it() {
    let stage = Setting::new(Habits::LEGACY).listening().await;
    stage.leave();
    stage.pass(60).await;
    assert!(!stage.ended(), "nothing was written yet");
    stage.watched.push(A);
    stage.pass(1).await;
    assert!(stage.ended());
    assert_eq!(stage.got("DELETE").len(), 1);
}
