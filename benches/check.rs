//! What a check costs: parse, check and compile of generated projects, by size, against a catalog of 300 types. By hand:
//! `cargo bench -p lf-lang --bench check [-- FILES…]`.
//!
//! Each file of 100 lines imports a function of the file before it and has two functions, a listen and the usual mix of
//! reads, writes, conditions and texts. Then what one edit costs where a program is checked again and again.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark ends where it fails, and prints"
)]

use std::{
    fmt::Write as _,
    fs,
    num::NonZero,
    time::{Duration, Instant},
};

use lf_lang::{
    check::{self, Catalog, Program, catalog::Described, study::Study},
    diag::Severity,
    plan,
    source::{SourceId, SourceMap},
    syntax::{self, ast},
};

const CATALOG: &str = include_str!("../tests/corpus/catalogs/acme.json");
const FILES: [usize; 3] = [10, 100, 1000];
const TIMES: usize = 5;
/// Of the one connection whose types the files read and write.
const TYPES: usize = 300;

/// One file of 100 lines.
fn file(number: usize) -> String {
    let mut text = String::new();
    if number > 0 {
        writeln!(text, "import {{ note{0} }} from \"f{0}.mvt\"", number - 1).unwrap();
    } else {
        text.push_str("// the first file\n");
    }
    text.push_str("crm = connect #acme_crm using acme\ntracker = connect `@lf/mcp` using linear\n\n");
    writeln!(text, "export function note{number}(company: <crm-[:Company]->>): <text> {{").unwrap();
    text.push_str("  short = UPPER(TRIM(company.Name))\n");
    for line in 0..40 {
        writeln!(text, "  part{line} = \"${{short}} {line} ${{company.Name}}\"").unwrap();
    }
    text.push_str("  return \"");
    for line in 0..40 {
        write!(text, "${{part{line}}}").unwrap();
    }
    text.push_str("\"\n}\n\n");
    writeln!(text, "function triage{number}(company: <crm-[:Company]->>) {{").unwrap();
    for step in 0..9 {
        writeln!(text, "  if company.Name != \"n{step}\" AND LENGTH(company.Name) > {step} {{").unwrap();
        writeln!(
            text,
            "    issue{step} = write tracker-[:create_issue]-> {{ title: \"{step} ${{company.Name}}\", team: \"ENG\" }}"
        )
        .unwrap();
        writeln!(text, "    tracker-[r:search_issues WHERE r.query == company.Name]-> {{").unwrap();
        writeln!(text, "      write company {{ Name: \"${{r.count}} ${{issue{step}.text}}\" }}\n    }}\n  }}").unwrap();
    }
    if number > 0 {
        writeln!(text, "  write company {{ Name: note{}(company) }}", number - 1).unwrap();
    } else {
        text.push_str("  write company { Name: note0(company) }\n");
    }
    writeln!(text, "}}\n\nlisten as \"l{number}\" to crm-[:Company]-> fire triage{number}").unwrap();
    text
}

/// A project as an editor has it, checked once.
struct Desk {
    map: SourceMap,
    files: Vec<ast::File>,
    roots: Vec<SourceId>,
    study: Study,
}

impl Desk {
    fn new(map: SourceMap, catalog: &Catalog) -> Self {
        let files: Vec<_> = map.iter().map(|source| syntax::parse(source).file).collect();
        let roots: Vec<SourceId> = map.iter().map(|source| source.id).collect();
        let mut study = Study::default();
        study.check(&Program { map: &map, files: &files, roots: &roots }, catalog);
        Self { map, files, roots, study }
    }

    /// How long it takes until the problems are known after one edit of a file: the best of several.
    fn edited(&mut self, catalog: &Catalog, file: usize, from: &str, to: &str) -> Duration {
        let id = self.roots[file];
        let before = self.map.get(id).unwrap().text.to_string();
        assert!(before.contains(from), "{from}");
        let after = before.replacen(from, to, 1);
        let mut best = Duration::MAX;
        for round in 0..2 * TIMES {
            let text = if round % 2 == 0 { &after } else { &before };
            let start = Instant::now();
            let before = self.map.get(id).unwrap().clone();
            self.map.replace(id, text.as_str());
            let now = self.map.get(id).unwrap();
            let tree = self.files[file].clone();
            self.files[file] = syntax::parse_edited(now, &before, tree, &[]).file;
            let program = Program { map: &self.map, files: &self.files, roots: &self.roots };
            let problems = self.study.check(&program, catalog);
            best = best.min(start.elapsed());
            drop(problems);
        }
        best
    }
}

/// `lines` of functions in one file.
fn long_file(lines: usize) -> String {
    let mut text = String::from("crm = connect #acme_crm using acme\n\n");
    let mut number = 0;
    while text.lines().count() + 12 <= lines {
        writeln!(text, "function f{number}(company: <crm-[:Company]->>) {{").unwrap();
        for line in 0..8 {
            writeln!(
                text,
                "  v{line} = \"{number} ${{UPPER(TRIM(company.Name))}} ${{LENGTH(company.Name) + {line}}}\""
            )
            .unwrap();
        }
        text.push_str("  write company { Name: \"${v0}${v1}${v2}${v3}${v4}${v5}${v6}${v7}\" }\n}\n\n");
        number += 1;
    }
    text
}

