//! One session: what the editor has open, and one method for each thing that it sends. In order, one at a time; what
//! was cancelled before its turn is not done, and texts are checked once nothing more has come.
//!
//! One file, because every method works on the same open texts and the same queue.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt,
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, TryRecvError, sync_channel},
    },
    thread,
};

use lf_lang::{diag::Diagnostic, source::SourceId};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::{
    answers,
    desk::{Desk, World},
    position::{Encoding, Lines},
    shapes::{About, At, Changed, Opened, Over, Versioned, Watched},
    wire::{self, Message},
};
use crate::project::{FILE, files};

/// How many messages may wait.
const WAITING: usize = 1024;
/// The files whose change is more than a text's.
const WATCHED: [&str; 4] = ["**/*.mvt", "**/listen-fire.toml", "**/listen-fire.lock", "**/modules/*.toml"];

/// How a session came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// As the protocol wants it: `shutdown`, then `exit`.
    Asked,
    /// The editor went, or said `exit` alone.
    Gone,
}

/// Opens the project in a folder.
pub trait Opener {
    /// The project in that very folder, which has a project file.
    ///
    /// # Errors
    /// One sentence for a person.
    fn open(&self, folder: &Path) -> Result<World, String>;
}

impl<F: Fn(&Path) -> Result<World, String>> Opener for F {
    fn open(&self, folder: &Path) -> Result<World, String> {
        self(folder)
    }
}

/// The ids of requests that were cancelled and have not had their turn.
type Cancelled = Arc<Mutex<HashSet<String>>>;

/// Serves one editor until it goes.
///
/// # Errors
/// The pipe broke, or what came over it was no message.
pub fn serve(
    input: impl BufRead + Send + 'static,
    output: impl Write,
    runtime: &Handle,
    opener: &dyn Opener,
) -> io::Result<Ended> {
    let (sender, messages) = sync_channel(WAITING);
    let cancelled = Cancelled::default();
    let noted = cancelled.clone();
    // Ends with the pipe; where the session ends first, with the process.
    thread::Builder::new().name("lsp input".to_owned()).spawn(move || {
        let mut input = input;
        loop {
            let message = wire::read(&mut input);
            if let Ok(Some(Message::Notice { method, params })) = &message
                && method == "$/cancelRequest"
                && let Some(id) = params.get("id")
            {
                let mut ids = noted.lock().unwrap_or_else(PoisonError::into_inner);
                if ids.len() >= WAITING {
                    // Ids of what had its turn before it was cancelled; at most as many are alive as may wait.
                    ids.clear();
                }
                ids.insert(id.to_string());
            }
            let last = !matches!(message, Ok(Some(_)));
            if sender.send(message).is_err() || last {
                return;
            }
        }
    })?;
    let mut session = Session {
        output,
        runtime,
        opener,
        cancelled,
        encoding: Encoding::Utf16,
        markdown: false,
        versions: false,
        watches: false,
        started: false,
        stopped: false,
        documents: BTreeMap::new(),
        desks: BTreeMap::new(),
        shown: BTreeMap::new(),
        asked: 0,
        dirty: BTreeSet::new(),
    };
    session.run(&messages)
}

/// A text that is open in the editor.
#[derive(Debug)]
struct Document {
    path: PathBuf,
    version: i64,
    text: String,
    /// The desk on which it lies.
    desk: PathBuf,
}

/// Why a request has no result.
struct Refusal(i64, String);

type Outcome = Result<Value, Refusal>;

struct Session<'s, W> {
    output: W,
    runtime: &'s Handle,
    opener: &'s dyn Opener,
    cancelled: Cancelled,
    encoding: Encoding,
    /// The editor shows Markdown.
    markdown: bool,
    /// The editor takes changes with the version that they are of.
    versions: bool,
    /// The editor can be asked to watch files.
    watches: bool,
    started: bool,
    stopped: bool,
    documents: BTreeMap<String, Document>,
    /// By the project's folder, or by the file where there is no project.
    desks: BTreeMap<PathBuf, Desk>,
    /// What was last published for a file.
    shown: BTreeMap<String, Value>,
    asked: u64,
    /// The desks whose problems are to be published.
    dirty: BTreeSet<PathBuf>,
}

