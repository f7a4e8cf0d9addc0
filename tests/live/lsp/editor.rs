//! An editor that keeps to the protocol: it opens and edits texts, asks, and draws what is answered as text.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{BufRead, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// A reply that takes longer is none.
const DEADLINE: Duration = Duration::from_secs(60);

pub(super) struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    folder: PathBuf,
    next: i64,
    texts: BTreeMap<String, String>,
    /// The place of each marker.
    marks: BTreeMap<String, (String, usize)>,
    shown: BTreeMap<String, Vec<Value>>,
    utf8: bool,
}

impl Editor {
    /// The server, before the first word.
    pub(super) fn raw(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_listen-fire"))
            .arg("lsp")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let folder = folder.canonicalize().unwrap();
        let input = child.stdin.take();
        let (texts, marks, shown) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { child, input, messages, folder, next: 0, texts, marks, shown, utf8: false }
    }

    pub(super) fn start(folder: &Path, encoding: &str) -> Self {
        let mut editor = Self::raw(folder);
        let able = json!({
            "general": { "positionEncodings": [encoding] },
            "textDocument": { "hover": { "contentFormat": ["markdown"] } },
            "workspace": { "workspaceEdit": { "documentChanges": true } },
        });
        let reply = editor.request("initialize", &json!({ "processId": null, "rootUri": null, "capabilities": able }));
        assert_eq!(reply["result"]["capabilities"]["positionEncoding"], encoding);
        editor.utf8 = encoding == "utf-8";
        editor.notify("initialized", &json!({}));
        editor
    }

    pub(super) fn end(&mut self) {
        assert_eq!(self.request("shutdown", &json!(null))["result"], json!(null));
        self.notify("exit", &json!(null));
        assert_eq!(self.code(), Some(0));
    }

    pub(super) fn code(&mut self) -> Option<i32> {
        let code = self.child.wait().unwrap().code();
        self.input = None;
        code
    }

    pub(super) fn close(&mut self) {
        self.input = None;
    }

    // ---- messages ----

