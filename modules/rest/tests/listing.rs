//! Lists: the pagings, their bounds, and what does not fit the schema.

use std::sync::Arc;

use lf_harness::{Reply, Server, World};
use lf_module::{CallError, Connection, Key, Kind, Landed, Read, Record, Value, call::Origin, json as exact};
use serde_json::json;

use crate::crm::{Crm, call, query, read, scripted};

const ITEM: &str = r#"
[type.Item]
key = "id"
[type.Item.schema]
required = ["id"]
properties.id = { type = "integer" }
properties.tag = { type = "string" }
"#;

fn items(list: &str) -> String {
    format!("{ITEM}[type.Item.list]\npath = \"/items\"\n{list}")
}

async fn all(connection: &Arc<dyn Connection>, world: &Arc<World>) -> Result<Vec<Landed>, CallError> {
    let mut records = Vec::new();
    let mut at = read("Item", None);
    loop {
        let page = connection.read(&at, &call(world)).await?;
        records.extend(page.records);
        at.page = page.next;
        if at.page.is_none() {
            return Ok(records);
        }
    }
}

fn keys(records: &[Landed]) -> Vec<String> {
    records.iter().map(|landed| landed.key.as_ref().unwrap().to_string()).collect()
}

fn queries(server: &Server) -> Vec<String> {
    server
        .received()
        .iter()
        .map(|request| request.path.split_once('?').map_or("", |(_, query)| query).to_owned())
        .collect()
}

#[tokio::test]
async fn a_cursor_is_followed_to_its_end() {
    let (server, world, connection) = scripted(
        &items(
            "records = \"/data/0/rows\"\nquery = { sort = \"id\", deep = true }\npaging = { cursor = \"after\", next = \"/meta/next\" }",
        ),
        |request| {
            let next = match query(request).get("after").map(String::as_str) {
                None => json!(7),
                Some("7") => json!("a b&c"),
                Some("a b&c") => json!(""),
                Some(other) => panic!("{other}"),
            };
            Reply::json(&json!({ "data": [{ "rows": [{ "id": request.number }] }], "meta": { "next": next } }))
        },
    );
    assert_eq!(keys(&all(&connection, &world).await.unwrap()), ["0", "1", "2"]);
    assert_eq!(queries(&server), ["sort=id&deep=true", "sort=id&deep=true&after=7", "sort=id&deep=true&after=a+b%26c"]);
}

#[tokio::test]
async fn a_cursor_ends_where_the_system_says_that_there_is_no_more() {
    let (server, world, connection) = scripted(
        &items("records = \"/rows\"\npaging = { cursor = \"after\", next = \"/next\", more = \"/has_more\" }"),
        |request| {
            Reply::json(&json!({ "rows": [], "next": format!("n{}", request.number), "has_more": request.number < 2 }))
        },
    );
    assert!(all(&connection, &world).await.unwrap().is_empty());
    assert_eq!(server.received().len(), 3);
}

#[tokio::test]
async fn pages_are_counted_until_one_is_short_or_empty() {
    for (paging, expected) in [
        (
            "paging = { page = \"page\", size = \"per_page\", of = 2 }",
            vec!["page=1&per_page=2", "page=2&per_page=2", "page=3&per_page=2"],
        ),
        ("paging = { page = \"offset\", first = 0, step = 2 }", vec!["offset=0", "offset=2", "offset=4", "offset=6"]),
    ] {
        let (server, world, connection) = scripted(&items(paging), |request| {
            let rows = [vec![1, 2], vec![3, 4], vec![5], vec![]];
            let rows: Vec<_> = rows[request.number].iter().map(|id| json!({ "id": id })).collect();
            Reply::json(&json!(rows))
        });
        assert_eq!(keys(&all(&connection, &world).await.unwrap()), ["1", "2", "3", "4", "5"]);
        assert_eq!(queries(&server), expected);
    }
}

