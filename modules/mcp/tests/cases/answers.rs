//! What a scripted server answers out of order: `answer METHOD [when …]: WHAT`. Whatever no rule fits is answered right.

use std::{sync::Mutex, time::Duration};

use lf_harness::{Received, Reply, Step};
use serde_json::{Value as Json, json};

/// One rule; the first that fits answers.
#[derive(Debug)]
struct Rule {
    method: String,
    /// Which of the requests that fit otherwise, from 1; all if there is none.
    turns: Option<(usize, usize)>,
    whens: Vec<When>,
    what: String,
    met: usize,
}

#[derive(Debug)]
enum When {
    Header(&'static str, Option<String>),
    Holds(String),
}

/// The rules of a server.
#[derive(Debug, Default)]
pub(crate) struct Rules(Mutex<Vec<Rule>>);

impl Rules {
    /// Adds one, before those that are there. `key` is what comes before the colon.
    pub(crate) fn first(&self, key: &str, what: &str) {
        self.0.lock().unwrap().insert(0, Rule::read(key, what));
    }

    /// Adds one, behind those that are there.
    pub(crate) fn last(&self, key: &str, what: &str) {
        self.0.lock().unwrap().push(Rule::read(key, what));
    }

    pub(crate) fn clear(&self) {
        self.0.lock().unwrap().clear();
    }

    /// What a rule says of a request; `right` is the body of the right answer, where there is one.
    pub(crate) fn reply(&self, received: &Received, right: Option<&str>) -> Option<Reply> {
        let mut rules = self.0.lock().unwrap();
        // Each counts what it is about, also where another one answers.
        let fits: Vec<bool> = rules.iter_mut().map(|rule| rule.fits(received)).collect();
        let rule = rules.iter().zip(fits).find_map(|(rule, fits)| fits.then_some(rule))?;
        answer(&rule.what, received, right)
    }
}

impl Rule {
    fn read(key: &str, what: &str) -> Self {
        let mut words = key.split_whitespace();
        let method = words.next().unwrap().to_owned();
        let mut rule = Self { method, turns: None, whens: Vec::new(), what: what.trim().to_owned(), met: 0 };
        for word in words {
            let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
            let header = match name {
                "session" => "mcp-session-id",
                "version" => "mcp-protocol-version",
                "token" => "authorization",
                "last-event-id" => "last-event-id",
                "holds" => {
                    rule.whens.push(When::Holds(value.unwrap().to_owned()));
                    continue;
                }
                turn => {
                    let number =
                        |text: &str| text.parse::<usize>().unwrap_or_else(|_| panic!("`{turn}` is no condition"));
                    let numbers = turn.strip_prefix('#').unwrap_or_else(|| panic!("`{turn}` is no condition"));
                    rule.turns = Some(match numbers.strip_suffix("..") {
                        Some(from) => (number(from), usize::MAX),
                        None => (number(numbers), number(numbers)),
                    });
                    continue;
                }
            };
            let value = value.filter(|value| *value != "none").map(|value| value.replace('_', " "));
            rule.whens.push(When::Header(header, value));
        }
        rule
    }

