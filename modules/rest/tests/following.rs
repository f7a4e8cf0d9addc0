//! Listening: by a field that grows, and by comparing the whole list.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lf_harness::{Reply, Server};
use lf_module::{Batch, Connection, Cursor, Event, Kind, Source};
use serde_json::json;

use crate::crm::{Crm, listen, query, scripted};

/// `1 2 3 | all` for a batch: the keys, then whether it ended the listing.
fn shown(batch: &Batch) -> String {
    let words: Vec<String> = batch
        .events
        .iter()
        .map(|event| match event {
            Event::Listed(landed) => landed.key.as_ref().unwrap().to_string(),
            Event::ListingEnded { complete: true } => "| all".to_owned(),
            Event::ListingEnded { complete: false } => "| end".to_owned(),
            Event::Changed(_) => panic!("a poll cannot know what changed"),
        })
        .collect();
    words.join(" ")
}

async fn next(source: &mut Box<dyn Source>) -> String {
    shown(&source.next().await.unwrap())
}

fn queries(server: &Server) -> Vec<String> {
    server
        .received()
        .iter()
        .map(|request| request.path.split_once('?').map_or("", |(_, query)| query).to_owned())
        .collect()
}

#[tokio::test]
async fn a_cursor_is_asked_at_or_after_the_last_value_so_that_ties_are_seen() {
    let crm = Crm::start(3, 0);
    let connection = crm.connect();
    let mut source = listen(&connection, "Company", None);
    assert_eq!(next(&mut source).await, "1 2 3 | end");
    assert_eq!(next(&mut source).await, "3 | end");
    // A second record with the very same value as the last one that was seen.
    let id = crm.state().company("tied");
    crm.state().companies.get_mut(&id).unwrap()["revision"] = json!(3);
    assert_eq!(next(&mut source).await, "3 4 | end");
    crm.state().companies.get_mut(&1).unwrap()["revision"] = json!(9);
    assert_eq!(next(&mut source).await, "1 3 4 | end");
    assert_eq!(next(&mut source).await, "1 | end");
    assert_eq!(queries(&crm.server), ["", "since=3", "since=3", "since=3", "since=9"]);
}

#[tokio::test]
async fn a_cursor_moves_only_after_the_last_page() {
    let crm = Crm::start(6, 0);
    let connection = crm.connect();
    let mut source = listen(&connection, "Company", None);
    assert_eq!(next(&mut source).await, "1 2 3 4");
    // The greatest value is on a page that was read already.
    assert_eq!(next(&mut source).await, "5 6 | end");
    for id in [1, 2, 3, 4, 5] {
        crm.state().companies.get_mut(&id).unwrap()["revision"] = json!(20 - id);
    }
    crm.state().companies.get_mut(&6).unwrap()["revision"] = json!(7);
    let first = source.next().await.unwrap();
    assert_eq!(shown(&first), "1 2 3 4");
    // Opened anew in the middle of a look: the rest of it follows, from the same value.
    let mut other = listen(&connection, "Company", first.cursor);
    assert_eq!(next(&mut other).await, "5 6 | end");
    assert_eq!(next(&mut other).await, "1 | end");
    assert_eq!(queries(&crm.server).last().unwrap(), "since=19");
}

#[tokio::test]
async fn a_system_without_records_is_asked_for_all_until_there_is_one() {
    let crm = Crm::start(0, 0);
    let connection = crm.connect();
    let mut source = listen(&connection, "Company", None);
    assert_eq!(next(&mut source).await, "| end");
    assert_eq!(next(&mut source).await, "| end");
    crm.state().company("first");
    assert_eq!(next(&mut source).await, "1 | end");
    assert_eq!(next(&mut source).await, "1 | end");
    assert_eq!(queries(&crm.server), ["", "", "", "since=1"]);
}

const EVENTS: &str = r#"
[type.Item]
key = "id"
[type.Item.schema]
required = ["id", "at"]
properties.id = { type = "integer" }
properties.at = { type = "string", format = "date-time" }
[type.Item.list]
path = "/items"
paging = { page = "page", size = "n", of = 2 }
"#;

