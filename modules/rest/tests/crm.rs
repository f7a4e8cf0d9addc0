//! A small CRM, in memory behind a scripted server, and the module file that declares it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use lf_harness::{Received, Reply, Server, World};
use lf_module::{
    Call, CallError, Connection, Credential, Cursor, Listen, Module as _, Ports, Read, Record, Secret, Source, Target,
    call::{Origin, Settings},
};
use lf_rest::RestModule;
use serde_json::{Value as Json, json};

pub(crate) const TOKEN: &str = "tok-3f9a61c2";

/// What the files of these tests begin with.
pub(crate) const HEAD: &str = r#"
[credential.token]
sign = { bearer = "{token}" }
fields.url = { secret = false }
fields.token = { doc = "the token" }
"#;

/// A whole system: three pagings, both ways of listening, edges, every write.
pub(crate) const CRM: &str = r#"
[credential.token]
sign = { bearer = "{token}" }
fields.url = { secret = false }
fields.token = { doc = "the token" }

[type.Company]
key = "id"
version = "revision"
find_by = [{ Name = "name" }]
[type.Company.schema]
required = ["id", "Name", "revision"]
properties.id = { type = "integer", readOnly = true }
properties.Name = { type = "string" }
properties.size = { enum = ["small", "large"] }
properties.note = { type = ["string", "null"] }
properties.revision = { type = "integer", readOnly = true }
[type.Company.list]
path = "/companies"
records = "/items"
paging = { cursor = "after", next = "/next" }
[type.Company.get]
path = "/companies/{key}"
[type.Company.create]
path = "/companies"
idempotency_header = "Idempotency-Key"
[type.Company.update]
path = "/companies/{key}"
[type.Company.delete]
path = "/companies/{key}"
[type.Company.listen]
by = "cursor"
field = "revision"
query = "since"
[type.Company.edge.People]
target = "Person"
path = "/companies/{key}/people"
paging = { link = "next" }
[type.Company.edge.Members]
target = "Person"
path = "/companies/{key}/members"
create = { path = "/companies/{key}/members" }
link = { path = "/companies/{key}/members/{to}" }
unlink = { path = "/companies/{key}/members/{to}" }
[type.Company.edge.Watchers]
target = "Person"
path = "/companies/{key}/watchers"
link = { method = "POST", path = "/companies/{key}/watchers", body = { person = "{to}" } }
unlink = { method = "POST", path = "/companies/{key}/watchers/remove", body = { person = "{to}" } }

[type.Person]
key = "id"
[type.Person.schema]
required = ["id", "email"]
properties.id = { type = "string", readOnly = true }
properties.email = { type = "string" }
[type.Person.list]
path = "/people"
paging = { page = "page", size = "per_page", of = 3 }
[type.Person.create]
path = "/people"
[type.Person.listen]
by = "list"
"#;

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) companies: BTreeMap<u64, Json>,
    pub(crate) people: BTreeMap<String, Json>,
    pub(crate) revision: u64,
    keys: BTreeMap<String, u64>,
    /// What a `PUT` joins once.
    pub(crate) members: BTreeSet<(u64, String)>,
    /// What a `POST` joins as often as it comes.
    pub(crate) watchers: Vec<(u64, String)>,
}

impl State {
    pub(crate) fn company(&mut self, name: &str) -> u64 {
        self.revision += 1;
        let id = self.companies.keys().last().copied().unwrap_or(0) + 1;
        self.companies.insert(id, json!({ "id": id, "Name": name, "revision": self.revision, "extra": [1] }));
        id
    }

    pub(crate) fn person(&mut self, email: &str) -> String {
        let id = format!("p/{}", self.people.len());
        self.people.insert(id.clone(), json!({ "id": id, "email": email }));
        id
    }
}

pub(crate) struct Crm {
    pub(crate) server: Server,
    pub(crate) state: Arc<Mutex<State>>,
    pub(crate) world: Arc<World>,
}