/// What an edit costs in an editor: `file(500)` of a thousand, and a file of 2,000 lines.
fn edits(catalog: &Catalog) {
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    for files in FILES {
        let mut map = SourceMap::default();
        for number in 0..files {
            map.add(format!("f{number}.mvt"), file(number));
        }
        let mut desk = Desk::new(map, catalog);
        let inside = desk.edited(catalog, files / 2, "  if company.Name != \"n3\"", "  if company.Name != \"other\"");
        let reaching = desk.edited(catalog, 0, "export function note0(company:", "export function note0(firm:");
        let through = desk.edited(catalog, 0, "): <text> {", "): <text | absent> {");
        println!(
            "an edit in one of {files} files of 100 lines: {} inside a function, {} of a name others call, {} of its type",
            ms(inside),
            ms(reaching),
            ms(through)
        );
    }
    for lines in [2_000, 10_000] {
        let mut map = SourceMap::default();
        map.add("long.mvt", long_file(lines));
        let mut desk = Desk::new(map, catalog);
        let time = desk.edited(catalog, 0, "\"7 ${", "\"seven ${");
        println!("an edit in a file of {lines} lines: {}", ms(time));
    }
}

/// Parses and checks once, as `listen-fire check` does.
fn check_once(map: &SourceMap, catalog: &Catalog) {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let sources: Vec<_> = map.iter().collect();
    let files: Vec<_> = syntax::parse_all(&sources, threads).into_iter().map(|parsed| parsed.file).collect();
    let roots: Vec<SourceId> = map.iter().map(|source| source.id).collect();
    let checked = check::check(&Program { map, files: &files, roots: &roots }, catalog);
    assert!(checked.movement.is_some());
}

/// The times of one round: parse, check, compile.
fn round(map: &SourceMap, catalog: &Catalog) -> [Duration; 3] {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let start = Instant::now();
    let sources: Vec<_> = map.iter().collect();
    let files: Vec<_> = syntax::parse_all(&sources, threads).into_iter().map(|parsed| parsed.file).collect();
    let parsed = start.elapsed();
    let roots: Vec<SourceId> = map.iter().map(|source| source.id).collect();
    let start = Instant::now();
    let checked = check::check(&Program { map, files: &files, roots: &roots }, catalog);
    let checked_in = start.elapsed();
    let errors: Vec<_> = checked.problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let start = Instant::now();
    let plan = plan::compile(&checked.movement.unwrap(), map);
    assert_eq!(plan.listens.len(), map.iter().count());
    [parsed, checked_in, start.elapsed()]
}

/// The catalog of the corpus, with a first connection of many types.
fn catalog() -> Catalog {
    let mut catalog: Catalog = serde_json::from_str(CATALOG).unwrap();
    let crm = catalog.connections.values_mut().find_map(|described| match described {
        Described::Yes(description) => description.get("Company").is_some().then_some(description),
        Described::No { refused: _, why: _, offline: _ } => None,
    });
    let types = &mut crm.unwrap().types;
    let company = types.iter().find(|shape| shape.name == "Company").unwrap().clone();
    while types.len() < TYPES {
        let mut other = company.clone();
        other.name = format!("Company{}", types.len()).into();
        types.insert(0, other);
    }
    catalog
}

/// The most memory that this process has held at once, in MB.
fn most_memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<f64>().ok().map(|kilobytes| kilobytes * 1024.0 / 1e6)
}

fn main() {
    let catalog = catalog();
    println!(
        "{:>7} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10}   (best of {TIMES})",
        "files", "lines", "parse", "check", "compile", "all", "resident"
    );
    let asked: Vec<usize> = std::env::args().skip(1).filter_map(|files| files.parse().ok()).collect();
    for files in if asked.is_empty() { FILES.to_vec() } else { asked } {
        let mut map = SourceMap::default();
        for number in 0..files {
            map.add(format!("f{number}.mvt"), file(number));
        }
        let lines: usize = map.iter().map(|source| source.text.lines().count()).sum();
        // The larger comes after the smaller, so what was held at most so far is this check's.
        check_once(&map, &catalog);
        let memory = most_memory().map_or_else(String::new, |most| format!("{most:.0} MB"));
        let best =
            (0..TIMES).map(|_| round(&map, &catalog)).min_by_key(|times| times.iter().sum::<Duration>()).unwrap();
        let [parse, check, compile] = best;
        let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
        println!(
            "{files:>7} {lines:>8} {:>10} {:>10} {:>10} {:>10} {memory:>10}",
            ms(parse),
            ms(check),
            ms(compile),
            ms(parse + check + compile)
        );
    }
    if let Some(most) = most_memory() {
        println!("at most {most:.0} MB resident, after {TIMES} rounds with the plan of each");
    }
    edits(&catalog);
}
