//! A client for the official conformance suite, built on the module as a project uses it: the suite starts it with
//! the URL of its server as the last argument and the scenario's name in the environment, and judges what arrives.
//!
//! It is for tests alone; `tests/suite.rs` says how it is run. To add a scenario: an arm in [`play`], and where the suite
//! requires it, nothing else. A scenario of signing in gets its client, its keys and the like from [`Scene::context`];
//! it must take the authorization code from the redirect by itself, since nothing listens where it leads. It ends
//! with an error where anything fails, which the suite takes as a failure unless the scenario wants one.
#![expect(clippy::disallowed_methods, reason = "a program of its own, with a clock and an environment")]

use std::{
    error::Error,
    io::Write as _,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use lf_harness::authorization::{Browser, Shelf};
use lf_mcp::{Answers, Mcp, oauth::App};
use lf_module::{
    Call, CallError, Clock, Connection, Credential, Description, Keeper, Module as _, Ports, Random, Read, Record,
    Secret, Target, Throttle, Value, Write, call::Origin, json,
};

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let played = match Scene::read() {
        Ok(scene) => play(&scene).await,
        Err(failure) => Err(failure),
    };
    match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _unread = writeln!(std::io::stderr(), "{failure}");
            ExitCode::FAILURE
        }
    }
}

/// What the suite says.
struct Scene {
    scenario: String,
    url: String,
    /// JSON of the scenario's own; absent if there is none.
    context: Value,
}

impl Scene {
    fn read() -> Result<Self, Failure> {
        let url = std::env::args().next_back().filter(|url| url.starts_with("http")).ok_or("no URL was given")?;
        let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO")?;
        let context = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
            Ok(text) => json::read(text.as_bytes())?,
            Err(_) => Value::Absent,
        };
        Ok(Self { scenario, url, context })
    }

    /// A connection as a project makes one, with a token that no server of the suite looks at.
    fn connect(&self, module: &Mcp) -> Result<Peer, Failure> {
        self.peer(module, self.credential("mcp_token", &[("token", "unused")]), None)
    }

    /// The same, signed in to by a person whose browser goes where it is sent.
    fn sign_in(&self) -> Result<Peer, Failure> {
        let text = |name: &str| self.context.field(name).and_then(Value::as_text).map(str::to_owned);
        let document = || "https://conformance-test.local/client-metadata.json".to_owned();
        let app = App {
            client_id: Some(text("client_id").unwrap_or_else(document)),
            client_secret: text("client_secret").map(Secret::new),
            discover: true,
            ..App::default()
        };
        let credential = self.credential(lf_mcp::oauth::KIND, &[]);
        let keeper = Shelf::new(credential.clone()).keeper(Some(Arc::new(Browser::default())));
        self.peer(&Mcp::new(Some(app)), credential, Some(keeper))
    }

    fn credential(&self, kind: &str, more: &[(&str, &str)]) -> Credential {
        let fields = [("url", self.url.as_str())].into_iter().chain(more.iter().copied());
        Credential {
            name: "suite".into(),
            kind: kind.into(),
            fields: fields.map(|(name, value)| (name.into(), Secret::new(value))).collect(),
        }
    }

    fn peer(&self, module: &Mcp, credential: Credential, keeper: Option<Arc<dyn Keeper>>) -> Result<Peer, Failure> {
        let ports = Ports {
            clock: Arc::new(Real::new()),
            random: Arc::new(Half),
            throttle: Arc::new(Free),
            notes: None,
            keeper,
        };
        let clock = ports.clock.clone();
        let target = Target { id: "suite".into(), settings: Default::default(), credential: Some(credential), ports };
        Ok(Peer { connection: module.connect(target)?, clock })
    }
}