    fn fits(&mut self, received: &Received) -> bool {
        let path = received.path.split('?').next().unwrap();
        let (rpc, http) = (received.rpc(), received.method.as_str());
        let method = match self.method.as_str() {
            "*" => true,
            "response" => http == "POST" && rpc.is_empty() && !received.json().is_null(),
            path_of if path_of.starts_with('/') => path_of == path,
            "GET" | "DELETE" => self.method == http && path == "/mcp",
            method => method == rpc,
        };
        let when = |when: &When| match when {
            When::Header(name, value) => received.header(name) == value.as_deref(),
            When::Holds(text) => String::from_utf8_lossy(&received.body).contains(text.as_str()),
        };
        if !method || !self.whens.iter().all(when) {
            return false;
        }
        self.met += 1;
        self.turns.is_none_or(|(from, to)| (from..=to).contains(&self.met))
    }
}

/// The reply that `what` is; none for `right`.
fn answer(what: &str, received: &Received, right: Option<&str>) -> Option<Reply> {
    let id = received.rpc_id();
    let (word, rest) = what.split_once(char::is_whitespace).map_or((what, ""), |(word, rest)| (word, rest.trim()));
    let message = |value: Json| {
        let mut message = json!({"jsonrpc": "2.0", "id": id});
        message.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        message.to_string()
    };
    let good = || right.unwrap_or_else(|| panic!("there is no right answer to cut")).as_bytes().to_vec();
    let half = |step| Reply::raw_json(good()).cut(good().len() / 2, step);
    Some(match word {
        "right" => return None,
        "reset" => Reply::reset(),
        "close" => Reply::steps(vec![Step::Close]),
        "silence" => Reply::silence(),
        "cut" => half(Step::Close),
        "cut-and-reset" => half(Step::Reset),
        "result" => Reply::raw_json(message(json!({"result": read(rest)}))),
        "error" => Reply::raw_json(message(json!({"error": error(rest)}))),
        "json" => Reply::raw_json(filled(rest, &id, right)),
        // The text of a stream as a JSON text, and how it ends.
        "events" | "trickled" => {
            let (text, end) = rest.rsplit_once("\" then ").map_or((rest, ""), |(text, end)| (text, end));
            let text = if end.is_empty() { text.to_owned() } else { format!("{text}\"") };
            let text: String = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{text}: {why}"));
            let reply = Reply::events(filled(&text, &id, right));
            let reply = if word == "trickled" { reply.trickle(Duration::ZERO) } else { reply };
            reply.then(match end {
                "" | "close" => Step::Close,
                "reset" => Step::Reset,
                "silence" => Step::Silence,
                other => panic!("`{other}` is no end of a stream"),
            })
        }
        // Pieces of a stream, each after a pause.
        "slowly" => {
            let (pause, pieces) = rest.split_once(" ms ").unwrap();
            let pause = Duration::from_millis(pause.parse().unwrap());
            let pieces: Vec<String> = serde_json::from_str(pieces).unwrap();
            let head = "HTTP/1.1 200 Scripted\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
            let mut steps = vec![Step::Send(head.into())];
            for piece in pieces {
                steps.extend([Step::Wait(pause), Step::Send(filled(&piece, &id, right).into_bytes())]);
            }
            steps.push(Step::Close);
            Reply::steps(steps)
        }
        status => {
            let status = status.parse().unwrap_or_else(|_| panic!("`{what}` is no answer"));
            let mut reply = Reply::status(status);
            let mut rest = rest;
            while let Some((header, more)) = rest.strip_prefix('[').and_then(|it| it.split_once(']')) {
                let (name, value) = header.split_once(": ").unwrap();
                reply = reply.header(name, value);
                rest = more.trim_start();
            }
            let json = |text: String| ("application/json", text);
            let (kind, body) = match rest.strip_prefix("error ") {
                Some(rest) => json(message(json!({"error": error(rest)}))),
                None if rest.starts_with('{') || rest == "$ANSWER" => json(filled(rest, &id, right)),
                None => ("text/plain", rest.to_owned()),
            };
            if body.is_empty() { reply } else { reply.header("Content-Type", kind).body(body) }
        }
    })
}

/// `CODE MESSAGE`, or a whole JSON-RPC error.
fn error(text: &str) -> Json {
    if text.starts_with('{') {
        return read(text);
    }
    let (code, message) = text.split_once(' ').unwrap();
    json!({"code": code.parse::<i64>().unwrap(), "message": message})
}

pub(crate) fn read(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

/// `$ID` is the request's id, `$ANSWER` the right answer.
fn filled(text: &str, id: &Json, right: Option<&str>) -> String {
    let text = text.replace("\"$ID\"", &id.to_string()).replace("$ID", &id.to_string());
    if text.contains("$ANSWER") { text.replace("$ANSWER", right.unwrap()) } else { text }
}