#[tokio::test]
async fn a_look_goes_back_by_as_long_as_the_one_before_took() {
    let file =
        format!("{EVENTS}[type.Item.listen]\nby = \"cursor\"\nfield = \"at\"\nquery = \"since\"\noverlap = 10\n");
    let (server, world, connection) = scripted(&file, |request| {
        let rows = match query(request)["page"].as_str() {
            "1" => json!([{ "id": 1, "at": "2026-01-05T10:00:00+01:00" }, { "id": 2, "at": "2026-01-05T09:30:00Z" }]),
            _ => json!([{ "id": 3, "at": "2026-01-05T09:10:00Z" }]),
        };
        Reply::json(&rows)
    });
    let mut source = listen(&connection, "Item", None);
    assert_eq!(next(&mut source).await, "1 2");
    world.skip(Duration::from_secs(45));
    assert_eq!(next(&mut source).await, "3 | end");
    assert_eq!(next(&mut source).await, "1 2");
    // 09:30:00, less 10 s of overlap, less 45 s begun: 46. What the requests themselves took comes on top.
    let since = query(&server.received()[2])["since"].clone();
    assert!(("2026-01-05T09:28:30Z"..="2026-01-05T09:29:04Z").contains(&since.as_str()), "{since}");
}

#[tokio::test]
async fn the_whole_list_shows_what_is_gone() {
    let crm = Crm::start(0, 2);
    let connection = crm.connect();
    let mut source = listen(&connection, "Person", None);
    assert_eq!(next(&mut source).await, "p/0 p/1 | all");
    crm.state().people.remove("p/0");
    assert_eq!(next(&mut source).await, "p/1 | all");
}

#[tokio::test]
async fn in_a_list_of_pages_only_what_two_looks_miss_is_gone() {
    let crm = Crm::start(0, 7);
    let connection = crm.connect();
    let mut source = listen(&connection, "Person", None);
    assert_eq!(next(&mut source).await, "p/0 p/1 p/2");
    assert_eq!(next(&mut source).await, "p/3 p/4 p/5");
    assert_eq!(next(&mut source).await, "p/6 | all");
    // While the first page is dealt with, a record of it goes: p/3 slips to where nobody looks.
    assert_eq!(next(&mut source).await, "p/0 p/1 p/2");
    crm.state().people.remove("p/0");
    assert_eq!(next(&mut source).await, "p/4 p/5 p/6");
    assert_eq!(next(&mut source).await, "| end", "p/3 is missing, and not gone");
    for last in ["| end", "| all"] {
        assert_eq!(next(&mut source).await, "p/1 p/2 p/3");
        assert_eq!(next(&mut source).await, "p/4 p/5 p/6");
        assert_eq!(next(&mut source).await, last);
    }
}

#[tokio::test]
async fn an_interrupted_first_listing_goes_on_at_its_page() {
    let crm = Crm::start(0, 7);
    let connection = crm.connect();
    let mut source = listen(&connection, "Person", None);
    let first = source.next().await.unwrap();
    assert_eq!(shown(&first), "p/0 p/1 p/2");
    drop(source);
    let mut source = listen(&connection, "Person", first.cursor);
    assert_eq!(next(&mut source).await, "p/3 p/4 p/5");
    assert_eq!(next(&mut source).await, "p/6 | all");
    let pages: Vec<String> = crm.server.received().iter().map(|request| query(request)["page"].clone()).collect();
    assert_eq!(pages, ["1", "2", "3"]);
}

#[tokio::test]
async fn an_interrupted_later_look_says_nothing_of_what_is_gone() {
    let crm = Crm::start(0, 4);
    let connection = crm.connect();
    let mut source = listen(&connection, "Person", None);
    assert_eq!(next(&mut source).await, "p/0 p/1 p/2");
    assert_eq!(next(&mut source).await, "p/3 | all");
    let middle = source.next().await.unwrap().cursor;
    let mut source = listen(&connection, "Person", middle);
    assert_eq!(next(&mut source).await, "p/3 | end", "it did not see the first page");
    for last in ["p/3 | end", "p/3 | all"] {
        assert_eq!(next(&mut source).await, "p/0 p/1 p/2");
        assert_eq!(next(&mut source).await, last);
    }
}