impl<W> fmt::Debug for Session<'_, W> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Session").field("documents", &self.documents).finish_non_exhaustive()
    }
}

impl<W: Write> Session<'_, W> {
    fn run(&mut self, messages: &Receiver<io::Result<Option<Message>>>) -> io::Result<Ended> {
        loop {
            let next = if self.dirty.is_empty() {
                messages.recv().ok()
            } else {
                match messages.try_recv() {
                    Ok(next) => Some(next),
                    Err(TryRecvError::Empty) => {
                        self.publish()?;
                        continue;
                    }
                    Err(TryRecvError::Disconnected) => None,
                }
            };
            let Some(message) = next.transpose()?.flatten() else { return Ok(Ended::Gone) };
            match message {
                Message::Notice { method, params: _ } if method == "exit" => {
                    return Ok(if self.stopped { Ended::Asked } else { Ended::Gone });
                }
                Message::Notice { method, params } => self.notice(&method, params)?,
                Message::Request { id, method, params } => {
                    let reply = match self.request(&id, &method, params)? {
                        Ok(result) => wire::answer(&id, &result),
                        Err(Refusal(code, why)) => wire::refusal(&id, code, &why),
                    };
                    wire::write(&mut self.output, &reply)?;
                }
                Message::Broken => {
                    wire::write(&mut self.output, &wire::refusal(&Value::Null, wire::PARSE, "no message"))?;
                }
                Message::Other => {}
            }
        }
    }

    // ---- notices ----

    fn notice(&mut self, method: &str, params: Value) -> io::Result<()> {
        if !self.started || self.stopped {
            return Ok(());
        }
        match method {
            "initialized" => self.watch()?,
            "textDocument/didOpen" => {
                if let Some(Opened { text_document }) = read(params) {
                    let version = Versioned { uri: text_document.uri, version: text_document.version };
                    self.open(version, text_document.text)?;
                }
            }
            "textDocument/didChange" => {
                if let Some(changed) = read(params) {
                    self.change(changed);
                }
            }
            "textDocument/didClose" => {
                if let Some(About { text_document }) = read(params) {
                    self.close(&text_document.uri)?;
                }
            }
            "workspace/didChangeWatchedFiles" => {
                if let Some(Watched { changes }) = read(params) {
                    for change in changes {
                        self.changed_on_disk(&change.uri)?;
                    }
                }
            }
            // What is not known is not asked for; a notice has no answer.
            _ => {}
        }
        Ok(())
    }

    fn watch(&mut self) -> io::Result<()> {
        if !self.watches {
            return Ok(());
        }
        self.asked += 1;
        let watchers: Vec<_> = WATCHED.iter().map(|glob| json!({ "globPattern": glob })).collect();
        let registration = json!({
            "id": "files",
            "method": "workspace/didChangeWatchedFiles",
            "registerOptions": { "watchers": watchers },
        });
        let params = json!({ "registrations": [registration] });
        let asked = json!({
            "jsonrpc": "2.0", "id": self.asked, "method": "client/registerCapability", "params": params,
        });
        wire::write(&mut self.output, &asked)
    }

    fn open(&mut self, document: Versioned, text: String) -> io::Result<()> {
        let Some(path) = answers::path(&document.uri) else { return Ok(()) };
        let desk = self.desk_of(&path)?;
        if let Some(on) = self.desks.get_mut(&desk) {
            let name = on.name(&path);
            on.put(&name, text.as_str());
        }
        self.dirty.insert(desk.clone());
        self.documents.insert(document.uri, Document { path, version: document.version, text, desk });
        Ok(())
    }

    fn change(&mut self, Changed { text_document, content_changes }: Changed) {
        let encoding = self.encoding;
        let Some(document) = self.documents.get_mut(&text_document.uri) else { return };
        for change in content_changes {
            match change.range {
                None => document.text = change.text,
                Some(range) => {
                    let lines = Lines::new(&document.text, encoding);
                    let (start, end) = (lines.offset(range.start), lines.offset(range.end));
                    let (start, end) = (start.min(end), start.max(end));
                    document.text.replace_range(start..end, &change.text);
                }
            }
        }
        document.version = text_document.version;
        if let Some(desk) = self.desks.get_mut(&document.desk) {
            let name = desk.name(&document.path);
            desk.put(&name, document.text.as_str());
            self.dirty.insert(document.desk.clone());
        }
    }

    fn close(&mut self, uri: &str) -> io::Result<()> {
        let Some(document) = self.documents.remove(uri) else { return Ok(()) };
        let Some(desk) = self.desks.get_mut(&document.desk) else { return Ok(()) };
        if desk.is_project() {
            // What is on disk counts again.
            return self.changed_on_disk(uri);
        }
        self.desks.remove(&document.desk);
        self.dirty.remove(&document.desk);
        self.show(uri, &json!([]), None)
    }

    fn changed_on_disk(&mut self, uri: &str) -> io::Result<()> {
        let Some(path) = answers::path(uri) else { return Ok(()) };
        if self.documents.contains_key(uri) {
            return Ok(());
        }
        if path.extension().is_some_and(|ending| ending == "mvt") {
            for (root, desk) in self.desks.iter_mut().filter(|(root, desk)| desk.is_project() && path.starts_with(root))
            {
                let name = desk.name(&path);
                match files::read(&path) {
                    Ok(text) => desk.put(&name, text),
                    Err(_) => desk.drop_file(&name),
                }
                self.dirty.insert(root.clone());
            }
            return Ok(());
        }
        // The project itself, its modules or its lock file: everything is read anew.
        let roots: Vec<PathBuf> = self.desks.keys().filter(|root| path.starts_with(root)).cloned().collect();
        let began = path.file_name().is_some_and(|name| name == FILE);
        for root in roots {
            self.desks.remove(&root);
        }
        let lies = |document: &Document| path.parent().is_some_and(|folder| document.path.starts_with(folder));
        let open: Vec<String> = self
            .documents
            .iter()
            .filter(|(_, document)| !self.desks.contains_key(&document.desk) || (began && lies(document)))
            .map(|(uri, _)| uri.clone())
            .collect();
        for uri in open {
            if let Some(document) = self.documents.remove(&uri) {
                self.open(Versioned { uri, version: document.version }, document.text)?;
            }
        }
        Ok(())
    }

    /// The desk of a file, laid out if there is none yet.
    fn desk_of(&mut self, path: &Path) -> io::Result<PathBuf> {
        let mut folders = path.ancestors().skip(1).filter(|folder| folder.is_absolute());
        let root = folders.find(|folder| folder.join(FILE).is_file());
        let Some(root) = root else {
            if !self.desks.contains_key(path) {
                let desk = Desk::new(None).map_err(io::Error::other)?;
                self.desks.insert(path.to_owned(), desk);
            }
            return Ok(path.to_owned());
        };
        if self.desks.contains_key(root) {
            return Ok(root.to_owned());
        }
        let made = self.opener.open(root).and_then(|world| Desk::new(Some(world)));
        match made {
            Ok(desk) => {
                self.desks.insert(root.to_owned(), desk);
                Ok(root.to_owned())
            }
            Err(why) => {
                let params = json!({ "type": 1, "message": format!("listen-fire: {why}") });
                wire::write(&mut self.output, &wire::notice("window/showMessage", &params))?;
                self.desks.insert(path.to_owned(), Desk::new(None).map_err(io::Error::other)?);
                Ok(path.to_owned())
            }
        }
    }

    // ---- problems ----

    /// Publishes what changed since the last time.
    fn publish(&mut self) -> io::Result<()> {
        for root in std::mem::take(&mut self.dirty) {
            let Some(desk) = self.desks.get_mut(&root) else { continue };
            desk.refresh(self.runtime);
            let Some(desk) = self.desks.get(&root) else { continue };
            let mut now: BTreeMap<String, Value> = BTreeMap::new();
            let mut by_source: BTreeMap<SourceId, Vec<&Diagnostic>> = BTreeMap::new();
            for problem in desk.problems() {
                by_source.entry(problem.primary.span.source).or_default().push(problem);
            }
            for (source, problems) in by_source {
                let Some(file) = desk.file(source) else { continue };
                let uri = self.uri(&desk.place(&file.path));
                now.insert(uri, self.diagnostics(desk, desk.map(), &problems));
            }
            if let Some((map, faults)) = desk.module_faults() {
                for file in map.iter() {
                    let own: Vec<_> = faults.iter().filter(|fault| fault.primary.span.source == file.id).collect();
                    now.insert(self.uri(&desk.place(&file.path)), self.diagnostics(desk, map, &own));
                }
            }
            let open = self.documents.iter().filter(|(_, document)| document.desk == root).map(|(uri, _)| uri);
            for uri in open {
                now.entry(uri.clone()).or_insert_with(|| json!([]));
            }
            let before = self.shown.keys().filter(|uri| answers::path(uri).is_some_and(|path| path.starts_with(&root)));
            for uri in before {
                now.entry(uri.clone()).or_insert_with(|| json!([]));
            }
            for (uri, problems) in now {
                let version = self.documents.get(&uri).map(|document| document.version);
                self.show(&uri, &problems, version)?;
            }
        }
        Ok(())
    }

    fn diagnostics(&self, desk: &Desk, map: &lf_lang::source::SourceMap, problems: &[&Diagnostic]) -> Value {
        let mut lines: BTreeMap<SourceId, Lines<'_>> = BTreeMap::new();
        let sources = problems.iter().flat_map(|problem| {
            let labels = problem.secondary.iter().map(|label| label.span.source);
            labels.chain([problem.primary.span.source])
        });
        for source in sources {
            if let Some(file) = map.get(source) {
                lines.entry(source).or_insert_with(|| Lines::new(&file.text, self.encoding));
            }
        }
        let place = |source: SourceId| map.get(source).map(|file| self.uri(&desk.place(&file.path)));
        problems.iter().filter_map(|problem| answers::diagnostic(problem, &lines, &place)).collect()
    }

    /// The address of a file: the editor's own for what it has open.
    fn uri(&self, path: &Path) -> String {
        let open = self.documents.iter().find(|(_, document)| document.path == path);
        open.map_or_else(|| answers::uri(path), |(uri, _)| uri.clone())
    }

    fn show(&mut self, uri: &str, problems: &Value, version: Option<i64>) -> io::Result<()> {
        let none = problems.as_array().is_some_and(Vec::is_empty);
        let same = self.shown.get(uri).map_or(none && version.is_none(), |shown| shown == problems);
        if same && (version.is_none() || self.shown.contains_key(uri)) {
            return Ok(());
        }
        if none && version.is_none() {
            self.shown.remove(uri);
        } else {
            self.shown.insert(uri.to_owned(), problems.clone());
        }
        let params = json!({ "uri": uri, "version": version, "diagnostics": problems });
        wire::write(&mut self.output, &wire::notice("textDocument/publishDiagnostics", &params))
    }

    // ---- requests ----

    fn request(&mut self, id: &Value, method: &str, params: Value) -> io::Result<Outcome> {
        if self.started && !self.is_cancelled(id) {
            // So that an answer comes after the problems of the same texts.
            self.publish()?;
        }
        Ok(self.outcome(id, method, params))
    }

    fn is_cancelled(&self, id: &Value) -> bool {
        self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).contains(&id.to_string())
    }

    fn outcome(&mut self, id: &Value, method: &str, params: Value) -> Outcome {
        let cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).remove(&id.to_string());
        if cancelled {
            return Err(Refusal(wire::CANCELLED, "cancelled".to_owned()));
        }
        match method {
            "initialize" if self.started => {
                return Err(Refusal(wire::INVALID_REQUEST, "initialized already".to_owned()));
            }
            "initialize" => return Ok(self.initialize(&params)),
            _ if !self.started => return Err(Refusal(wire::NOT_INITIALIZED, "`initialize` comes first".to_owned())),
            _ if self.stopped => return Err(Refusal(wire::INVALID_REQUEST, "shut down".to_owned())),
            "shutdown" => {
                self.stopped = true;
                return Ok(Value::Null);
            }
            _ => {}
        }
        match method {
            "textDocument/hover" => self.at(params, answers::hover),
            "textDocument/completion" => self.completion(params),
            "textDocument/definition" => self.at(params, answers::definition),
            "textDocument/references" => self.at(params, answers::references),
            "textDocument/documentHighlight" => self.at(params, answers::highlights),
            "textDocument/prepareRename" => self.at(params, answers::prepare_rename),
            "textDocument/rename" => self.at(params, answers::rename),
            "textDocument/formatting" => self.about(params, answers::formatting),
            "textDocument/documentSymbol" => self.about(params, answers::symbols),
            "textDocument/semanticTokens/full" => self.about(params, answers::tokens),
            "textDocument/codeAction" => self.actions(params),
            _ => Err(Refusal(wire::METHOD_NOT_FOUND, format!("`{method}` is not spoken here"))),
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        self.started = true;
        let able = |pointer: &str| params.pointer(pointer).unwrap_or(&Value::Null);
        let holds = |pointer: &str, wanted: &str| {
            able(pointer).as_array().is_some_and(|all| all.iter().any(|one| one == wanted))
        };
        if holds("/capabilities/general/positionEncodings", Encoding::Utf8.name()) {
            self.encoding = Encoding::Utf8;
        }
        self.markdown = holds("/capabilities/textDocument/hover/contentFormat", "markdown");
        self.versions = able("/capabilities/workspace/workspaceEdit/documentChanges").as_bool().unwrap_or_default();
        self.watches =
            able("/capabilities/workspace/didChangeWatchedFiles/dynamicRegistration").as_bool().unwrap_or_default();
        answers::capabilities(self.encoding)
    }

    /// The open document, checked, and what else an answer is made of.
    fn asked(&mut self, uri: &str) -> Result<Option<answers::Asked<'_>>, Refusal> {
        let Some(document) = self.documents.get(uri) else {
            return Err(Refusal(wire::INVALID_PARAMS, format!("`{uri}` is not open")));
        };
        let root = document.desk.clone();
        let Some(desk) = self.desks.get_mut(&root) else { return Ok(None) };
        desk.refresh(self.runtime);
        let Some(desk) = self.desks.get(&root) else { return Ok(None) };
        let Some(document) = self.documents.get(uri) else { return Ok(None) };
        let Some(source) = desk.source(&desk.name(&document.path)) else { return Ok(None) };
        let open =
            self.documents.iter().map(|(uri, document)| (document.path.as_path(), (uri.as_str(), document.version)));
        Ok(Some(answers::Asked {
            desk,
            source: source.id,
            encoding: self.encoding,
            markdown: self.markdown,
            versions: self.versions,
            open: open.collect(),
        }))
    }

    fn about(&mut self, params: Value, answer: fn(&answers::Asked<'_>) -> Value) -> Outcome {
        let About { text_document } = parsed(params)?;
        Ok(self.asked(&text_document.uri)?.map_or(Value::Null, |asked| answer(&asked)))
    }

    fn at(&mut self, params: Value, answer: fn(&answers::Asked<'_>, &At, u32) -> Result<Value, String>) -> Outcome {
        let at: At = parsed(params)?;
        let Some(asked) = self.asked(&at.text_document.uri)? else { return Ok(Value::Null) };
        let offset = asked.offset(at.position);
        answer(&asked, &at, offset).map_err(|why| Refusal(wire::FAILED, why))
    }

    fn actions(&mut self, params: Value) -> Outcome {
        let over: Over = parsed(params)?;
        Ok(self.asked(&over.text_document.uri)?.map_or(Value::Null, |asked| answers::actions(&asked, &over)))
    }

    fn completion(&mut self, params: Value) -> Outcome {
        let at: At = parsed(params)?;
        let Some(asked) = self.asked(&at.text_document.uri)? else { return Ok(Value::Null) };
        let (source, offset) = (asked.source, asked.offset(at.position));
        let Some(root) = self.documents.get(&at.text_document.uri).map(|document| document.desk.clone()) else {
            return Ok(Value::Null);
        };
        let (encoding, markdown) = (self.encoding, self.markdown);
        let Some(desk) = self.desks.get_mut(&root) else { return Ok(Value::Null) };
        let Some(found) = desk.complete(source, offset) else { return Ok(Value::Null) };
        let Some(file) = desk.file(source) else { return Ok(Value::Null) };
        Ok(answers::completion(&found, &Lines::new(&file.text, encoding), markdown))
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Option<T> {
    serde_json::from_value(params).inspect_err(|why| tracing::warn!("a notice that is none: {why}")).ok()
}

fn parsed<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params).map_err(|why| Refusal(wire::INVALID_PARAMS, why.to_string()))
}
