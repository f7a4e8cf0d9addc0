//! A world, a scripted server and a connection to it.

use std::{sync::Arc, time::Duration};

use lf_harness::{Received, Reply, Server, World, mcp::Offer};
use lf_mcp::Mcp;
use lf_module::{
    Call, CallError, Clock as _, Connection, Credential, Description, Module as _, Page, Ports, Read, Record, Secret,
    Target, Value, Write, Written,
    call::{Origin, Settings},
};
use serde_json::{Value as Json, json};

pub(crate) struct Stage {
    pub(crate) world: Arc<World>,
    pub(crate) server: Option<Server>,
    pub(crate) connection: Arc<dyn Connection>,
}

/// The two tools of the page's example.
pub(crate) fn tools() -> Json {
    json!([
        {
            "name": "create_issue",
            "inputSchema": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "team": {"type": "string", "enum": ["ENG", "OPS"]}},
                "required": ["title", "team"],
            },
        },
        {
            "name": "search_issues",
            "annotations": {"readOnlyHint": true},
            "inputSchema": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["query"],
            },
            "outputSchema": {
                "type": "object",
                "properties": {"count": {"type": "integer"}},
                "required": ["count"],
            },
        },
    ])
}

pub(crate) fn credential(fields: &[(&str, &str)]) -> Credential {
    Credential {
        name: "linear".into(),
        kind: "mcp_token".into(),
        fields: fields.iter().map(|(name, value)| ((*name).into(), Secret::new(*value))).collect(),
    }
}

pub(crate) fn connect(
    ports: Ports,
    credential: Credential,
    settings: Settings,
) -> Result<Arc<dyn Connection>, CallError> {
    let target = Target { id: "tracker".into(), settings, credential: Some(credential), ports };
    Mcp::default().connect(target)
}

pub(crate) fn timeout(millis: i64) -> Settings {
    let length = Value::Duration(jiff::SignedDuration::from_millis(millis));
    [("timeout".into(), length)].into_iter().collect()
}

/// The setting `era`.
pub(crate) fn era(name: &str) -> Settings {
    [("era".into(), Value::text(name))].into_iter().collect()
}

impl Stage {
    /// A server that answers by `script`, with every die at 0.9.
    pub(crate) fn new(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(Settings::new(), script)
    }

    pub(crate) fn with(settings: Settings, script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        let world = World::new(0.9);
        let server = Server::start(world.clone(), script).unwrap();
        let url = server.url("/mcp");
        let connection = connect(world.ports(), credential(&[("url", &url), ("token", "s3cret")]), settings).unwrap();
        Self { world, server: Some(server), connection }
    }

    /// A server that does everything right.
    pub(crate) fn good(offer: Offer) -> Self {
        Self::new(move |received| offer.reply(received))
    }

    pub(crate) fn call(&self) -> Call {
        self.call_within(Duration::from_secs(300))
    }

    pub(crate) fn call_within(&self, length: Duration) -> Call {
        Call { deadline: self.world.monotonic() + length, idempotency: None }
    }

    pub(crate) async fn describe(&self) -> Result<Description, CallError> {
        self.connection.describe(&self.call()).await
    }

    pub(crate) async fn search(&self) -> Result<Page, CallError> {
        self.read("search_issues", &[("query", Value::text("Acme"))]).await
    }

    pub(crate) async fn create(&self) -> Result<Written, CallError> {
        self.write("create_issue", &[("title", Value::text("Follow up")), ("team", Value::text("ENG"))]).await
    }

    pub(crate) async fn read(&self, tool: &str, pins: &[(&str, Value)]) -> Result<Page, CallError> {
        let read = Read { ty: tool.into(), origin: Origin::Root, pins: record(pins), page: None };
        self.connection.read(&read, &self.call()).await
    }

    pub(crate) async fn write(&self, tool: &str, fields: &[(&str, Value)]) -> Result<Written, CallError> {
        let write = Write::Create { ty: tool.into(), origin: lf_module::call::Origin::Root, fields: record(fields) };
        self.connection.write(&write, &self.call()).await
    }

    /// What the server received with this JSON-RPC method (or, without one, this HTTP method).
    pub(crate) fn received(&self, method: &str) -> Vec<Received> {
        let all = self.server.as_ref().unwrap().received();
        all.into_iter().filter(|one| one.rpc() == method || (one.rpc().is_empty() && one.method == method)).collect()
    }

    /// Every method that the server received, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.server.as_ref().unwrap().received().iter().map(Received::rpc).collect()
    }
}

pub(crate) fn record(fields: &[(&str, Value)]) -> Record {
    fields.iter().map(|(name, value)| (*name, value.clone())).collect()
}
