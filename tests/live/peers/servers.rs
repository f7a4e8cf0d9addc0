//! Each real server: described, with the number of its types and fields, checked in a movement that uses it, and
//! called. A version that is seen otherwise is a finding. What needs the internet or a key is called all the same: its
//! own refusal is what the run fails with.
//!
//! Those that come with the live peers (`LF_PEERS`) must be there; the others are tried where `tests/peers/setup` was
//! told to install `all`, which `LF_PEERS_ALL=1` says. One of them that did not install is named, and is no failure.

use std::{io::Write as _, path::Path, process::Command};

use serde_json::Value as Json;

use super::{Project, free_port, peers, started};

/// A server: how it is started, how it is seen, and what a movement does with it.
struct Kind {
    name: &'static str,
    /// The folder or file that has to be there.
    needs: &'static str,
    /// `PORT` and `DIR` stand for what is chosen at the start.
    command: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
    host: &'static str,
    /// Under which header the token is sent, if not as a bearer.
    header: &'static str,
    types: usize,
    fields: usize,
    /// What is done with `company` and `peer`.
    uses: &'static str,
    outcome: Outcome,
}

/// What comes of it.
enum Outcome {
    /// The company's name holds all of these.
    Renamed(&'static [&'static str]),
    /// The run fails, and its story holds all of these.
    Refused(&'static [&'static str]),
}

const NODE: [&str; 3] = ["node", "--import", "./bind-loopback.mjs"];

impl Kind {
    /// A script of Node that is told its port by the environment.
    const fn node(name: &'static str, needs: &'static str, command: &'static [&'static str]) -> Self {
        Self {
            name,
            needs,
            command,
            environment: &[],
            host: "127.0.0.1",
            header: "",
            types: 0,
            fields: 0,
            uses: "",
            outcome: Outcome::Renamed(&[]),
        }
    }

    fn command(&self, folder: &Path, own: &str, port: u16) -> Command {
        let filled = |text: &str| text.replace("PORT", &port.to_string()).replace("DIR", own);
        let script = self.command[0].ends_with("js");
        let words = NODE.iter().filter(|_| script).chain(self.command);
        let mut words = words.map(|word| filled(word));
        let program = words.next().unwrap();
        let mut command = Command::new(if program.contains('/') { folder.join(program) } else { program.into() });
        command.args(words).current_dir(folder).stdout(std::process::Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (*name, filled(value))));
        command
    }
}

const KUBECONFIG: &str = r#"{"apiVersion":"v1","kind":"Config","current-context":"fake",
"clusters":[{"name":"fake","cluster":{"server":"https://127.0.0.1:9"}}],
"contexts":[{"name":"fake","context":{"cluster":"fake","user":"fake"}}],"users":[{"name":"fake","user":{"token":"x"}}]}"#;

#[expect(clippy::explicit_write, reason = "`eprintln!` would be captured: a case that was not tried must say so")]
fn skipped(why: &str) {
    writeln!(std::io::stderr(), "skipped: peers::servers: {why}").unwrap();
}

/// One that comes with the live peers.
async fn must(kind: &Kind) {
    let Some(folder) = peers(kind.name) else { return };
    assert!(folder.join(kind.needs).exists(), "{} is not installed", kind.name);
    judge(kind, &folder).await;
}

/// One of the others.
async fn may(kind: &Kind) {
    let Some(folder) = peers(kind.name) else { return };
    if std::env::var("LF_PEERS_ALL").is_err() {
        skipped(&format!("{} (LF_PEERS_ALL)", kind.name));
    } else if folder.join(kind.needs).exists() {
        judge(kind, &folder).await;
    } else {
        skipped(&format!("{} did not install", kind.name));
    }
}

async fn judge(kind: &Kind, folder: &Path) {
    let own = tempfile::tempdir().unwrap();
    std::fs::write(own.path().join("kubeconfig"), KUBECONFIG).unwrap();
    let port = free_port();
    let own = own.path().to_str().unwrap();
    let mut peer = started(kind.command(folder, own, port), port);
    (peer.url, peer.header) = (format!("http://{}:{port}/mcp", kind.host), kind.header);
    let movement = format!(
        "crm = connect #acme_crm using acme\npeer = connect `@lf/mcp` using peer\n\n\
         function use_it(company: <crm-[:Company]->>) {{\n{}\n}}\n\n\
         listen to crm-[:Company]-> {{ start: \"all\" }} fire use_it\n",
        kind.uses.replace("DIR", own)
    );
    let project = Project::new(peer, &movement).await;

    let described: Json = serde_json::from_str(&project.succeeds(&["--json", "describe", "peer"]).await).unwrap();
    let types = described["types"].as_array().unwrap();
    let fields: usize = types.iter().map(|ty| ty["fields"].as_array().unwrap().len()).sum();
    assert_eq!((types.len(), fields), (kind.types, kind.fields), "{}: types and fields", kind.name);

    project.succeeds(&["check"]).await;

    project.systems.crm.add("Juniper");
    let output = project.command(&["run", "--once"]).await;
    let (name, story) = (project.systems.crm.companies()[0].name.clone(), project.stories().await.join("\n"));
    let said = String::from_utf8_lossy(&output.stderr);
    let (text, pieces) = match kind.outcome {
        Outcome::Renamed(pieces) => (&name, pieces),
        Outcome::Refused(pieces) => {
            assert_eq!(name, "Juniper", "{}: it was refused", kind.name);
            (&story, pieces)
        }
    };
    let missing: Vec<_> = pieces.iter().filter(|piece| !text.contains(**piece)).collect();
    assert!(missing.is_empty(), "{}: {missing:?} is not in\n{text}\n{story}\n{said}", kind.name);
}

