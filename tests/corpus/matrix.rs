//! Every kind of name in every place where one can stand: it checks and then runs, or it is refused with a code. There is
//! no third case. The outcomes are a reviewed snapshot beside this file, one paragraph for each place.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use lf_lang::check::Catalog;
use libtest_mimic::Trial;

use crate::{
    corpus, read,
    scripted::{self, Became},
    trial,
};

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("matrix/every_name_in_every_place_runs_or_is_refused", all)]
}

/// What stands around each text.
const FILE: &str = r##"crm = connect #acme_crm using acme
tracker = connect `@lf/mcp` using linear
archive = connect #archive
vault = connect #vault
label = "a"
most = 2
type Point = <{ Name: text }>
function takes_text(words: <text>): <text> { return words }
function takes_number(count: <number>): <number> { return count }
function takes_maybe(words: <text | absent>): <text> { return COALESCE(words, "") }
function takes_choice(tier: <"free" | "pro" | "enterprise">): <text> { return tier }
function takes_list(words: <text[]>): <text> { return JOIN(words, "") }
function takes_record(point: <Point>): <text> { return point.Name }
function takes_json(data: <json>): <text> { return PRINT(data) }
function takes_company(one: <crm-[:Company]->>): <text> { return one.Name }
function takes_file(one: <file>): <number> { return one.size }
function does(words: <text>) { write crm-[:Note]-> { Text: words } }
"##;

/// A kind of name, the name, and the text that binds it; `#` is what uses it.
const NAMES: &[(&str, &str, &str)] = &[
    ("connection", "crm", "#"),
    ("position", "company", "#"),
    ("handle", "made", "made = write crm-[:Company]-> { Name: \"t\" }\n#"),
    ("answer of a tool", "issue", "issue = write tracker-[:create_issue]-> { title: \"t\", team: \"ENG\" }\n#"),
    ("text", "words", "words = UPPER(company.Name)\n#"),
    ("text literal", "word", "word = \"a\"\n#"),
    ("number", "size", "size = company.Employees\n#"),
    ("boolean", "flag", "flag = company.Active\n#"),
    ("choice", "tier", "tier = company.Tier\n#"),
    ("date", "day", "day = TODAY(\"UTC\")\n#"),
    ("datetime", "at", "at = company.ChangedAt\n#"),
    ("duration", "span", "span = 3d\n#"),
    ("list of text", "tags", "tags = company.Tags\n#"),
    ("list of numbers", "sizes", "sizes = [1, 2]\n#"),
    ("list of positions", "people", "people = company-[:People]->\n#"),
    (
        "list of handles",
        "notes",
        "notes = MAP([1], (one) => {\nnote = write crm-[:Note]-> { Text: \"${one}\" }\nreturn note\n})\n#",
    ),
    ("empty list", "none", "none = []\n#"),
    ("record", "point", "point = { Name: \"a\", Size: 1 }\n#"),
    ("text or absent", "site", "site = company.Site\n#"),
    ("number or absent", "score", "score = company.Size\n#"),
    ("position or absent", "lead", "lead = company-[:Lead]->\n#"),
    ("absent", "nothing", "nothing = null\n#"),
    ("json", "data", "data = JSON(company.Tags)\n#"),
    ("json or absent", "more", "more = company.Details\n#"),
    ("file", "scan", "archive-[k:Paper]-> {\nscan = k.Cover\n#\n}"),
    ("file or absent", "scan", "archive-[k:Paper]-> {\nscan = k.Scan\n#\n}"),
    ("list of files", "pages", "archive-[k:Paper]-> {\npages = k.Pages\n#\n}"),
    ("change", "change", "#"),
    ("record or absent of a wait", "came", "came = await FIRST(crm-[:Person]->, 1h)\n#"),
    (
        "answer of a condition",
        "held",
        "held = await until(EXISTS crm-[x:Person WHERE x.Email == company.Name]->, every: 5m, most: 1h)\n#",
    ),
    ("result of a race", "won", "won = await race([() => \"a\", () => company.Name])\n#"),
    ("results of arms", "both", "both = await parallel([() => company, () => company])\n#"),
    ("reason of a refusal", "why", "write crm-[:Note]-> { Text: \"t\" } else (why) {\n#\n}"),
    ("handle or absent", "tried", "tried = write crm-[:Company]-> { Name: \"t\" } else (_why) { does(\"\") }\n#"),
    ("position of a closure", "p", "MAP(company-[:People]->, (p) => {\n#\n})"),
    ("number of a closure", "n", "MAP([1, 2], (n) => {\n#\n})"),
    ("alias of a loop", "r", "company-[r:People]-> {\n#\n}"),
    ("constant text", "label", "#"),
    ("constant number", "most", "#"),
    ("function", "takes_text", "#"),
    ("built-in", "TRIM", "#"),
    ("type", "Point", "#"),
    ("nothing of that name", "unheard", "#"),
];

