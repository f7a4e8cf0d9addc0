//! The bare program: the same exchanges by a plain HTTP client with kept connections, 32 side by side, nothing stored.

use std::{sync::Arc, time::Instant};

use listen_fire::demo::{Systems, TOKEN};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

use super::{process::own_cpu, project::company};

/// As many runs as a runner works on at once by default.
const SIDE_BY_SIDE: usize = 32;

pub(super) struct Reached {
    /// Companies a second.
    pub(super) rate: f64,
    /// Processor seconds for each, of client and systems together.
    pub(super) cpu: f64,
}

/// For each company: an issue, a search, a company.
pub(super) async fn exchanges(companies: usize) -> Reached {
    let systems = Systems::start().await.unwrap();
    // The second call in a process finds a provider installed, which is all that is wanted.
    let _already_there = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().tls_certs_only([]).build().unwrap();
    let session = session(&client, &systems).await;
    for number in 0..companies {
        systems.crm.add(&company(number));
    }
    let work = Arc::new((client, session, systems));
    let (start, cpu) = (Instant::now(), own_cpu());
    let tasks: Vec<_> = (0..SIDE_BY_SIDE)
        .map(|first| {
            let work = work.clone();
            tokio::spawn(async move {
                let (client, session, systems) = &*work;
                for number in (first..companies).step_by(SIDE_BY_SIDE) {
                    one(client, session, systems, &company(number)).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let (wall, cpu) = (start.elapsed().as_secs_f64(), own_cpu() - cpu);
    Reached { rate: companies as f64 / wall, cpu: cpu / companies as f64 }
}

async fn one(client: &Client, session: &str, systems: &Systems, name: &str) {
    let issue = tool("create_issue", &json!({ "title": format!("Follow up {name}"), "team": "ENG" }));
    let issue = answer(message(client, systems, &issue).header("Mcp-Session-Id", session)).await;
    let found = answer(
        message(client, systems, &tool("search_issues", &json!({ "query": name }))).header("Mcp-Session-Id", session),
    )
    .await;
    let text = issue.pointer("/result/content/0/text").unwrap().as_str().unwrap();
    let count = found.pointer("/result/structuredContent/count").unwrap();
    let company = json!({ "Name": format!("{count} open; {text}") });
    answer(client.post(format!("{}/companies", systems.crm_url())).json(&company)).await;
}

fn tool(name: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } })
}

fn message(client: &Client, systems: &Systems, body: &Value) -> RequestBuilder {
    client
        .post(systems.tracker_url())
        .bearer_auth(TOKEN)
        .header("Accept", "application/json, text/event-stream")
        .json(body)
}

async fn answer(request: RequestBuilder) -> Value {
    request.send().await.unwrap().error_for_status().unwrap().json().await.unwrap()
}

async fn session(client: &Client, systems: &Systems) -> String {
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bare", "version": "1" } } });
    let answer = message(client, systems, &hello).send().await.unwrap();
    answer.headers().get("mcp-session-id").unwrap().to_str().unwrap().to_owned()
}
