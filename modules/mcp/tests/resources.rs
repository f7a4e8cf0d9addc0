//! Resources as types of a connection: described, read, and listened to in both generations.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use lf_harness::{Fast, Received, Reply, Server, Step, Watched, watched::Habits};
use lf_module::{
    Batch, Call, CallError, Clock as _, Connection, Cursor, Description, Event, Key, Kind, Landed, Listen, Read,
    Record, Value,
    call::{ChangeKind, Changed, Origin, Settings},
};
use serde_json::{Value as Json, json};
use tokio::task::JoinHandle;

use crate::stage::{connect, credential, record};

const A: &str = "board://a/state.json";
const BOTH: [Habits; 2] = [Habits::LEGACY, Habits::MODERN];

struct Scene {
    clock: Arc<Fast>,
    watched: Watched,
    server: Server,
    connection: Arc<dyn Connection>,
}

/// What a source handed over.
type Heard = Arc<Mutex<Vec<Result<Batch, CallError>>>>;

impl Scene {
    fn new(habits: Habits) -> Self {
        let clock = Fast::new(0.5);
        let watched = Watched::new(habits, &[A, "note://a%2Fb/text"]);
        let server = watched.serve(0, clock.clone()).unwrap();
        let fields = [("url", &*server.url("/mcp")), ("token", "t")];
        let connection = connect(clock.ports(), credential(&fields), Settings::new()).unwrap();
        Self { clock, watched, server, connection }
    }

    /// The server also lists what is in `lists`, by method.
    fn listing(habits: Habits, lists: Json) -> Self {
        let scene = Self::new(habits);
        scene.watched.fault(move |received| {
            let result = lists.get(received.rpc())?;
            Some(Reply::json(&json!({"jsonrpc": "2.0", "id": received.rpc_id(), "result": result})))
        });
        scene
    }

    fn call(&self) -> Call {
        Call { deadline: self.clock.monotonic() + Duration::from_secs(300), idempotency: None }
    }

    async fn describe(&self) -> Description {
        self.connection.describe(&self.call()).await.unwrap()
    }

    async fn read(&self, ty: &str, pins: Record) -> Result<Vec<Landed>, CallError> {
        let read = Read { ty: ty.into(), origin: Origin::Root, pins, page: None };
        Ok(self.connection.read(&read, &self.call()).await?.records)
    }

    /// Starts a listener, and lets it subscribe.
    async fn listen(&self, ty: &str, pins: Record, from: Option<Cursor>) -> (JoinHandle<()>, Heard) {
        let listen = Listen { ty: ty.into(), pins, every: Duration::from_secs(60), from };
        let mut source = self.connection.listen(listen).unwrap();
        let heard = Heard::default();
        let into = heard.clone();
        let task = tokio::spawn(async move {
            loop {
                let batch = source.next().await;
                // As the host does: what can never be is not asked for again.
                let over = batch.as_ref().is_err_and(|error| error.kind == Kind::Limit);
                into.lock().unwrap().push(batch);
                if over {
                    break;
                }
            }
        });
        self.pass(2).await;
        (task, heard)
    }

    async fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds)).await;
    }

    fn got(&self, method: &str) -> Vec<Received> {
        let all = self.server.received();
        all.into_iter().filter(|one| one.rpc() == method || (one.rpc().is_empty() && one.method == method)).collect()
    }
}

fn at(uri: &str) -> Record {
    record(&[("uri", Value::text(uri))])
}

/// The changes that were heard, with the text of each.
fn changes(heard: &Heard) -> Vec<String> {
    let text = |changed: &Changed| {
        assert_eq!(changed.kind, ChangeKind::Updated);
        changed.record.get("text").and_then(Value::as_text).unwrap().to_owned()
    };
    let heard = heard.lock().unwrap();
    let events = heard.iter().filter_map(|batch| batch.as_ref().ok()).flat_map(|batch| &batch.events);
    events.filter_map(|event| if let Event::Changed(changed) = event { Some(text(changed)) } else { None }).collect()
}