/// Each place; `@` is the name.
const PLACES: &[&str] = &[
    "write crm-[:Note]-> { Text: @ }",
    "write company { Size: @ }",
    "write company { Active: @ }",
    "write company { Tier: @ }",
    "write company { Tags: @ }",
    "write company { Details: @ }",
    "write company { Founded: @ }",
    "write vault-[:Copy]-> { Name: \"a\", Data: @ }",
    "write archive-[:Paper]-> { Title: \"a\", Pages: @ }",
    "write archive-[:Paper]-> { Title: \"a\", Print: @ }",
    "write company { Site: @ ELSE SKIP }",
    "write company { Site: @ ELSE CLEAR }",
    "write company { Owner ?: @ }",
    "write company { Tags +: @ }",
    "write crm-[:Company]-> { Name: \"a\", ...@ }",
    "write crm-[:Company]-> {\nunique by (Name)\nName: @\n}",
    "write @ { Name: \"a\" }",
    "write @-[:Company]-> { Name: \"a\" }",
    "write @-[:People]-> { Email: \"a\" }",
    "write company-[:People]-> { Email: @ }",
    "delete @",
    "link company-[:People]-> @",
    "unlink company-[:People]-> @",
    "company-[x:People]-> { link @-[:People]-> x }",
    "crm-[c:Company WHERE @]-> { write c { Active: true } }",
    "crm-[c:Company WHERE c.Name == @]-> { write c { Active: true } }",
    "crm-[c:Company WHERE c.Employees < @]-> { write c { Active: true } }",
    "crm-[c:Company WHERE @ IN c.Tags]-> { write c { Active: true } }",
    "tracker-[s:search_issues WHERE s.query == @]-> { does(\"${s.count}\") }",
    "tracker-[s:get_issue WHERE s.number == @]-> { does(\"${s.title}\") }",
    "tracker-[s:search_issues WHERE s.query == \"q\" AND s.status == @]-> { does(\"${s.count}\") }",
    "crm-[c:Company ORDER BY @]-> { write c { Active: true } }",
    "crm-[c:Company ORDER BY c.Name LIMIT @]-> { write c { Active: true } }",
    "@-[c:Company]-> { write c { Active: true } }",
    "@-[x:People]-> { write x { Name: \"a\" } }",
    "found = @-[:People]->\ndoes(PRINT(found))",
    "if @ { does(\"\") }",
    "if NOT @ { does(\"\") }",
    "if @ AND company.Active { does(\"\") }",
    "if @ == null { does(\"\") }",
    "if @ != null { does(\"\") }",
    "if EXISTS @ { does(\"\") }",
    "if @ == @ { does(\"\") }",
    "if @ == \"a\" { does(\"\") }",
    "if @ < 3 { does(\"\") }",
    "if @ >= \"a\" { does(\"\") }",
    "if @ IN [\"a\"] { does(\"\") }",
    "if \"a\" IN @ { does(\"\") }",
    "if @ CONTAINS \"a\" { does(\"\") }",
    "if @ WITHIN 3d { does(\"\") }",
    "if @ IS <text> { does(\"\") }",
    "x = @ AS <text>\ndoes(PRINT(x))",
    "x = @ AS <{ Name: text }>\ndoes(PRINT(x))",
    "x = @\ndoes(PRINT(x))",
    "x = @.Name\ndoes(PRINT(x))",
    "x = @.size\ndoes(PRINT(x))",
    "x = @ + 1\ndoes(PRINT(x))",
    "x = @ + 1d\ndoes(PRINT(x))",
    "x = -@\ndoes(PRINT(x))",
    "x = 2 * @\ndoes(PRINT(x))",
    "does(\"${@}\")",
    "x = IF company.Active THEN @ ELSE @ END\ndoes(PRINT(x))",
    "x = IF company.Active THEN @ ELSE null END\ndoes(PRINT(x))",
    "x = [@]\ndoes(PRINT(x))",
    "x = [...@]\ndoes(PRINT(x))",
    "x = { a: @ }\ndoes(PRINT(x))",
    "x = { ...@ }\ndoes(PRINT(x))",
    "x = COALESCE(@, \"a\")\ndoes(PRINT(x))",
    "x = COALESCE(company.Site, @)\ndoes(PRINT(x))",
    "x = LENGTH(@)\ndoes(PRINT(x))",
    "x = COUNT(@)\ndoes(PRINT(x))",
    "x = SUM(@)\ndoes(PRINT(x))",
    "x = MAX(@)\ndoes(PRINT(x))",
    "x = FIRST(@)\ndoes(PRINT(x))",
    "x = AT(@, 0)\ndoes(PRINT(x))",
    "x = SORT(@)\ndoes(PRINT(x))",
    "x = DISTINCT(@)\ndoes(PRINT(x))",
    "x = FLAT(@)\ndoes(PRINT(x))",
    "x = JOIN(@, \"\")\ndoes(x)",
    "x = TRIM(@)\ndoes(x)",
    "x = TEXT(@)\ndoes(x)",
    "x = NUMBER(@)\ndoes(PRINT(x))",
    "x = DATE(@)\ndoes(PRINT(x))",
    "x = FORMAT(@, \"YYYY\")\ndoes(x)",
    "x = KEYS(@)\ndoes(PRINT(x))",
    "x = JSON(@)\ndoes(PRINT(x))",
    "x = PARSE(@)\ndoes(PRINT(x))",
    "x = PRINT(@)\ndoes(x)",
    "x = HASH(@)\ndoes(x)",
    "x = ROUND(1.5, @)\ndoes(PRINT(x))",
    "x = RANGE(0, @)\ndoes(PRINT(x))",
    "x = MATCH(\"a\", @)\ndoes(PRINT(x))",
    "x = MAP(@, (m) => PRINT(m))\ndoes(PRINT(x))",
    "x = MAP([1, 2], (_m) => @)\ndoes(PRINT(x))",
    "x = FILTER([1, 2], (_m) => @)\ndoes(PRINT(x))",
    "x = SORT([1, 2], (_m) => @)\ndoes(PRINT(x))",
    "x = GROUP([1, 2], (_m) => @)\ndoes(PRINT(x))",
    "x = REDUCE([1, 2], @, (sum, _m) => sum)\ndoes(PRINT(x))",
    "x = MAP([1, 2], @)\ndoes(PRINT(x))",
    "x = takes_text(@)\ndoes(x)",
    "x = takes_text(words: @)\ndoes(x)",
    "x = takes_number(@)\ndoes(PRINT(x))",
    "x = takes_maybe(@)\ndoes(x)",
    "x = takes_choice(@)\ndoes(x)",
    "x = takes_list(@)\ndoes(x)",
    "x = takes_record(@)\ndoes(x)",
    "x = takes_json(@)\ndoes(x)",
    "x = takes_company(@)\ndoes(x)",
    "x = takes_file(@)\ndoes(TEXT(x))",
    "x = @(\"a\")\ndoes(PRINT(x))",
    "await sleep(@)",
    "x = await FIRST(crm-[x:Person WHERE x.Email == @]->, 1h)\ndoes(PRINT(x))",
    "x = await FIRST(crm-[x:Company WHERE @]->, 1h)\ndoes(PRINT(x))",
    "x = await FIRST(@-[:Person]->, 1h)\ndoes(PRINT(x))",
    "x = await FIRST(crm-[:Person]->, @)\ndoes(PRINT(x))",
    "x = await until(@, every: 5m, most: 1h)\ndoes(PRINT(x))",
    "x = await race([() => @, () => @])\ndoes(PRINT(x))",
    "x = await parallel([() => @])\ndoes(PRINT(x))",
    "write crm-[:Note]-> { Text: @ } else (_no) { does(\"\") }",
    "write crm-[:Note]-> { Text: \"t\" } else (no) { does(\"${no.text}${@}\") }",
    "ERROR(@)",
    "ERROR(\"wanted ${@}\")",
    "@",
    "return @",
    "@ = 1\ndoes(PRINT(@))",
];

