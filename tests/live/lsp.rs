//! The language server as an editor meets it: the real executable over pipes. Each file in `lsp/` is a session, which
//! says what is open and what is asked; what is answered stands beside it and is written with `LF_BLESS=1`.

mod editor;

use std::{env, fmt::Write as _, fs, path::Path};

use serde_json::json;

use crate::cli::place::Place;
use editor::Editor;

#[test]
fn sessions_are_answered_as_written_beside_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/lsp");
    let mut sessions: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    sessions.retain(|path| path.extension().is_some_and(|ending| ending == "session"));
    sessions.sort();
    assert!(sessions.len() > 5, "the sessions are found");
    let mut wrong = Vec::new();
    for session in sessions {
        let now = played(&fs::read_to_string(&session).unwrap());
        let beside = session.with_extension("answers");
        if env::var_os("LF_BLESS").is_some() {
            fs::write(&beside, &now).unwrap();
        }
        let before = fs::read_to_string(&beside).unwrap_or_default();
        if before != now {
            wrong
                .push(format!("{} (`LF_BLESS=1` accepts it)\n--- before\n{before}\n--- now\n{now}", session.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Plays one session; gives what was asked, with the answers.
fn played(session: &str) -> String {
    let place = Place::example("triage");
    let encoding = if session.starts_with("utf-8\n") { "utf-8" } else { "utf-16" };
    let mut editor = Editor::start(place.path(), encoding);
    let mut file: Option<(String, String)> = None;
    let mut answers = String::new();
    for line in session.lines().skip(usize::from(session.starts_with("utf-8\n"))) {
        if let Some(name) = line.strip_prefix("== ") {
            if let Some((name, text)) = file.replace((name.to_owned(), String::new())) {
                editor.open(&name, &text);
            }
        } else if let Some(asked) = line.strip_prefix(">> ") {
            if let Some((name, text)) = file.take() {
                editor.open(&name, &text);
            }
            writeln!(answers, ">> {asked}\n{}", editor.ask(asked)).unwrap();
        } else if let Some((_, text)) = &mut file {
            text.push_str(line);
            text.push('\n');
        }
    }
    editor.end();
    answers
}

#[test]
fn a_session_keeps_to_the_protocol() {
    let place = Place::example("triage");
    let mut editor = Editor::raw(place.path());
    let early = editor.request("textDocument/hover", &json!({}));
    assert_eq!(early["error"]["code"], -32002, "{early}");
    let able = editor.request("initialize", &json!({ "capabilities": {} }));
    assert_eq!(able["result"]["capabilities"]["positionEncoding"], "utf-16");
    assert_eq!(editor.request("initialize", &json!({}))["error"]["code"], -32600);
    assert_eq!(editor.request("textDocument/unknown", &json!({}))["error"]["code"], -32601);
    assert_eq!(editor.request("textDocument/hover", &json!({ "x": 1 }))["error"]["code"], -32602);
    editor.notify("textDocument/unheardOf", &json!({ "x": 1 }));
    editor.notify("textDocument/didOpen", &json!(["not a document"]));
    editor.write_raw("Content-Length: 9\r\n\r\n{\"half\":,");
    assert_eq!(editor.next()["error"]["code"], -32700);
    let not_open =
        json!({ "textDocument": { "uri": "file:///nowhere.mvt" }, "position": { "line": 0, "character": 0 } });
    assert_eq!(editor.request("textDocument/hover", &not_open)["error"]["code"], -32602);
    assert_eq!(editor.request("shutdown", &json!(null))["result"], json!(null));
    assert_eq!(editor.request("textDocument/hover", &not_open)["error"]["code"], -32600);
    editor.notify("exit", &json!(null));
    assert_eq!(editor.code(), Some(0));
}

#[test]
fn what_was_cancelled_before_its_turn_is_not_done() {
    let place = Place::example("triage");
    let mut editor = Editor::start(place.path(), "utf-16");
    editor.open("movements/a.mvt", "x = 1\n");
    let about = json!({ "textDocument": { "uri": editor.uri("movements/a.mvt") } });
    // One write, so that the cancellation is there before the request has its turn or right after: both are answers.
    editor.write_all(&[
        json!({ "id": 7001, "method": "textDocument/documentSymbol", "params": about }),
        json!({ "method": "$/cancelRequest", "params": { "id": 7002 } }),
        json!({ "id": 7002, "method": "textDocument/documentSymbol", "params": about }),
        json!({ "id": 7003, "method": "textDocument/documentSymbol", "params": about }),
    ]);
    assert!(editor.answer(7001)["result"].is_array());
    assert_eq!(editor.answer(7002)["error"]["code"], -32800);
    assert!(editor.answer(7003)["result"].is_array());
    editor.end();
}

#[test]
fn an_editor_that_goes_or_talks_nonsense_ends_the_session() {
    let place = Place::example("triage");
    let mut editor = Editor::raw(place.path());
    editor.notify("exit", &json!(null));
    assert_eq!(editor.code(), Some(1));
    let mut editor = Editor::raw(place.path());
    editor.close();
    assert_eq!(editor.code(), Some(1));
    let mut editor = Editor::raw(place.path());
    editor.write_raw("Content-Length: 99999999999999\r\n\r\n");
    assert_eq!(editor.code(), Some(2));
}

#[test]
fn files_and_the_lock_file_are_followed_on_disk() {
    let place = Place::example("triage");
    place.write("movements/lib.mvt", "export most = 3\n");
    let mut editor = Editor::start(place.path(), "utf-16");
    editor.open("movements/a.mvt", "import { most } from \"lib\"\nexport more = most + 1\n");
    assert_eq!(editor.problems("movements/a.mvt"), Vec::<String>::new());
    place.write("movements/lib.mvt", "export most = \"3\"\n");
    editor.changed("movements/lib.mvt");
    assert_eq!(editor.problems("movements/a.mvt"), ["2:20 MOV_ARITHMETIC"]);
    std::fs::remove_file(place.path().join("movements/lib.mvt")).unwrap();
    editor.changed("movements/lib.mvt");
    assert_eq!(editor.problems("movements/a.mvt"), ["1:22 MOV_IMPORT_NOT_FOUND"]);
    editor.open("movements/lib.mvt", "export most = 4\n");
    assert_eq!(editor.problems("movements/a.mvt"), Vec::<String>::new(), "what is open counts, not what is on disk");
    std::fs::remove_file(place.path().join("listen-fire.lock")).unwrap();
    editor.changed("listen-fire.lock");
    assert!(editor.problems("movements/triage.mvt").iter().any(|problem| problem.contains("MOV_C")));
    editor.end();
}

#[test]
fn without_a_project_a_text_is_read_all_the_same() {
    let place = Place::empty();
    let mut editor = Editor::start(place.path(), "utf-16");
    editor.open("alone.mvt", "crm = connect #acme_crm using acme\nx = (1\ny = 2\n");
    assert_eq!(editor.problems("alone.mvt"), ["2:5 MOV_PARSE_UNCLOSED"]);
    assert!(editor.ask("symbols alone.mvt").contains("crm"));
    editor.end();
}

/// Edits that no person makes, and everything asked in between: every request is answered, and the process lives.
#[test]
fn broken_texts_never_end_a_session() {
    let rounds: u64 = env::var("LF_LSP_ROUNDS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let place = Place::example("triage");
    let mut editor = Editor::start(place.path(), "utf-16");
    let pieces = [
        "}",
        "{",
        "(",
        "-[:",
        "]->",
        "\"",
        "${",
        "`",
        "\u{1f600}",
        "\r\n",
        "WHERE ",
        "write ",
        "if ",
        "fire ",
        "= ",
        ".",
        "connect #acme_crm using acme\n",
        "crm-[:Company]-> { ",
        "function f(",
        "import { a } from \"triage\"\n",
        "\t//",
        ":",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % (most.max(1) as u64)).unwrap()
    };
    let file = "movements/triage.mvt";
    let start = fs::read_to_string(place.path().join(file)).unwrap();
    editor.open(file, &start);
    for round in 0..rounds {
        if round % 20 == 0 {
            editor.replace(file, &start);
        }
        let (line, column, more) = (draw(14), draw(90), draw(12));
        editor.edit(file, (line, column), (line, column + more), pieces[draw(pieces.len())]);
        let place = json!({ "line": draw(14), "character": draw(90) });
        let about = json!({ "uri": editor.uri(file) });
        for (method, params) in [
            ("hover", json!({ "textDocument": about, "position": place })),
            ("completion", json!({ "textDocument": about, "position": place })),
            ("definition", json!({ "textDocument": about, "position": place })),
            (
                "references",
                json!({ "textDocument": about, "position": place, "context": { "includeDeclaration": true } }),
            ),
            ("documentHighlight", json!({ "textDocument": about, "position": place })),
            ("prepareRename", json!({ "textDocument": about, "position": place })),
            ("rename", json!({ "textDocument": about, "position": place, "newName": "other" })),
            ("formatting", json!({ "textDocument": about, "options": {} })),
            ("documentSymbol", json!({ "textDocument": about })),
            ("semanticTokens/full", json!({ "textDocument": about })),
            (
                "codeAction",
                json!({
                    "textDocument": about, "range": { "start": { "line": 0, "character": 0 }, "end": place },
                    "context": { "diagnostics": [], "only": ["source.fixAll", "quickfix"] },
                }),
            ),
        ] {
            let reply = editor.request(&format!("textDocument/{method}"), &params);
            let refused = reply["error"]["code"].as_i64();
            assert!(refused.is_none_or(|code| code == -32803), "{method}: {reply}");
        }
    }
    editor.end();
}