fn listings(heard: &Heard) -> usize {
    let heard = heard.lock().unwrap();
    let events = heard.iter().filter_map(|batch| batch.as_ref().ok()).flat_map(|batch| &batch.events);
    events.filter(|event| matches!(event, Event::Listed(_))).count()
}

fn place(heard: &Heard) -> Option<Cursor> {
    heard.lock().unwrap().iter().filter_map(|batch| batch.as_ref().ok()).next_back()?.cursor.clone()
}

fn templates() -> Json {
    json!({"resources/templates/list": {"resourceTemplates": [
        {"name": "note", "uriTemplate": "note://{id}/text", "description": "one note"},
        {"name": "search", "uriTemplate": "find://{topic}{?limit}"},
        {"name": "cut", "uriTemplate": "x://{a:3}"},
        {"name": "note", "uriTemplate": "other://{id}"},
        {"uriTemplate": "nameless://{id}"},
        7,
    ]}})
}

#[tokio::test]
async fn resources_and_templates_are_types() {
    for habits in BOTH {
        let scene = Scene::listing(habits, templates());
        let description = scene.describe().await;
        let names: Vec<_> = description.types.iter().map(|ty| ty.name.as_str()).collect();
        assert_eq!(names, ["resource", "note", "search"]);
        let facts = |name: &str| {
            let ty = description.get(name).unwrap();
            let pins: Vec<_> = ty.pins.iter().map(|pin| (pin.field.to_string(), pin.required)).collect();
            let fields: Vec<_> = ty.fields.iter().map(|field| field.name.to_string()).collect();
            assert!(ty.readable && !ty.writable && !ty.updatable && !ty.deletable);
            assert_eq!(ty.listenable.as_ref().unwrap().pins, ty.pins);
            (pins, fields.join(" "))
        };
        let pin = |name: &str, required| (name.to_owned(), required);
        assert_eq!(facts("resource"), (vec![pin("uri", true)], "uri name mime_type text content file".to_owned()));
        assert_eq!(facts("note"), (vec![pin("id", true)], "id uri name mime_type text content file".to_owned()));
        let pins = vec![pin("topic", true), pin("limit", false)];
        assert_eq!(facts("search"), (pins, "topic limit uri name mime_type text content file".to_owned()));
        let left: Vec<_> = description.warnings.iter().filter(|it| it.contains("template")).collect();
        assert_eq!(left.len(), 4, "{left:#?}");
    }
}

#[tokio::test]
async fn a_resource_is_read_by_its_uri_and_by_what_its_template_takes() {
    for habits in BOTH {
        let scene = Scene::listing(habits, templates());
        let found = scene.read("resource", at(A)).await.unwrap();
        assert_eq!(found[0].key, Some(Key(A.into())));
        assert_eq!(found[0].fields.get("uri"), Some(&Value::text(A)));
        assert_eq!(found[0].fields.get("text"), Some(&Value::text(format!("the text of {A}"))));
        let Some(Value::List(parts)) = found[0].fields.get("content") else { panic!("{found:?}") };
        assert_eq!(parts[0].field("uri"), Some(&Value::text(A)));

        let found = scene.read("note", record(&[("id", Value::text("a/b"))])).await.unwrap();
        assert_eq!(found[0].fields.get("id"), Some(&Value::text("a/b")));
        assert_eq!(found[0].fields.get("uri"), Some(&Value::text("note://a%2Fb/text")));

        assert!(scene.read("resource", at("board://nowhere")).await.unwrap().is_empty());
        let key = Key(A.into());
        let got = scene.connection.get(&"resource".into(), &key, &scene.call()).await.unwrap();
        assert_eq!(got.unwrap().fields.get("text"), Some(&Value::text(format!("the text of {A}"))));
        let error = scene.read("note", Record::new()).await.unwrap_err();
        assert_eq!((error.kind, error.field.as_deref()), (Kind::Refused, Some("id")));
        if habits.modern {
            for one in scene.got("resources/read") {
                assert_eq!(one.header("mcp-name"), one.json().pointer("/params/uri").and_then(Json::as_str));
            }
        }
    }
}