#[tokio::test]
async fn a_link_header_is_followed_on_the_same_host_only() {
    let (server, world, connection) = scripted(&items("paging = { link = \"next\" }"), |request| {
        let reply = Reply::json(&json!([{ "id": request.number }]));
        match request.number {
            0 => reply.header("Link", "</first>; rel=\"first\", </items?at=2,5&x=%20>; title=\"a\"; rel=\"last next\""),
            1 => reply.header("link", "<?at=9>;rel=next"),
            2 => reply.header("Link", "<http://169.254.169.254/items>; rel=next"),
            _ => reply,
        }
    });
    let mut at = read("Item", None);
    for _ in 0..2 {
        at.page = connection.read(&at, &call(&world)).await.unwrap().next;
    }
    let error = connection.read(&at, &call(&world)).await.unwrap_err();
    assert_eq!(error.kind, Kind::Drift);
    assert_eq!(error.message, "`GET /items`: the link to the next page leads to another host");
    assert_eq!(queries(&server), ["", "at=2,5&x=%20", "at=9"]);
    assert!(server.received().iter().all(|request| request.header("authorization").is_some()));
}

#[tokio::test]
async fn a_page_that_leads_to_itself_is_drift() {
    let (server, world, connection) =
        scripted(&items("records = \"/rows\"\npaging = { cursor = \"after\", next = \"/next\" }"), |_| {
            Reply::json(&json!({ "rows": [], "next": "again" }))
        });
    let error = all(&connection, &world).await.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (Kind::Drift, "`GET /items`: the next page is the page itself"));
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn ten_thousand_records_come_page_by_page_and_only_when_asked_for() {
    let (server, world, connection) =
        scripted(&items("paging = { page = \"page\", size = \"n\", of = 100 }"), |request| {
            let page: u64 = query(request)["page"].parse().unwrap();
            let rows: Vec<_> =
                if page > 100 { vec![] } else { (0..100).map(|row| json!({ "id": page * 1000 + row })).collect() };
            Reply::json(&json!(rows))
        });
    let mut at = read("Item", None);
    let mut count = 0;
    for page in 1..=101 {
        let got = connection.read(&at, &call(&world)).await.unwrap();
        assert!(got.records.len() <= 100);
        assert_eq!(server.received().len(), page, "nothing is fetched ahead");
        count += got.records.len();
        at.page = got.next;
    }
    assert_eq!((count, at.page), (10_000, None));
}

#[tokio::test]
async fn a_listing_is_bounded_in_pages_records_and_bytes() {
    for (limit, message) in [
        ("pages = 3", "the list of `Item` has more than 3 pages, the limit of one listing"),
        ("records = 5", "the list of `Item` has more than 5 records, the limit of one listing"),
        ("bytes = 20", "`GET /items`: the answer is larger than 20 bytes"),
    ] {
        let file = format!("limits.{limit}\n{}", items("paging = { page = \"page\" }"));
        let world = World::new(0.5);
        let server = Server::start(world.clone(), |request| {
            Reply::json(&json!([{ "id": request.number }, { "id": 1000 + request.number }]))
        })
        .unwrap();
        let text = format!("{file}\n{}", crate::crm::HEAD);
        let connection = crate::crm::connect(&text, &server.url(""), world.ports()).unwrap();
        let error = all(&connection, &world).await.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (Kind::Limit, message));
        assert!(server.received().len() <= 4);
    }
}

#[tokio::test]
async fn what_does_not_fit_the_schema_is_drift_named_by_its_pointer() {
    let table = [
        (
            json!({ "rows": [{ "id": 1 }, { "id": 2, "tag": 5 }] }),
            "`GET /items`: `/rows/1/tag` is not a `Item` as described: value is not of type \"string\"",
        ),
        (
            json!({ "rows": [{ "tag": "x" }] }),
            "`GET /items`: `/rows/0` is not a `Item` as described: \"id\" is a required property",
        ),
        (json!({ "rows": { "id": 1 } }), "`GET /items`: `/rows` is not a list of records"),
        (json!({}), "`GET /items`: `/rows` is not a list of records"),
    ];
    for (answer, message) in table {
        let (_server, world, connection) = scripted(&items("records = \"/rows\""), move |_| Reply::json(&answer));
        let error = all(&connection, &world).await.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (Kind::Drift, message));
        assert!(!error.may_have_acted());
    }
    let (_server, world, connection) = scripted(&items(""), |_| Reply::raw_json("<html>"));
    let error = all(&connection, &world).await.unwrap_err();
    assert_eq!(error.kind, Kind::Drift);
    assert_eq!(error.message, "`GET /items` answered with what is not JSON at byte 0: expected a value");
}