/// Places outside of functions, for the names that reach there.
const OUTSIDE: &[&str] = &[
    "listen as \"other\" to crm-[c:Company WHERE @]-> fire f",
    "listen as \"other\" to crm-[c:Company WHERE c.Name == @]-> fire f",
    "listen as \"other\" to crm-[p:Person WHERE p.Email == @]-> fire g",
    "listen as \"other\" to @-[:Company]-> fire f",
    "listen as \"other\" to crm-[:Company]-> { every: @ } fire f",
    "listen as \"other\" to crm-[:Company]-> { concurrency: @ } fire f",
    "listen as \"other\" to crm-[:Company]-> fire @",
    "export y = @",
    "export y = { a: [@] }",
    "export y = \"${@}\"",
    "export y = PRINT(@)",
    "type Other = <@>",
    "type Other = <{ a: @[] }>",
    "export function h(a: <@>): <text> { return PRINT(a) }",
    "other = connect @",
    "other = connect `@lf/mcp` using @",
    "other = connect `@lf/mcp` using linear { timeout: @ }",
];

/// What stands around a text, without the functions that it does not call.
fn around(text: &str) -> String {
    let called = |line: &str| {
        let name = line.strip_prefix("function ").and_then(|rest| rest.split('(').next());
        name.is_none_or(|name| text.contains(name))
    };
    FILE.split_inclusive('\n').filter(|line| called(line)).collect()
}

