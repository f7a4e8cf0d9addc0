//! How long a very large list of tools takes to be described, from its last byte on, and how much memory. By hand:
//! `cargo bench -p lf-mcp --bench large`.
//!
//! 2,000 tools, 20 MB of schemas. The server is a process of its own, so that its memory is not counted; each case is one
//! too, so that the peak is the case's own.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a benchmark ends where it fails, and prints"
)]
#![expect(clippy::disallowed_methods, reason = "what is measured is real time")]

mod loopback;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use lf_harness::{World, mcp::Offer};
use lf_mcp::Mcp;
use lf_module::{Call, Clock as _, Credential, Module as _, Secret, Target, call::Settings};
use loopback::Loopback;
use serde_json::{Map, Value as Json, json};

const TOOLS: usize = 2000;

/// The cases: what the schemas are like, and on how many pages the list comes.
const CASES: [(&str, usize); 3] = [("plain", 1), ("plain", 40), ("all sorts", 1)];

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("serve") => serve(&arguments.next().unwrap(), arguments.next().unwrap().parse().unwrap()),
        Some("describe") => describe(&arguments.next().unwrap()),
        Some(_) | None => CASES.iter().for_each(|(kind, pages)| case(kind, *pages)),
    }
}

/// The schemas of one tool, a little more than 10 KB.
fn tool(kind: &str, number: usize) -> Json {
    let doc = |at: usize| format!("property {at} of tool {number}: {}", "what it is for, at some length. ".repeat(5));
    let plain = |at: usize| json!({"type": ["string", "null"], "description": doc(at), "maxLength": 100});
    let property = |at: usize| match at % 6 {
        _ if kind == "plain" => plain(at),
        0 => json!({"$ref": "#/$defs/Person", "description": doc(at)}),
        1 => json!({"anyOf": [{"type": "string", "format": "uuid"}, {"type": "null"}], "description": doc(at)}),
        2 => json!({"type": "string", "pattern": "^[a-z][a-z0-9-]{0,62}$", "description": doc(at)}),
        3 => json!({"type": "array", "items": {"$ref": "#/$defs/Person"}, "description": doc(at), "maxItems": 9}),
        4 => json!({"enum": ["low", "high", number, null], "default": "low", "description": doc(at)}),
        _ => plain(at),
    };
    let properties: Map<_, _> = (0..42).map(|at| (format!("property_{at}"), property(at))).collect();
    let mut schema = json!({"type": "object", "properties": properties, "required": ["property_0"]});
    if kind != "plain" {
        let person =
            json!({"type": "object", "properties": {"name": {"type": "string"}, "boss": {"$ref": "#/$defs/Person"}}});
        schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        schema["$defs"] = json!({"Person": person});
        schema["additionalProperties"] = json!(false);
    }
    json!({"name": format!("tool_{number}"), "description": doc(0), "inputSchema": schema})
}

/// A server, until its input ends. Says where it is, how many bytes it has, and, asked by a line, when the list was out.
fn serve(kind: &str, pages: usize) {
    let pages: Vec<String> = (0..pages)
        .map(|page| {
            let tools = (page * TOOLS / pages..(page + 1) * TOOLS / pages).map(|number| tool(kind, number));
            Json::Array(tools.collect()).to_string()
        })
        .collect();
    let bytes: usize = pages.iter().map(String::len).sum();
    let server = Loopback::start(Offer::of(json!([])), pages);
    println!("{} {bytes}", server.url);
    for _ in std::io::stdin().lines() {
        println!("{}", server.listed().unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros());
    }
}

/// Describes what is at `url`, and says: when that was done, how long the parts took, and the memory.
fn describe(url: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (at, types, fields) = runtime.block_on(async {
        let world = World::new(0.5);
        let credential = Credential {
            name: "bench".into(),
            kind: "mcp_token".into(),
            fields: [("url", url), ("token", "t")].map(|(name, value)| (name.into(), Secret::new(value))).into(),
        };
        let ports = world.ports();
        let target = Target { id: "bench".into(), settings: Settings::new(), credential: Some(credential), ports };
        let connection = Mcp::default().connect(target).unwrap();
        let call = Call { deadline: world.monotonic() + Duration::from_secs(600), idempotency: None };
        let described = connection.describe(&call).await.unwrap();
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
        assert_eq!(described.warnings, Vec::<String>::new());
        (at, described.types.len(), described.types.iter().map(|ty| ty.fields.len()).sum::<usize>())
    });
    println!("{at} {types} {fields} {} {} {}", memory("VmHWM:"), memory("RssAnon:"), processor());
}

/// How long this process has run, in milliseconds.
fn processor() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    // In hundredths of a second, in its own code and in the kernel's.
    rest.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum()
}

/// A figure of this process's memory, in MB.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() * 1024 / 1_000_000
}

fn case(kind: &str, pages: usize) {
    let program = std::env::current_exe().unwrap();
    let mut server = Command::new(&program);
    let server = server.args(["serve", kind, &pages.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = server.spawn().unwrap();
    let (mut ask, mut answers) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
    let mut line = || {
        let mut line = String::new();
        assert!(answers.read_line(&mut line).unwrap() > 0);
        line.trim().to_owned()
    };
    let said = line();
    let (url, bytes) = said.split_once(' ').unwrap();
    let mut after = Vec::new();
    let mut figures = Vec::new();
    let mut whole = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        let output = Command::new(&program).args(["describe", url]).output().unwrap();
        whole.push(start.elapsed());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        ask.write_all(b"when\n").unwrap();
        let listed: u128 = line().parse().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let (at, rest) = said.trim().split_once(' ').unwrap();
        after.push(at.parse::<u128>().unwrap() - listed);
        figures = rest.split(' ').map(|figure| figure.parse::<u64>().unwrap()).collect();
    }
    drop(ask);
    server.wait().unwrap();
    after.sort_unstable();
    whole.sort_unstable();
    let [types, fields, peak, own, busy] = figures[..] else { panic!("five figures: {figures:?}") };
    println!(
        "{kind}, {bytes} bytes on {pages} pages: {types} types with {fields} fields; described {:.2} s after the last byte \
         (the whole process {:.2} s, of it {:.2} s of processor); {peak} MB at the peak, {own} MB own at the end",
        after[2] as f64 / 1e6,
        whole[2].as_secs_f64(),
        busy as f64 / 1e3,
    );
}
