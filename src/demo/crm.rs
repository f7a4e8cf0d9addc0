//! The demo's first system: a small CRM with a REST interface, in memory, on loopback.
//!
//! It behaves as such systems do: cursor paging, a revision that only grows, PATCH for changes, an idempotency key on
//! create. It knows nothing of listen-fire.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode},
    routing::get,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

/// One company of the CRM.
#[derive(Debug, Clone)]
pub struct Company {
    pub id: u64,
    pub name: String,
    /// Grows with every change of any company.
    pub revision: u64,
}

impl Company {
    fn json(&self) -> Value {
        json!({ "id": self.id.to_string(), "Name": self.name, "revision": self.revision })
    }
}

#[derive(Debug, Default)]
struct Data {
    companies: Vec<Company>,
    revision: u64,
    /// Idempotency keys that were used, with what they made.
    keys: HashMap<String, u64>,
}

/// The CRM. Cheap to clone; all clones are the same system.
#[derive(Debug, Clone)]
pub struct Crm {
    data: Arc<Mutex<Data>>,
    /// How many companies there are.
    count: watch::Sender<usize>,
}

impl Default for Crm {
    fn default() -> Self {
        Self { data: Arc::default(), count: watch::Sender::new(0) }
    }
}

impl Crm {
    /// Adds a company, as a person at the CRM's own screen would.
    pub fn add(&self, name: &str) -> Company {
        let company = self.with(|data| data.create(name));
        self.count.send_modify(|count| *count += 1);
        company
    }

    /// Every company, oldest first.
    #[must_use]
    pub fn companies(&self) -> Vec<Company> {
        self.with(|data| data.companies.clone())
    }

    /// Wakes whenever a company was added.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// The REST interface.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/api/companies", get(list).post(create))
            .route("/api/companies/{id}", get(one).patch(change))
            .with_state(self.clone())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Data) -> T) -> T {
        act(&mut self.data.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Data {
    fn create(&mut self, name: &str) -> Company {
        self.revision += 1;
        let id = self.companies.len() as u64 + 1;
        let company = Company { id, name: name.to_owned(), revision: self.revision };
        self.companies.push(company.clone());
        company
    }

    fn find(&mut self, id: &str) -> Option<&mut Company> {
        let id: u64 = id.parse().ok()?;
        self.companies.iter_mut().find(|company| company.id == id)
    }
}

#[derive(Debug, Deserialize)]
struct ListQuery {
    /// Only companies of this revision or a later one.
    since: Option<u64>,
    /// Continue after this revision.
    cursor: Option<u64>,
    limit: Option<usize>,
}

type Answer = (StatusCode, Json<Value>);

fn answer(status: StatusCode, body: Value) -> Answer {
    (status, Json(body))
}

fn not_found(id: &str) -> Answer {
    answer(StatusCode::NOT_FOUND, json!({ "error": format!("there is no company {id}") }))
}

async fn list(State(crm): State<Crm>, Query(query): Query<ListQuery>) -> Answer {
    let limit = query.limit.unwrap_or(200).clamp(1, 200);
    let mut companies = crm.companies();
    companies.sort_by_key(|company| company.revision);
    companies.retain(|company| {
        query.since.is_none_or(|since| company.revision >= since)
            && query.cursor.is_none_or(|cursor| company.revision > cursor)
    });
    let more = companies.len() > limit;
    companies.truncate(limit);
    let next = companies.last().filter(|_| more).map(|company| company.revision);
    let items: Vec<Value> = companies.iter().map(Company::json).collect();
    answer(StatusCode::OK, json!({ "items": items, "next": next }))
}

async fn one(State(crm): State<Crm>, Path(id): Path<String>) -> Answer {
    let found = crm.with(|data| data.find(&id).map(|company| company.json()));
    found.map_or_else(|| not_found(&id), |company| answer(StatusCode::OK, company))
}

fn name_in(body: &Value) -> Result<&str, Answer> {
    let name = body.get("Name").and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
    name.ok_or_else(|| {
        answer(StatusCode::UNPROCESSABLE_ENTITY, json!({ "error": "Name must be a text and not empty" }))
    })
}

async fn create(State(crm): State<Crm>, headers: HeaderMap, Json(body): Json<Value>) -> Answer {
    let name = match name_in(&body) {
        Ok(name) => name,
        Err(refusal) => return refusal,
    };
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).map(str::to_owned);
    let (company, new) = crm.with(|data| {
        let known = key.as_ref().and_then(|key| data.keys.get(key).copied());
        if let Some(company) = known.and_then(|id| data.companies.iter().find(|company| company.id == id)) {
            return (company.clone(), false);
        }
        let company = data.create(name);
        if let Some(key) = key {
            data.keys.insert(key, company.id);
        }
        (company, true)
    });
    if new {
        crm.count.send_modify(|count| *count += 1);
    }
    answer(if new { StatusCode::CREATED } else { StatusCode::OK }, company.json())
}

async fn change(State(crm): State<Crm>, Path(id): Path<String>, Json(body): Json<Value>) -> Answer {
    let name = match name_in(&body) {
        Ok(name) => name,
        Err(refusal) => return refusal,
    };
    let changed = crm.with(|data| {
        data.revision += 1;
        let revision = data.revision;
        data.find(&id).map(|company| {
            name.clone_into(&mut company.name);
            company.revision = revision;
            company.json()
        })
    });
    changed.map_or_else(|| not_found(&id), |company| answer(StatusCode::OK, company))
}