async fn play(scene: &Scene) -> Result<(), Failure> {
    if scene.scenario.starts_with("auth/") {
        let peer = scene.sign_in()?;
        for ty in peer.describe().await?.types {
            peer.act(&ty.name, "{}").await?;
        }
        return Ok(());
    }
    let peer = scene.connect(&Mcp::default())?;
    match scene.scenario.as_str() {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => drop(peer.describe().await?),
        "tools_call" => peer.act("add_numbers", r#"{"a":5,"b":3}"#).await?,
        "sse-retry" => peer.act("test_reconnection", "{}").await?,
        "http-standard-headers" => {
            peer.act("test_headers", "{}").await?;
            peer.act("my-hyphenated-tool", "{}").await?;
        }
        "http-custom-headers" => {
            let Some(Value::List(calls)) = scene.context.field("toolCalls") else {
                return Err("the scenario names no calls".into());
            };
            for call in calls.iter() {
                let name = call.field("name").and_then(Value::as_text).ok_or("a call without a name")?;
                let arguments = call.field("arguments").ok_or("a call without arguments")?;
                peer.act(name, &json::plain(arguments)).await?;
            }
        }
        "http-invalid-tool-headers" => {
            // Whatever is offered may be called.
            for ty in peer.describe().await?.types {
                peer.act(&ty.name, r#"{"region":"us-west1"}"#).await?;
            }
        }
        "json-schema-2020-12-preservation" => {
            let raw = json::read(peer.connection.raw(&peer.call()).await?.as_bytes())?;
            let Some(Value::List(tools)) = raw.field("tools") else { return Err("no tools".into()) };
            let rich = tools.iter().find(|tool| tool.field("name") == Some(&Value::text("json_schema_2020_12_tool")));
            let schema = rich.and_then(|tool| tool.field("inputSchema")).ok_or("no such tool")?;
            peer.act("json_schema_echo", &format!(r#"{{"schema":{}}}"#, json::plain(schema))).await?;
        }
        "elicitation-sep1034-client-defaults" => {
            let peer = scene.connect(&Mcp::default().answered_by(Arc::new(Defaults)))?;
            for ty in peer.describe().await?.types {
                peer.act(&ty.name, "{}").await?;
            }
        }
        "sep-2322-client-request-state" => {
            let peer = scene.connect(&Mcp::default().answered_by(Arc::new(Defaults)))?;
            for tool in ["echo_state", "no_state", "unrelated", "no_result_type"] {
                peer.act(&format!("test_mrtr_{tool}"), "{}").await?;
            }
        }
        other => return Err(format!("the scenario `{other}` is not played").into()),
    }
    Ok(())
}

/// The suite's server.
struct Peer {
    connection: Arc<dyn Connection>,
    clock: Arc<dyn Clock>,
}

impl Peer {
    fn call(&self) -> Call {
        Call { deadline: self.clock.monotonic() + Duration::from_secs(25), idempotency: None }
    }

    async fn describe(&self) -> Result<Description, CallError> {
        self.connection.describe(&self.call()).await
    }

    /// Calls a tool in the way that its type allows.
    async fn act(&self, tool: &str, arguments: &str) -> Result<(), Failure> {
        let Value::Record(given) = json::read(arguments.as_bytes())? else {
            return Err(format!("these are no arguments: {arguments}").into());
        };
        // As from a movement: what is absent is never given.
        let given = given.iter().filter(|(_, value)| !value.is_absent());
        let given: Record = given.map(|(name, value)| (name.clone(), value.clone())).collect();
        let description = self.describe().await?;
        let ty = description.get(tool).ok_or_else(|| format!("there is no tool `{tool}`"))?;
        if ty.readable {
            let read = Read { ty: tool.into(), origin: Origin::Root, pins: given, page: None };
            self.connection.read(&read, &self.call()).await?;
        } else {
            self.connection
                .write(&Write::Create { origin: Origin::Root, ty: tool.into(), fields: given }, &self.call())
                .await?;
        }
        Ok(())
    }
}

/// Answers every question for input with what its schema has as defaults.
#[derive(Debug)]
struct Defaults;

impl Answers for Defaults {
    fn capabilities(&self) -> Value {
        json::read(br#"{"elicitation":{"form":{"applyDefaults":true}}}"#).unwrap_or(Value::Absent)
    }

    fn answer(&self, method: &str, params: &Value) -> Option<Value> {
        if method != "elicitation/create" {
            return None;
        }
        let mut content = Record::new();
        if let Some(Value::Record(properties)) = params.field("requestedSchema").and_then(|it| it.field("properties")) {
            for (name, schema) in properties.iter() {
                let default = schema.field("default").cloned();
                let yes = || (schema.field("type") == Some(&Value::text("boolean"))).then_some(Value::Bool(true));
                if let Some(value) = default.or_else(yes) {
                    content.set(name.clone(), value);
                }
            }
        }
        let answer = [("action", Value::text("accept")), ("content", Value::record(content))];
        Some(Value::record(answer.into_iter().collect()))
    }
}

/// Time as it is.
#[derive(Debug)]
struct Real(Instant);

impl Real {
    fn new() -> Self {
        Self(Instant::now())
    }
}

#[async_trait]
impl Clock for Real {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }
    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
    async fn sleep(&self, length: Duration) {
        tokio::time::sleep(length).await;
    }
}

/// A die that always shows the same.
#[derive(Debug)]
struct Half;

impl Random for Half {
    fn unit(&self) -> f64 {
        0.5
    }
}

/// Nobody else is there.
#[derive(Debug)]
struct Free;

#[async_trait]
impl Throttle for Free {
    async fn pass(&self, _: Duration) -> Result<(), CallError> {
        Ok(())
    }
    async fn report(&self, _: Duration, _: &str) {}
}