impl Crm {
    pub(crate) fn start(companies: usize, people: usize) -> Self {
        let mut state = State::default();
        for number in 0..companies {
            state.company(&format!("Company {number}"));
        }
        for number in 0..people {
            state.person(&format!("{number}@example.com"));
        }
        let state = Arc::new(Mutex::new(state));
        let world = World::new(0.5);
        let shared = state.clone();
        let server = Server::start(world.clone(), move |request| answer(&mut shared.lock().unwrap(), request)).unwrap();
        Self { server, state, world }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn connect(&self) -> Arc<dyn Connection> {
        connect(CRM, &self.server.url(""), self.world.ports()).unwrap()
    }
}

/// The parameters of a request.
pub(crate) fn query(request: &Received) -> BTreeMap<String, String> {
    let query = request.path.split_once('?').map_or("", |(_, query)| query);
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// The path of a request, decoded.
fn path(request: &Received) -> Vec<String> {
    let path = request.path.split('?').next().unwrap();
    let decode =
        |part: &str| url::form_urlencoded::parse(format!("k={part}").as_bytes()).next().unwrap().1.into_owned();
    path.split('/').skip(1).map(decode).collect()
}

fn answer(state: &mut State, request: &Received) -> Reply {
    if request.header("authorization") != Some(&format!("Bearer {TOKEN}")) {
        return Reply::status(401).body(format!("not with {}", request.header("authorization").unwrap_or_default()));
    }
    let (query, path) = (query(request), path(request));
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match (request.method.as_str(), path.as_slice()) {
        ("GET", ["companies"]) => {
            let after: u64 = query.get("after").map_or(0, |after| after.parse().unwrap());
            let since: u64 = query.get("since").map_or(0, |since| since.parse().unwrap());
            let fits = |company: &&Json| {
                company["id"].as_u64() > Some(after)
                    && company["revision"].as_u64() >= Some(since)
                    && query.get("name").is_none_or(|name| {
                        company["Name"].as_str().unwrap().to_lowercase().contains(&name.to_lowercase())
                    })
            };
            let items: Vec<&Json> = state.companies.values().filter(fits).take(4).collect();
            let next = (items.len() == 4).then(|| items[3]["id"].clone());
            Reply::json(&json!({ "items": items, "next": next }))
        }
        ("POST", ["companies"]) => {
            let key = request.header("idempotency-key").unwrap_or_default().to_owned();
            if let Some(id) = state.keys.get(&key) {
                return Reply::json(&state.companies[id]);
            }
            let id = state.company("");
            state.keys.insert(key, id);
            change(state, id, request)
        }
        ("GET", ["companies", id]) => {
            id.parse().ok().and_then(|id: u64| state.companies.get(&id)).map_or_else(missing, Reply::json)
        }
        ("PATCH", ["companies", id]) => {
            let id = id.parse().unwrap();
            if !state.companies.contains_key(&id) {
                return missing();
            }
            state.revision += 1;
            let revision = state.revision;
            state.companies.get_mut(&id).unwrap()["revision"] = revision.into();
            change(state, id, request)
        }
        ("DELETE", ["companies", id]) => {
            let gone = id.parse().ok().and_then(|id: u64| state.companies.remove(&id));
            if gone.is_some() { Reply::status(204) } else { missing() }
        }
        ("GET", ["companies", _, "people"]) => {
            let from: usize = query.get("from").map_or(0, |from| from.parse().unwrap());
            let people: Vec<&Json> = state.people.values().skip(from).take(2).collect();
            let reply = Reply::json(&json!(people));
            if from + 2 < state.people.len() {
                let more = format!("<{}?from={}>; rel=\"next\"", request.path.split('?').next().unwrap(), from + 2);
                return reply.header("Link", "</elsewhere>; rel=first").header("Link", &more);
            }
            reply
        }
        (method, ["companies", id, edge @ ("members" | "watchers"), rest @ ..]) => {
            tied(state, request, method, id.parse().unwrap(), edge, rest)
        }
        ("GET", ["people"]) => {
            let page: usize = query["page"].parse().unwrap();
            let size: usize = query["per_page"].parse().unwrap();
            let people: Vec<&Json> = state.people.values().skip((page - 1) * size).take(size).collect();
            Reply::json(&json!(people))
        }
        ("POST", ["people"]) => {
            let email = request.json()["email"].as_str().unwrap().to_owned();
            let id = state.person(&email);
            Reply::json(&state.people[&id])
        }
        _ => missing(),
    }
}

fn tied(state: &mut State, request: &Received, method: &str, id: u64, edge: &str, rest: &[&str]) -> Reply {
    let person = |request: &Received| request.json()["person"].as_str().unwrap().to_owned();
    match (method, edge, rest) {
        ("GET", "members", []) => {
            let people = state.members.iter().filter(|(company, _)| *company == id);
            Reply::json(&people.map(|(_, person)| state.people[person].clone()).collect::<Json>())
        }
        ("GET", "watchers", []) => {
            let people = state.watchers.iter().filter(|(company, _)| *company == id);
            Reply::json(&people.map(|(_, person)| state.people[person].clone()).collect::<Json>())
        }
        ("POST", "members", []) => {
            let person = state.person(request.json()["email"].as_str().unwrap());
            state.members.insert((id, person.clone()));
            Reply::json(&state.people[&person])
        }
        ("PUT", "members", [person]) => {
            state.members.insert((id, (*person).to_owned()));
            Reply::status(204)
        }
        ("DELETE", "members", [person]) => {
            if state.members.remove(&(id, (*person).to_owned())) {
                Reply::status(204)
            } else {
                missing()
            }
        }
        ("POST", "watchers", []) => {
            state.watchers.push((id, person(request)));
            Reply::status(201)
        }
        ("POST", "watchers", ["remove"]) => {
            let gone = (id, person(request));
            let at = state.watchers.iter().position(|tie| *tie == gone);
            // A system that minds being asked twice.
            at.map_or_else(
                || Reply::status(422),
                |at| {
                    state.watchers.remove(at);
                    Reply::status(200)
                },
            )
        }
        _ => missing(),
    }
}

fn change(state: &mut State, id: u64, request: &Received) -> Reply {
    let company = state.companies.get_mut(&id).unwrap();
    for (name, value) in request.json().as_object().unwrap() {
        company[name] = value.clone();
    }
    Reply::json(company)
}

fn missing() -> Reply {
    Reply::status(404).header("Content-Type", "application/json").body(r#"{"message":"nothing here"}"#)
}

/// The module of a file that has no mistakes.
pub(crate) fn module(text: &str) -> RestModule {
    let (module, problems) = RestModule::load("crm", text);
    assert!(problems.is_empty(), "{problems:?}");
    module.unwrap()
}

/// A connection of a file's module with the kind of credential that it declares first.
pub(crate) fn connect(text: &str, url: &str, ports: Ports) -> Result<Arc<dyn Connection>, CallError> {
    let module = module(text);
    let kind = module.manifest().credentials.first();
    let credential = kind.map(|kind| Credential {
        name: "acme".into(),
        kind: kind.name.clone(),
        fields: kind
            .fields
            .iter()
            .map(|field| (field.name.clone(), Secret::new(if field.name == "url" { url } else { TOKEN })))
            .collect(),
    });
    module.connect(Target { id: "crm".into(), settings: Settings::default(), credential, ports })
}

/// A server of a script, and a connection of a file to it.
pub(crate) fn scripted(
    file: &str,
    script: impl Fn(&Received) -> Reply + Send + Sync + 'static,
) -> (Server, Arc<World>, Arc<dyn Connection>) {
    let world = World::new(0.5);
    let server = Server::start(world.clone(), script).unwrap();
    let connection = connect(&format!("{HEAD}{file}"), &server.url(""), world.ports()).unwrap();
    (server, world, connection)
}

pub(crate) fn call(world: &Arc<World>) -> Call {
    let deadline = world.ports().clock.monotonic() + Duration::from_secs(60);
    Call { deadline, idempotency: Some("effect-1".into()) }
}

pub(crate) fn read(ty: &str, page: Option<Cursor>) -> Read {
    Read { ty: ty.into(), origin: Origin::Root, pins: Record::new(), page }
}

pub(crate) fn listen(connection: &Arc<dyn Connection>, ty: &str, from: Option<Cursor>) -> Box<dyn Source> {
    let every = Duration::from_secs(30);
    connection.listen(Listen { ty: ty.into(), pins: Record::new(), every, from }).unwrap()
}