fn inside(bind: &str, place: &str, name: &str) -> String {
    let body = bind.replace('#', &place.replace('@', name));
    let file = around(&body);
    format!(
        "{file}function f(company: <crm-[:Company]->>, change: <change>) {{\n{body}\n}}\nlisten to crm-[:Company]-> fire f\n"
    )
}

fn outside(place: &str, name: &str) -> String {
    // A module's name begins with the sign that a name stands for here.
    let line = place.replace("@lf", "\u{1}").replace('@', name).replace('\u{1}', "@lf");
    let file = around(&format!("does {line}"));
    format!(
        "{file}function f(company: <crm-[:Company]->>) {{ does(company.Name) }}\n\
         function g(one: <crm-[:Person]->>) {{ does(one.Email) }}\n\
         listen to crm-[:Company]-> fire f\nlisten to crm-[:Person]-> fire g\n{line}\n"
    )
}

fn all() -> Result<(), String> {
    let catalog = read(&corpus().join("catalogs/acme.json"));
    let catalog: Catalog = serde_json::from_str(&catalog).map_err(|error| error.to_string())?;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = PLACES.iter().chain(OUTSIDE).nth(at) else { return done };
            done.push((at, row(&catalog, place, at >= PLACES.len())));
        }
    };
    let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut rows: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect()
    });
    rows.sort_by_key(|(at, _)| *at);
    let shown: String = rows.iter().map(|(_, row)| row.shown.as_str()).collect();
    let broken: Vec<_> = rows.iter().flat_map(|(_, row)| row.broken.iter().map(String::as_str)).collect();
    let path = corpus().join("matrix.snap");
    if env::var_os("LF_BLESS").is_some() {
        fs::write(&path, &shown).map_err(|error| error.to_string())?;
    }
    if !broken.is_empty() {
        return Err(format!("{} cells are neither:\n{}", broken.len(), broken.join("\n\n")));
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    if before == shown { Ok(()) } else { Err(format!("the matrix changed (`LF_BLESS=1` accepts it)\n{shown}")) }
}

struct Row {
    shown: String,
    /// Cells that are neither.
    broken: Vec<String>,
}

/// Every name in one place.
fn row(catalog: &Catalog, place: &str, is_outside: bool) -> Row {
    let mut ends: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut broken = Vec::new();
    for (kind, name, bind) in NAMES {
        if is_outside && (*bind != "#" || ["company", "change"].contains(name)) {
            continue;
        }
        let text = if is_outside { outside(place, name) } else { inside(bind, place, name) };
        let end = match scripted::run(catalog, &text) {
            Became::Ran { done: _, calls: _ } => "runs".to_owned(),
            Became::Refused(codes) => {
                let codes: Vec<_> = codes.iter().map(|code| code.as_str()).collect();
                if codes.is_empty() {
                    broken.push(format!("refused without a code:\n{text}"));
                }
                codes.join(" + ")
            }
            Became::Broke(why) => {
                broken.push(format!("{why}\n{text}"));
                "BREAKS".to_owned()
            }
        };
        ends.entry(end).or_default().push(kind);
    }
    let mut shown = String::new();
    paragraph(&mut shown, place, &ends);
    Row { shown, broken }
}

/// One place, and under each outcome the names that have it there; what runs first.
fn paragraph(out: &mut String, place: &str, ends: &BTreeMap<String, Vec<&str>>) {
    writeln!(out, "{}", place.replace('\n', " ⏎ ")).expect("a text takes everything");
    let (runs, refused): (Vec<_>, Vec<_>) = ends.iter().partition(|(end, _)| *end == "runs");
    for (end, kinds) in runs.into_iter().chain(refused) {
        writeln!(out, "    {end}: {}", kinds.join(", ")).expect("a text takes everything");
    }
    out.push('\n');
}