#[tokio::test]
async fn a_page_that_the_system_forgot_begins_the_listing_anew() {
    let file = EVENTS.replace(
        "paging = { page = \"page\", size = \"n\", of = 2 }",
        "records = \"/rows\"\npaging = { cursor = \"after\", next = \"/next\" }",
    );
    let file = format!("{file}[type.Item.listen]\nby = \"list\"\n");
    let expired = Arc::new(AtomicUsize::new(0));
    let dead = expired.clone();
    let (server, world, connection) = scripted(&file, move |request| match query(request).get("after") {
        None => Reply::json(
            &json!({ "rows": [{ "id": 1, "at": "2026-01-05T09:30:00Z" }], "next": format!("n{}", request.number) }),
        ),
        Some(after) if *after == format!("n{}", dead.load(Ordering::SeqCst)) => Reply::status(410).body("expired"),
        Some(_) => Reply::json(&json!({ "rows": [{ "id": 2, "at": "2026-01-05T09:30:00Z" }] })),
    });
    let mut source = listen(&connection, "Item", None);
    let first = source.next().await.unwrap();
    let error = source.next().await.unwrap_err();
    assert_eq!((error.kind, error.status), (Kind::Refused, Some(410)), "a fresh page is not forgotten");
    let mut source = listen(&connection, "Item", first.cursor);
    assert_eq!(next(&mut source).await, "1");
    assert_eq!(next(&mut source).await, "2 | all");
    assert_eq!(server.received().len(), 5);
    // The same in a source that was held up for long.
    let mut source = listen(&connection, "Item", None);
    assert_eq!(next(&mut source).await, "1");
    world.skip(Duration::from_secs(600));
    expired.store(5, Ordering::SeqCst);
    assert_eq!(next(&mut source).await, "1");
    assert_eq!(next(&mut source).await, "2 | all");
}

#[tokio::test]
async fn a_failure_is_told_and_the_next_look_goes_on() {
    let broken = Arc::new(AtomicUsize::new(0));
    let failing = broken.clone();
    let file = format!("{EVENTS}[type.Item.listen]\nby = \"list\"\n");
    let (_server, _world, connection) = scripted(&file, move |request| {
        if failing.load(Ordering::SeqCst) > 0 {
            return Reply::status(500);
        }
        let first = query(request)["page"] == "1";
        let rows = if first {
            json!([{ "id": 1, "at": "2026-01-05T09:30:00Z" }, { "id": 2, "at": "2026-01-05T09:30:00Z" }])
        } else {
            json!([])
        };
        Reply::json(&rows)
    });
    let mut source = listen(&connection, "Item", None);
    assert_eq!(next(&mut source).await, "1 2");
    broken.store(1, Ordering::SeqCst);
    let error = source.next().await.unwrap_err();
    assert_eq!((error.kind, error.attempts), (Kind::Passing, 4));
    broken.store(0, Ordering::SeqCst);
    assert_eq!(next(&mut source).await, "| all");
}

#[tokio::test]
async fn looks_are_apart_by_the_interval_with_jitter() {
    let crm = Crm::start(0, 1);
    let connection = crm.connect();
    let mut source = listen(&connection, "Person", None);
    for _ in 0..3 {
        next(&mut source).await;
    }
    let sleeps = crm.world.sleeps();
    assert_eq!(sleeps.len(), 2);
    // The world's die shows the middle: no jitter. What the request itself took is not waited again.
    assert!(sleeps.iter().all(|sleep| (20..=30).contains(&sleep.as_secs())), "{sleeps:?}");
}

#[tokio::test]
async fn a_listing_of_ten_thousand_is_handed_over_page_by_page() {
    let file = EVENTS.replace("of = 2", "of = 100");
    let file = format!("{file}[type.Item.listen]\nby = \"list\"\n");
    let (server, _world, connection) = scripted(&file, |request| {
        let page: u64 = query(request)["page"].parse().unwrap();
        let rows: Vec<_> = if page > 100 {
            Vec::new()
        } else {
            (0..100).map(|row| json!({ "id": page * 1000 + row, "at": "2026-01-05T09:30:00Z" })).collect()
        };
        Reply::json(&json!(rows))
    });
    let mut source = listen(&connection, "Item", None);
    let mut count = 0;
    for page in 1..=101 {
        let batch = source.next().await.unwrap();
        assert!(batch.events.len() <= 101);
        assert!(batch.cursor.as_ref().unwrap().0.len() < 200);
        assert_eq!(server.received().len(), page, "nothing is fetched ahead");
        count += batch.events.len();
    }
    assert_eq!(count, 10_001, "ten thousand records and the end");
}

#[tokio::test]
async fn a_position_that_is_none_is_refused() {
    let crm = Crm::start(0, 1);
    let connection: Arc<dyn Connection> = crm.connect();
    for text in ["", "7", "{\"page\":3}"] {
        let every = Duration::from_secs(1);
        let from = Some(Cursor(text.into()));
        let listen = lf_module::Listen { ty: "Person".into(), pins: lf_module::Record::new(), every, from };
        assert_eq!(connection.listen(listen).map(|_| ()).unwrap_err().kind, Kind::Limit, "{text}");
    }
}