#[tokio::test]
async fn every_type_of_field_is_read_and_numbers_keep_their_digits() {
    let file = r##"
[defs.Money]
type = "object"
properties = { amount = { type = "number" } }
[type.Item]
key = "id"
[type.Item.schema]
required = ["id", "when"]
properties.id = { type = "integer" }
properties.day = { type = "string", format = "date" }
properties.when = { type = "string", format = "date-time" }
properties.tags = { type = "array", items = { enum = ["a", "b"] } }
properties.price = { "$ref" = "#/$defs/Money" }
properties.gone = { type = ["string", "null"] }
properties.secret = { type = "string", writeOnly = true }
[type.Item.list]
path = "/items"
"##;
    let body = r#"[{"id":9007199254740993,"day":"2026-01-31","when":"2026-01-31T10:00:00+01:00","tags":["b","a"],
        "price":{"amount":0.10000000000000000000000001,"wide":1e400},"gone":null,"secret":"x","more":1}]"#;
    let (_server, world, connection) = scripted(file, move |_| Reply::raw_json(body));
    let landed = all(&connection, &world).await.unwrap().remove(0);
    assert_eq!(landed.key, Some(Key("9007199254740993".into())));
    let shown: Vec<(String, String)> =
        landed.fields.iter().map(|(name, value)| (name.to_string(), exact::encode(value))).collect();
    let expected = [
        ("id", "9007199254740993"),
        ("day", r#"{"$date":"2026-01-31"}"#),
        ("when", r#"{"$at":"2026-01-31T09:00:00Z"}"#),
        ("tags", r#"["b","a"]"#),
        ("price", r#"{"amount":0.10000000000000000000000001,"wide":1e400}"#),
    ];
    assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[tokio::test]
async fn a_date_that_is_none_is_drift() {
    let file = ITEM.replace("{ type = \"string\" }", "{ type = \"string\", format = \"date-time\" }");
    let file = format!("{file}[type.Item.list]\npath = \"/items\"\n");
    let (_server, world, connection) =
        scripted(&file, |_| Reply::json(&json!([{ "id": 1, "tag": "2026-01-31 10:00" }])));
    let error = all(&connection, &world).await.unwrap_err();
    assert_eq!(
        error.message,
        "`GET /items`: `/0/tag` is not a `Item` as described: expected an instant like `2026-01-31T09:00:00Z`"
    );
}

#[tokio::test]
async fn a_field_in_the_list_s_path_is_a_pin() {
    let (server, world, connection) = scripted(
        &format!("{ITEM}[type.Item.list]\npath = \"/tags/{{tag}}/items\"\n[type.Item.listen]\nby = \"list\"\n"),
        |_| Reply::json(&json!([])),
    );
    let shape = connection.describe(&call(&world)).await.unwrap().types.remove(0);
    assert_eq!((shape.pins.len(), shape.pins[0].field.as_str(), shape.pins[0].required), (1, "tag", true));
    assert_eq!(shape.listenable.unwrap().pins, shape.pins);
    let error = connection.read(&read("Item", None), &call(&world)).await.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (Kind::Limit, "a list of `Item` needs `tag`"));
    let pins = Record::from_iter([("tag", Value::text("a/b ü"))]);
    connection.read(&Read { pins, ..read("Item", None) }, &call(&world)).await.unwrap();
    assert_eq!(server.received()[0].path, "/tags/a%2Fb%20%C3%BC/items");
}

#[tokio::test]
async fn an_edge_is_walked_in_pages_and_lands_on_its_type() {
    let crm = Crm::start(1, 5);
    let connection = crm.connect();
    let origin = Origin::Record { ty: "Company".into(), key: Key("1".into()), edge: "People".into() };
    let mut at = Read { ty: "Person".into(), origin, pins: Record::new(), page: None };
    let mut count = 0;
    loop {
        let page = connection.read(&at, &call(&crm.world)).await.unwrap();
        count += page.records.len();
        at.page = page.next;
        if at.page.is_none() {
            break;
        }
    }
    assert_eq!(count, 5);
    assert_eq!(crm.server.received().len(), 3);
    let origin = Origin::Record { ty: "Company".into(), key: Key("1".into()), edge: "Nothing".into() };
    let error = connection.read(&Read { origin, ..at }, &call(&crm.world)).await.unwrap_err();
    assert_eq!(error.message, "`Company` has no edge `Nothing`");
}

#[tokio::test]
async fn an_edge_to_one_record_or_none() {
    let file = format!(
        "{ITEM}edge.Parent = {{ target = \"Item\", count = \"optional\", path = \"/items/{{key}}/parent\", record = \"/data\" }}\n\
         edge.Root = {{ target = \"Item\", count = \"one\", path = \"/items/{{key}}/root\" }}\n"
    )
    .replace("[type.Item.schema]", "#")
    .replace("required = [\"id\"]", "schema.required = [\"id\"]")
    .replace("properties.", "schema.properties.");
    let (_server, world, connection) = scripted(&file, |request| match request.path.as_str() {
        "/items/1/parent" => Reply::json(&json!({ "data": { "id": 2 } })),
        "/items/2/parent" => Reply::json(&json!({ "data": null })),
        _ => Reply::status(404),
    });
    let walk = async |key: &str, edge: &str| {
        let origin = Origin::Record { ty: "Item".into(), key: Key(key.into()), edge: edge.into() };
        connection.read(&Read { origin, ..read("Item", None) }, &call(&world)).await
    };
    assert_eq!(keys(&walk("1", "Parent").await.unwrap().records), ["2"]);
    assert!(walk("2", "Parent").await.unwrap().records.is_empty());
    assert!(walk("3", "Parent").await.unwrap().records.is_empty());
    assert_eq!(walk("1", "Root").await.unwrap_err().kind, Kind::Drift);
}

#[tokio::test]
async fn a_find_compares_again_what_the_system_filtered() {
    let crm = Crm::start(0, 0);
    for name in ["Umbra", "umbra", "Umbra GmbH", "Umbra", "Other"] {
        crm.state().company(name);
    }
    let connection = crm.connect();
    let find = async |name: &str| {
        let by = Record::from_iter([("Name", Value::text(name))]);
        keys(&connection.find(&"Company".into(), &by, &call(&crm.world)).await.unwrap())
    };
    assert_eq!(find("Umbra").await, ["1", "4"]);
    assert_eq!(find("umbra").await, ["2"]);
    assert_eq!(find("Umb").await, Vec::<String>::new());
    for blank in [Value::Absent, "".into(), " ".into()] {
        let by = Record::from_iter([("Name", blank)]);
        assert!(connection.find(&"Company".into(), &by, &call(&crm.world)).await.unwrap().is_empty());
    }
    let by = Record::from_iter([("id", Value::from(3))]);
    assert_eq!(keys(&connection.find(&"Company".into(), &by, &call(&crm.world)).await.unwrap()), ["3"]);
    let by = Record::from_iter([("size", Value::text("small"))]);
    let error = connection.find(&"Company".into(), &by, &call(&crm.world)).await.unwrap_err();
    assert_eq!(error.message, "`Company` cannot be found by `size`: the module declares no such `find_by`");
}

#[tokio::test]
async fn without_a_get_the_list_is_looked_through() {
    let crm = Crm::start(0, 7);
    let connection = crm.connect();
    let got = connection.get(&"Person".into(), &Key("p/5".into()), &call(&crm.world)).await.unwrap().unwrap();
    assert_eq!(got.fields.get("email"), Some(&Value::text("5@example.com")));
    assert_eq!(crm.server.received().len(), 2, "not further than needed");
    assert!(connection.get(&"Person".into(), &Key("p/9".into()), &call(&crm.world)).await.unwrap().is_none());
}