#[tokio::test]
async fn what_a_part_says_of_itself_is_there() {
    let contents = json!([
        {"uri": A, "name": "state", "mimeType": "text/plain", "text": "one"},
        {"uri": A, "mimeType": "image/png", "blob": "AA=="},
        {"uri": A, "text": "two"},
    ]);
    let scene = Scene::listing(Habits::LEGACY, json!({"resources/read": {"contents": contents}}));
    let found = scene.read("resource", at(A)).await.unwrap();
    let field = |name: &str| found[0].fields.get(name).and_then(Value::as_text).unwrap().to_owned();
    assert_eq!([field("name"), field("mime_type"), field("text")], ["state", "text/plain", "one\ntwo"]);

    let scene = Scene::listing(Habits::LEGACY, json!({"resources/read": {"contents": []}}));
    let found = scene.read("resource", at(A)).await.unwrap();
    assert_eq!(found[0].fields.get("text"), Some(&Value::text("")));
    assert_eq!(found[0].fields.get("mime_type"), None);

    let scene = Scene::listing(Habits::LEGACY, json!({"resources/read": {}}));
    assert!(scene.read("resource", at(A)).await.unwrap_err().message.contains("no list of contents"));
}

#[tokio::test]
async fn a_tool_goes_before_a_resource_of_its_name() {
    let mut lists = templates();
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    lists["tools/list"] = json!({"tools": [tool("resource"), tool("note")]});
    let scene = Scene::listing(Habits::LEGACY, lists);
    let description = scene.describe().await;
    let names: Vec<_> = description.types.iter().map(|ty| (ty.name.as_str(), ty.writable)).collect();
    assert_eq!(names, [("resource", true), ("note", true), ("search", false)]);
    assert!(description.warnings.iter().any(|it| it.contains("a tool is called `resource`")));
}

#[tokio::test]
async fn only_what_the_server_can_subscribe_to_is_listened_to() {
    let scene = Scene::new(Habits { says_so: false, ..Habits::LEGACY });
    assert_eq!(scene.describe().await.get("resource").unwrap().listenable, None);
}

#[tokio::test]
async fn a_first_look_is_no_change_and_each_push_is_one() {
    for habits in BOTH {
        let scene = Scene::new(habits);
        let (_task, heard) = scene.listen("resource", at(A), None).await;
        assert_eq!((listings(&heard), changes(&heard).len()), (1, 0), "{heard:?}");
        assert_eq!(scene.watched.change(A, "two"), 1);
        scene.pass(1).await;
        assert_eq!(scene.watched.change(A, "three"), 1);
        scene.pass(1).await;
        assert_eq!(changes(&heard), ["two", "three"]);
        assert_eq!(listings(&heard), 1);
    }
}

#[tokio::test]
async fn a_template_is_listened_to_by_its_variables() {
    for habits in BOTH {
        let scene = Scene::listing(habits, templates());
        let (_task, heard) = scene.listen("note", record(&[("id", Value::text("a/b"))]), None).await;
        assert_eq!(scene.watched.change("note://a%2Fb/text", "new"), 1);
        scene.pass(1).await;
        assert_eq!(changes(&heard), ["new"]);
    }
}