    pub(super) fn write_raw(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    pub(super) fn write_all(&mut self, messages: &[Value]) {
        let mut text = String::new();
        for message in messages {
            let mut message = message.clone();
            message["jsonrpc"] = "2.0".into();
            let body = message.to_string();
            write!(text, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        }
        self.write_raw(&text);
    }

    pub(super) fn notify(&mut self, method: &str, params: &Value) {
        self.write_all(&[json!({ "method": method, "params": params })]);
    }

    pub(super) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.write_all(&[json!({ "id": id, "method": method, "params": params })]);
        self.answer(id)
    }

    /// The next message that is no publication.
    pub(super) fn next(&mut self) -> Value {
        loop {
            let message = self.messages.recv_timeout(DEADLINE).unwrap();
            if message["method"] == "textDocument/publishDiagnostics" {
                let uri = message["params"]["uri"].as_str().unwrap().to_owned();
                self.shown.insert(uri, message["params"]["diagnostics"].as_array().unwrap().clone());
            } else {
                return message;
            }
        }
    }

    pub(super) fn answer(&mut self, id: i64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    // ---- texts ----

    pub(super) fn uri(&self, name: &str) -> String {
        format!("file://{}/{name}", self.folder.display())
    }

    /// Opens a text; `«1»` in it is a place to ask about.
    pub(super) fn open(&mut self, name: &str, marked: &str) {
        let mut text = String::new();
        let mut rest = marked;
        while let Some((before, after)) = rest.split_once('«') {
            let (mark, after) = after.split_once('»').unwrap();
            text.push_str(before);
            self.marks.insert(mark.to_owned(), (name.to_owned(), text.len()));
            rest = after;
        }
        text.push_str(rest);
        let document = json!({ "uri": self.uri(name), "languageId": "movement", "version": 1, "text": text });
        self.notify("textDocument/didOpen", &json!({ "textDocument": document }));
        self.texts.insert(name.to_owned(), text);
    }

    pub(super) fn replace(&mut self, name: &str, text: &str) {
        let document = json!({ "uri": self.uri(name), "version": 2 });
        self.notify(
            "textDocument/didChange",
            &json!({ "textDocument": document, "contentChanges": [{ "text": text }] }),
        );
        self.texts.insert(name.to_owned(), text.to_owned());
    }

    /// An edit whose places may be anywhere. What the text is afterwards is the server's to know.
    pub(super) fn edit(&mut self, name: &str, from: (usize, usize), to: (usize, usize), text: &str) {
        let place = |(line, character)| json!({ "line": line, "character": character });
        let change = json!({ "range": { "start": place(from), "end": place(to) }, "text": text });
        let document = json!({ "uri": self.uri(name), "version": 3 });
        self.notify("textDocument/didChange", &json!({ "textDocument": document, "contentChanges": [change] }));
    }

    pub(super) fn changed(&mut self, name: &str) {
        let changes = json!([{ "uri": self.uri(name), "type": 2 }]);
        self.notify("workspace/didChangeWatchedFiles", &json!({ "changes": changes }));
    }

    fn position(&self, name: &str, offset: usize) -> Value {
        let before = &self.texts[name][..offset];
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap();
        let character = if self.utf8 { column.len() } else { column.encode_utf16().count() };
        json!({ "line": line, "character": character })
    }

    fn offset(&self, name: &str, position: &Value) -> usize {
        let text = &self.texts[name];
        let line = usize::try_from(position["line"].as_u64().unwrap()).unwrap();
        let character = usize::try_from(position["character"].as_u64().unwrap()).unwrap();
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let mut column = 0;
        for (at, letter) in text[start..].char_indices() {
            if column >= character {
                return start + at;
            }
            column += if self.utf8 { letter.len_utf8() } else { letter.len_utf16() };
        }
        text.len()
    }

    fn name(&self, uri: &Value) -> String {
        uri.as_str().unwrap().strip_prefix(&format!("file://{}/", self.folder.display())).unwrap().to_owned()
    }

    // ---- questions, and answers as text ----

    /// What is shown for a file: an answer comes after the problems of the same texts.
    pub(super) fn problems(&mut self, name: &str) -> Vec<String> {
        let any = self.texts.keys().next().unwrap().clone();
        let about = json!({ "textDocument": { "uri": self.uri(&any) } });
        self.request("textDocument/documentSymbol", &about);
        self.shown.get(&self.uri(name)).into_iter().flatten().map(line).collect()
    }

    pub(super) fn ask(&mut self, asked: &str) -> String {
        let mut words = asked.splitn(3, ' ');
        let (what, at, rest) =
            (words.next().unwrap(), words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if let Some((name, offset)) = self.marks.get(at).cloned() {
            let about = json!({ "uri": self.uri(&name) });
            let position = self.position(&name, offset);
            let place = json!({
                "textDocument": about, "position": position, "newName": rest, "context": { "includeDeclaration": true },
            });
            return match what {
                "hover" => self.told("hover", &place, |_, found| {
                    found["contents"]["value"].as_str().unwrap_or("nothing").to_owned()
                }),
                "definition" => self.told("definition", &place, |editor, found| editor.location(found)),
                "references" => self.told("references", &place, Self::locations),
                "rename" => self.told("rename", &place, Self::edited),
                "complete" => self.told("completion", &place, |_, found| offered(found)),
                "fix" => {
                    let over = json!({
                        "textDocument": about, "range": { "start": position, "end": position }, "context": { "diagnostics": [] },
                    });
                    self.told("codeAction", &over, |editor, found| {
                        let actions = found.as_array().unwrap().iter();
                        let drawn = actions.map(|action| {
                            format!("{}\n{}", action["title"].as_str().unwrap(), editor.edited(&action["edit"]))
                        });
                        drawn.collect::<Vec<_>>().join("\n")
                    })
                }
                "type" => {
                    let text = rest.replace("\\n", "\n");
                    let changed = self.texts[&name].clone();
                    self.notify(
                        "textDocument/didChange",
                        &json!({
                            "textDocument": { "uri": self.uri(&name), "version": 2 },
                            "contentChanges": [{ "range": { "start": position, "end": position }, "text": text }],
                        }),
                    );
                    self.texts.insert(name.clone(), format!("{}{text}{}", &changed[..offset], &changed[offset..]));
                    for (on, place) in self.marks.values_mut() {
                        if *on == name && *place > offset {
                            *place += text.len();
                        }
                    }
                    String::new()
                }
                other => panic!("no such question: {other}"),
            };
        }
        let about = json!({ "textDocument": { "uri": self.uri(at) }, "options": {} });
        match what {
            "problems" => self.problems(at).join("\n"),
            "symbols" => self.told("documentSymbol", &about, |_, found| {
                let entries = found.as_array().unwrap().iter();
                entries
                    .map(|entry| format!("{} {}", entry["kind"], entry["name"].as_str().unwrap()))
                    .collect::<Vec<_>>()
                    .join("\n")
            }),
            "format" => self.told("formatting", &about, |editor, found| editor.applied(at, found)),
            "colours" => self.told("semanticTokens/full", &about, |editor, found| editor.coloured(at, found)),
            "fixall" => {
                let over = json!({
                    "textDocument": { "uri": self.uri(at) },
                    "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } },
                    "context": { "diagnostics": [], "only": ["source.fixAll"] },
                });
                self.told("codeAction", &over, |editor, found| editor.edited(&found[0]["edit"]))
            }
            other => panic!("no such question: {other} {at}"),
        }
    }

    fn told(&mut self, method: &str, params: &Value, draw: impl Fn(&Self, &Value) -> String) -> String {
        let reply = self.request(&format!("textDocument/{method}"), params);
        match reply["error"]["message"].as_str() {
            Some(why) => format!("refused: {why}"),
            None => draw(self, &reply["result"]),
        }
    }

    fn location(&self, found: &Value) -> String {
        if found.is_null() {
            return "nowhere".to_owned();
        }
        let start = &found["range"]["start"];
        format!(
            "{}:{}:{}",
            self.name(&found["uri"]),
            start["line"].as_u64().unwrap() + 1,
            start["character"].as_u64().unwrap() + 1
        )
    }

    fn locations(&self, found: &Value) -> String {
        found.as_array().unwrap().iter().map(|found| self.location(found)).collect::<Vec<_>>().join("\n")
    }

    /// The lines that a change makes new.
    fn edited(&self, change: &Value) -> String {
        let changes = change["documentChanges"].as_array().unwrap().iter();
        let drawn = changes.map(|change| {
            let name = self.name(&change["textDocument"]["uri"]);
            format!("{name}\n{}", self.applied(&name, &change["edits"]))
        });
        drawn.collect::<Vec<_>>().join("\n")
    }

    fn applied(&self, name: &str, edits: &Value) -> String {
        let Some(edits) = edits.as_array() else { return "as it is".to_owned() };
        let before = &self.texts[name];
        let mut after = before.clone();
        for edit in edits.iter().rev() {
            let (start, end) = (self.offset(name, &edit["range"]["start"]), self.offset(name, &edit["range"]["end"]));
            after.replace_range(start..end, edit["newText"].as_str().unwrap());
        }
        let old: Vec<&str> = before.lines().collect();
        let new = after.lines().filter(|line| !old.contains(line));
        new.map(|line| format!("+ {line}")).collect::<Vec<_>>().join("\n")
    }

    fn coloured(&self, name: &str, found: &Value) -> String {
        const NAMES: [&str; 11] = [
            "connection",
            "type",
            "function",
            "variable",
            "parameter",
            "property",
            "keyword",
            "comment",
            "text",
            "number",
            "operator",
        ];
        let numbers: Vec<u64> =
            found["data"].as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect();
        let (mut line, mut column) = (0, 0);
        let mut drawn = Vec::new();
        for token in numbers.chunks(5) {
            if token[0] > 0 {
                column = 0;
            }
            line += token[0];
            column += token[1];
            let start = self.offset(name, &json!({ "line": line, "character": column }));
            let end = self.offset(name, &json!({ "line": line, "character": column + token[2] }));
            let marks = [(1, " declared"), (2, " given")];
            let marks: String = marks.iter().filter(|(bit, _)| token[4] & bit != 0).map(|(_, word)| *word).collect();
            drawn.push(format!(
                "{} {}{marks}",
                &self.texts[name][start..end],
                NAMES[usize::try_from(token[3]).unwrap()]
            ));
        }
        drawn.join("\n")
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // A test that failed half-way leaves nothing running; one that ended is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn line(problem: &Value) -> String {
    let start = &problem["range"]["start"];
    format!(
        "{}:{} {}",
        start["line"].as_u64().unwrap() + 1,
        start["character"].as_u64().unwrap() + 1,
        problem["code"].as_str().unwrap(),
    )
}

/// What is offered; of the built-ins their number.
fn offered(found: &Value) -> String {
    let Some(items) = found["items"].as_array() else { return "nothing".to_owned() };
    let builtin = |item: &&Value| item["sortText"].as_str().unwrap().starts_with('3');
    let named = items.iter().filter(|item| !builtin(item)).map(|item| {
        let detail = item["detail"].as_str().map(|detail| format!(" — {detail}")).unwrap_or_default();
        format!("{}{detail}", item["label"].as_str().unwrap())
    });
    let mut lines: Vec<String> = named.collect();
    if items.iter().any(|item| builtin(&item)) {
        lines.push("and the built-ins".to_owned());
    }
    lines.join("\n")
}

fn read(from: &mut impl BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse::<usize>().ok();
        }
    }
    let mut body = vec![0; length?];
    from.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