#[tokio::test(flavor = "multi_thread")]
async fn server_everything() {
    must(&Kind {
        types: 16,
        fields: 66,
        uses: "
  peer-[e:echo WHERE e.message == company.Name]-> {
    peer-[w:`get-structured-content` WHERE w.location == \"Chicago\"]-> {
      logging = write peer-[:`toggle-simulated-logging`]-> {}
      peer-[r:resource WHERE r.uri == \"demo://resource/static/document/features.md\"]-> {
        write company { Name: \"${e.text}; ${w.conditions}; ${logging.text}; ${r.text}\" }
      }
    }
  }",
        outcome: Outcome::Renamed(&["Echo: Juniper; ", "logging", "Features"]),
        ..Kind::node(
            "server-everything",
            "node_modules/@modelcontextprotocol/server-everything",
            &["node_modules/@modelcontextprotocol/server-everything/dist/index.js", "streamableHttp"],
        )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_filesystem_behind_a_gateway() {
    must(&Kind {
        types: 14,
        fields: 66,
        uses: "
  write peer-[:write_file]-> { path: \"DIR/note.txt\", content: \"about ${company.Name}\" }
  peer-[f:read_text_file WHERE f.path == \"DIR/note.txt\"]-> {
    write company { Name: \"read: ${f.text}\" }
  }",
        outcome: Outcome::Renamed(&["read: about Juniper"]),
        ..Kind::node(
            "server-filesystem",
            "node_modules/supergateway",
            &[
                "node_modules/supergateway/dist/index.js",
                "--stdio",
                "node node_modules/@modelcontextprotocol/server-filesystem/dist/index.js DIR",
                "--outputTransport",
                "streamableHttp",
                "--stateful",
                "--port",
                "PORT",
            ],
        )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_memory_behind_a_proxy() {
    must(&Kind {
        environment: &[("MEMORY_FILE_PATH", "DIR/memory.jsonl")],
        types: 10,
        fields: 54,
        uses: "
  write peer-[:create_entities]-> {
    entities: [{ name: company.Name, entityType: \"company\", observations: [\"number ${company.id}\"] }]
  }
  peer-[s:search_nodes WHERE s.query == company.Name]-> {
    write company { Name: s.text }
  }",
        outcome: Outcome::Renamed(&["Juniper", "number 1"]),
        ..Kind::node(
            "server-memory",
            "node_modules/mcp-proxy",
            &[
                "node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs",
                "--port",
                "PORT",
                "--host",
                "127.0.0.1",
                "--",
                "node",
                "node_modules/@modelcontextprotocol/server-memory/dist/index.js",
            ],
        )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_system_monitor() {
    must(&Kind {
        types: 3,
        fields: 21,
        uses: "
  system = write peer-[:`get-system-info`]-> {}
  write company { Name: \"seen: ${system.text}\" }",
        outcome: Outcome::Renamed(&["seen: ", "hostname"]),
        ..Kind::node(
            "server-system-monitor",
            "node_modules/@modelcontextprotocol/server-system-monitor",
            &["node_modules/@modelcontextprotocol/server-system-monitor/dist/index.js"],
        )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_server_of_hard_schemas() {
    must(&Kind {
        types: 6,
        fields: 47,
        uses: "
  due = DATE(\"2026-03-04\")
  if due != null {
    peer-[p:plan WHERE p.title == company.Name AND p.limit == 3 AND p.team == \"OPS\" AND p.day == due]-> {
      peer-[n:numbers WHERE n.upto == 3]-> {
        count = write peer-[:note]-> { text: company.Name }
        peer-[one:one WHERE one.number == \"1\"]-> {
          team = COALESCE(p.team, \"no\")
          write company { Name: \"${team} ${p.count}; ${n.text}; ${count.result}; ${one.text}\" }
        }
      }
    }
  }",
        outcome: Outcome::Renamed(&["OPS 2; 0\n1\n2; 2; Juniper"]),
        ..Kind::node("hard_schemas.py", "hard_schemas.py", &["venv/bin/python", "hard_schemas.py", "PORT"])
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_server_that_refuses() {
    must(&Kind {
        types: 6,
        fields: 47,
        uses: "  write peer-[:refuse]-> { why: \"not ${company.Name}\" }",
        outcome: Outcome::Refused(&["the server refused it", "not Juniper"]),
        ..Kind::node("hard_schemas.py", "hard_schemas.py", &["venv/bin/python", "hard_schemas.py", "PORT"])
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_server_of_hundreds_of_tools_in_pages() {
    must(&Kind {
        types: 622,
        fields: 3732,
        uses: "
  done = write peer-[:act_0619]-> { value: 7, note: company.Name }
  peer-[c:calls WHERE c.prefix == \"act_0619\"]-> {
    write company { Name: \"${c.made} call; ${done.text}\" }
  }",
        outcome: Outcome::Renamed(&["1 call; act_0619 got 7 (Juniper)"]),
        ..Kind::node("many_tools.py", "many_tools.py", &["venv/bin/python", "many_tools.py", "PORT"])
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_budget_allocator() {
    may(&Kind {
        types: 2,
        fields: 11,
        uses: "
  budget = write peer-[:`get-budget-data`]-> {}
  write company { Name: \"seen: ${budget.text}\" }",
        outcome: Outcome::Renamed(&["seen: ", "Budget"]),
        ..Kind::node(
            "server-budget-allocator",
            "node_modules/@modelcontextprotocol/server-budget-allocator",
            &["node_modules/@modelcontextprotocol/server-budget-allocator/dist/index.js"],
        )
    })
    .await;
}

/// Without a browser its own refusal is what comes of it.
#[tokio::test(flavor = "multi_thread")]
async fn playwright() {
    const CHROMIUM: &str = "/usr/bin/chromium";
    let outcome = if Path::new(CHROMIUM).exists() {
        Outcome::Renamed(&["opened: ", "Page Title: Juniper"])
    } else {
        Outcome::Refused(&["the server refused it", "Failed to launch"])
    };
    may(&Kind {
        host: "localhost",
        types: 25,
        fields: 117,
        uses: "
  page = write peer-[:browser_navigate]-> { url: \"data:text/html,<title>${company.Name}</title>\" }
  write company { Name: \"opened: ${page.text}\" }",
        outcome,
        ..Kind::node(
            "playwright",
            "node_modules/@playwright/mcp",
            &[
                "node_modules/@playwright/mcp/cli.js",
                "--port",
                "PORT",
                "--host",
                "127.0.0.1",
                "--headless",
                "--no-sandbox",
                "--isolated",
                "--executable-path",
                CHROMIUM,
            ],
        )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn notion() {
    may(&Kind {
        environment: &[("AUTH_TOKEN", "t0ken"), ("NOTION_TOKEN", "x")],
        types: 24,
        fields: 119,
        uses: "
  peer-[me:`API-get-self`]-> {
    write company { Name: me.text }
  }",
        outcome: Outcome::Refused(&["the server refused it"]),
        ..Kind::node(
            "notion",
            "node_modules/@notionhq/notion-mcp-server",
            &["node_modules/@notionhq/notion-mcp-server/bin/cli.mjs", "--transport", "http", "--port", "PORT"],
        )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn antv_chart() {
    may(&Kind {
        environment: &[("VIS_REQUEST_SERVER", "http://127.0.0.1:9/")],
        types: 27,
        fields: 237,
        uses: "
  slices = [{ category: company.Name, value: 1 }]
  peer-[chart:generate_pie_chart WHERE chart.data == slices]-> {
    write company { Name: chart.text }
  }",
        outcome: Outcome::Refused(&["the server refused it", "generate chart"]),
        ..Kind::node(
            "antv chart",
            "node_modules/@antv/mcp-server-chart",
            &["node_modules/@antv/mcp-server-chart/build/index.js", "-t", "streamable", "-p", "PORT"],
        )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn context7() {
    may(&Kind {
        environment: &[("CONTEXT7_API_URL", "http://127.0.0.1:9")],
        types: 3,
        fields: 14,
        uses: "
  peer-[found:`resolve-library-id` WHERE found.query == company.Name AND found.libraryName == \"serde\"]-> {
    write company { Name: \"found: ${found.text}\" }
  }",
        outcome: Outcome::Renamed(&["found: ", "rror"]),
        ..Kind::node(
            "context7",
            "node_modules/@upstash/context7-mcp",
            &["node_modules/@upstash/context7-mcp/dist/index.js", "--transport", "http", "--port", "PORT"],
        )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubernetes() {
    const BINARY: &str = "node_modules/kubernetes-mcp-server-linux-amd64/bin/kubernetes-mcp-server-linux-amd64";
    may(&Kind {
        // It would sign in to its cluster with a bearer of ours.
        header: "X-Unused",
        types: 21,
        fields: 102,
        uses: "
  peer-[c:configuration_view]-> {
    write company { Name: \"seen: ${c.text}\" }
  }",
        outcome: Outcome::Renamed(&["seen: ", "fake"]),
        ..Kind::node(
            "kubernetes",
            BINARY,
            &[BINARY, "--port", "PORT", "--bind-address", "127.0.0.1", "--kubeconfig", "DIR/kubeconfig"],
        )
    })
    .await;
}