#[tokio::test]
async fn after_a_gap_only_another_content_is_a_change() {
    for habits in BOTH {
        let scene = Scene::new(habits);
        let (_task, heard) = scene.listen("resource", at(A), None).await;
        scene.watched.end_streams(&Step::Close);
        scene.pass(60).await;
        assert_eq!(changes(&heard), Vec::<String>::new(), "nothing changed in the gap");
        scene.watched.end_streams(&Step::Close);
        scene.watched.write(A, "changed in the gap");
        scene.pass(60).await;
        assert_eq!(changes(&heard), ["changed in the gap"]);
        assert_eq!(scene.watched.change(A, "and pushed"), 1, "the subscription stands");
        scene.pass(1).await;
        assert_eq!(changes(&heard).last().unwrap(), "and pushed");
    }
}

#[tokio::test]
async fn a_restart_goes_on_from_the_stored_position() {
    for habits in BOTH {
        let scene = Scene::new(habits);
        let (task, heard) = scene.listen("resource", at(A), None).await;
        scene.watched.change(A, "two");
        scene.pass(1).await;
        let stored = place(&heard);
        task.abort();
        scene.pass(5).await;
        assert_eq!(scene.watched.streams(), 0, "a source that is gone listens no more");

        let (task, heard) = scene.listen("resource", at(A), stored.clone()).await;
        assert_eq!((listings(&heard), changes(&heard)), (0, vec![]), "nothing happened while it was away");
        task.abort();
        scene.watched.write(A, "changed while away");
        let (task, heard) = scene.listen("resource", at(A), stored.clone()).await;
        assert_eq!(changes(&heard), ["changed while away"]);
        task.abort();
        // What was handed over and not stored comes again, as the same delivery.
        let (_task, again) = scene.listen("resource", at(A), stored).await;
        let delivery = |heard: &Heard| {
            let heard = heard.lock().unwrap();
            let events = heard.iter().filter_map(|batch| batch.as_ref().ok()).flat_map(|batch| &batch.events);
            events
                .filter_map(|event| if let Event::Changed(it) = event { Some(it.delivery.clone()) } else { None })
                .next()
        };
        assert_eq!(delivery(&heard), delivery(&again));
        assert!(delivery(&heard).is_some());
    }
}

#[tokio::test]
async fn a_server_that_is_away_is_said_and_waited_for() {
    for habits in BOTH {
        let scene = Scene::new(habits);
        scene.describe().await;
        scene.watched.fault(|_| Some(Reply::status(502)));
        let (_task, heard) = scene.listen("resource", at(A), None).await;
        scene.pass(30).await;
        let failures = heard.lock().unwrap().iter().filter(|batch| batch.is_err()).count();
        assert!((1..20).contains(&failures), "{heard:?}");
        scene.watched.heal();
        scene.pass(60).await;
        assert_eq!(listings(&heard), 1);
        assert_eq!(scene.watched.change(A, "two"), 1);
        scene.pass(1).await;
        assert_eq!(changes(&heard), ["two"]);
    }
}

#[tokio::test]
async fn a_list_that_changes_is_heard_on_the_stream_too() {
    let lists = json!({"tools/list": {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": []}});
    let scene = Scene::listing(Habits::LEGACY, lists);
    scene.describe().await;
    let (_task, _heard) = scene.listen("resource", at(A), None).await;
    let act = lf_module::Write::Create { origin: Origin::Root, ty: "act".into(), fields: Record::new() };
    scene.connection.write(&act, &scene.call()).await.unwrap();
    assert_eq!(scene.got("tools/list").len(), 1);
    scene.watched.say("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n");
    scene.pass(1).await;
    scene.connection.write(&act, &scene.call()).await.unwrap();
    assert_eq!(scene.got("tools/list").len(), 2);
}

#[tokio::test]
async fn a_tool_is_not_listened_to_even_if_nothing_is_known_yet() {
    let lists = json!({"tools/list": {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}});
    let scene = Scene::listing(Habits::LEGACY, lists);
    let (_task, heard) = scene.listen("act", Record::new(), None).await;
    let first = heard.lock().unwrap()[0].clone().unwrap_err();
    assert!(first.kind == Kind::Limit && first.message.contains("cannot be listened to"), "{first}");
}
