//! Random programs as text: what checks never fails at run time for a reason that the check should have seen, and sends
//! nothing that the systems, as described, would not take. `LF_PROGRAMS` says how many checked programs are run.
//!
//! The generator aims at what checks and misses now and then, so that the check is what decides, not the generator. It is
//! one file because each of its parts draws from the same scope and calls the others.

use std::{
    env,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
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
    vec![trial("programs/what_checks_runs_as_it_was_promised", all)]
}

const PROGRAMS: usize = 500;

fn all() -> Result<(), String> {
    let wanted = env::var("LF_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(PROGRAMS);
    let catalog = read(&corpus().join("catalogs/acme.json"));
    let catalog: Catalog = serde_json::from_str(&catalog).map_err(|error| error.to_string())?;
    let (next, ran, ended, called) = (AtomicU64::new(0), AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while ran.load(Ordering::Relaxed) < wanted {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let text = program(seed);
            match scripted::run(&catalog, &text) {
                Became::Refused(codes) if codes.is_empty() => {
                    return Err(format!("seed {seed}: refused without a code\n{text}"));
                }
                Became::Refused(_) => {}
                Became::Broke(why) => return Err(format!("seed {seed}: {why}\n{text}")),
                Became::Ran { done, calls } => {
                    ran.fetch_add(1, Ordering::Relaxed);
                    ended.fetch_add(done, Ordering::Relaxed);
                    called.fetch_add(calls, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    };
    let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker ends"))
    })?;
    let (tried, ran) = (next.into_inner(), ran.into_inner());
    let (ended, called) = (ended.into_inner(), called.into_inner());
    println!("{tried} programs, {ran} checked; {ended} runs came to their end, with {called} calls");
    // Else the test shows nothing.
    if (ran as u64) * 8 < tried || ended < ran || called < ran {
        return Err(format!("too little happens: {ran} of {tried} checked, {ended} ends, {called} calls"));
    }
    Ok(())
}

/// What an expression is meant to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Boolean,
    Date,
    Datetime,
    Duration,
    Tier,
    Texts,
    Numbers,
    Company,
    Person,
    People,
    MaybeText,
    MaybeNumber,
    MaybePerson,
    Json,
    MaybeJson,
    Point,
}

const KINDS: &[Kind] = &[
    Kind::Text,
    Kind::Number,
    Kind::Boolean,
    Kind::Date,
    Kind::Datetime,
    Kind::Duration,
    Kind::Tier,
    Kind::Texts,
    Kind::Numbers,
    Kind::Company,
    Kind::Person,
    Kind::People,
    Kind::MaybeText,
    Kind::MaybeNumber,
    Kind::MaybePerson,
    Kind::Json,
    Kind::MaybeJson,
    Kind::Point,
];

struct Maker {
    state: u64,
    names: usize,
    left: usize,
    scope: Vec<(String, Kind)>,
    out: String,
    indent: usize,
}

/// Functions beside the one that is fired, each called by those before it.
const FUNCTIONS: usize = 2;

fn program(seed: u64) -> String {
    let mut maker = Maker {
        state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x0BAD_5EED,
        names: 0,
        left: 0,
        scope: Vec::new(),
        out: String::from("crm = connect #acme_crm using acme\ntracker = connect `@lf/mcp` using linear\n"),
        indent: 0,
    };
    maker.line("label = \"a\"");
    maker.line("most = 2.5");
    for function in 0..=FUNCTIONS {
        maker.scope =
            vec![("label".to_owned(), Kind::Text), ("most".to_owned(), Kind::Number), ("c".to_owned(), Kind::Company)];
        maker.left = 14;
        match function {
            0 => maker.line("function f0(c: <crm-[:Company]->>, change: <change>) {"),
            _ => {
                maker.scope.push(("words".to_owned(), Kind::Text));
                maker.scope.push(("maybe".to_owned(), Kind::MaybeText));
                maker.line(&format!(
                    "function f{function}(c: <crm-[:Company]->>, words: <text>, maybe: <text | absent>): <text> {{"
                ));
            }
        }
        maker.block(3, function);
        if function > 0 {
            let value = maker.expr(Kind::Text, 2);
            maker.indented(&format!("return {value}"));
        }
        maker.line("}");
    }
    if maker.one_in(3) {
        maker.scope =
            vec![("label".to_owned(), Kind::Text), ("most".to_owned(), Kind::Number), ("r".to_owned(), Kind::Company)];
        maker.names += 1_000_000;
        let test = maker.pure(Kind::Boolean);
        maker.line(&format!("listen as \"some\" to crm-[r:Company WHERE {test}]-> fire f0"));
    }
    maker.line("listen to crm-[:Company]-> fire f0");
    maker.out
}

impl Maker {
    /// SplitMix64.
    fn pick(&mut self, ways: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % ways as u64).expect("few ways")
    }

    fn one_in(&mut self, ways: usize) -> bool {
        self.pick(ways) == 0
    }

    fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.pick(texts.len())]
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(&"  ".repeat(self.indent));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn indented(&mut self, text: &str) {
        self.indent += 1;
        self.line(text);
        self.indent -= 1;
    }

    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    fn known(&mut self, kind: Kind) -> Option<String> {
        let fitting: Vec<_> =
            self.scope.iter().filter(|(_, known)| *known == kind).map(|(name, _)| name.clone()).collect();
        if fitting.is_empty() { None } else { Some(fitting[self.pick(fitting.len())].clone()) }
    }

    fn block(&mut self, depth: usize, function: usize) {
        self.indent += 1;
        let outer = self.scope.len();
        let count = 1 + self.pick(4);
        for _ in 0..count {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            self.statement(depth, function);
        }
        self.scope.truncate(outer);
        self.indent -= 1;
    }

    fn inner(&mut self, head: &str, names: &[(String, Kind)], depth: usize, function: usize) {
        self.line(&format!("{head} {{"));
        let outer = self.scope.len();
        self.scope.extend(names.iter().cloned());
        self.block(depth - 1, function);
        self.scope.truncate(outer);
    }

    fn statement(&mut self, depth: usize, function: usize) {
        let ways = if depth == 0 { 9 } else { 20 };
        match self.pick(ways) {
            0 | 1 => {
                let kind = KINDS[self.pick(KINDS.len())];
                let (name, value) = (self.fresh(), self.expr(kind, 3));
                self.line(&format!("{name} = {value}"));
                self.scope.push((name, kind));
            }
            2 => {
                let text = self.expr(Kind::Text, 2);
                self.line(&format!("write crm-[:Note]-> {{ Text: {text} }}"));
            }
            3 => {
                let (entry, more) = (self.entry(0), self.entry(1));
                let target = self.known(Kind::Company).unwrap_or_else(|| "c".to_owned());
                self.line(&format!("write {target} {{ {entry}, {more} }}"));
            }
            4 => {
                let (bound, name) = (self.fresh(), self.expr(Kind::Text, 2));
                let entry = self.entry(0);
                let unique = if self.one_in(2) { "unique by (Name), " } else { "" };
                self.line(&format!("{bound} = write crm-[:Company]-> {{ {unique}Name: {name}, {entry} }}"));
                self.scope.push((format!("{bound}.id"), Kind::Text));
                self.scope.push((format!("{bound}.created"), Kind::Boolean));
                self.scope.push((format!("{bound}.Site"), Kind::MaybeText));
                self.scope.push((format!("{bound}.Employees"), Kind::Number));
                if self.one_in(2) {
                    self.scope.push((bound, Kind::Company));
                }
            }
            5 => {
                let (bound, title) = (self.fresh(), self.expr(Kind::Text, 2));
                let team = self.of(&["\"ENG\"", "IF c.Active THEN \"OPS\" ELSE \"SALES\" END"]);
                let labels = self.expr(Kind::Texts, 2);
                let extra = self.expr(Kind::Json, 2);
                self.line(&format!(
                    "{bound} = write tracker-[:create_issue]-> {{ title: {title}, team: {team}, labels: {labels}, extra: {extra} }}"
                ));
                self.scope.push((format!("{bound}.text"), Kind::Text));
                self.scope.push((format!("{bound}.content"), Kind::Json));
                self.scope.push((format!("{bound}.labels"), Kind::Texts));
            }
            6 if function < FUNCTIONS => {
                let (words, maybe) = (self.expr(Kind::Text, 2), self.expr(Kind::MaybeText, 2));
                let (bound, on) = (self.fresh(), self.expr(Kind::Company, 1));
                self.line(&format!("{bound} = f{}({on}, {words}, {maybe})", function + 1));
                self.scope.push((bound, Kind::Text));
            }
            6 | 7 => {
                let (condition, text) = (self.expr(Kind::Boolean, 2), self.expr(Kind::Text, 1));
                let leaves = if function == 0 { "return".to_owned() } else { format!("return {text}") };
                let then = if self.one_in(3) { leaves } else { format!("ERROR(\"wanted ${{{text}}}\")") };
                self.line(&format!("if {condition} {{ {then} }}"));
            }
            8 => {
                let list = self.expr(Kind::Texts, 2);
                let item = self.fresh();
                self.scope.push((item.clone(), Kind::Text));
                let text = self.expr(Kind::Text, 2);
                self.scope.pop();
                self.line(&format!("MAP({list}, ({item}) => {{ write crm-[:Note]-> {{ Text: {text} }} }})"));
            }
            9 => {
                let condition = self.expr(Kind::Boolean, 3);
                self.inner(&format!("if {condition}"), &[], depth, function);
                if self.one_in(2) {
                    self.line("} else {");
                    self.block(depth - 1, function);
                }
                self.line("}");
            }
            10 | 11 => self.guarded(depth, function),
            12 => {
                let alias = self.fresh();
                let names = [(alias.clone(), Kind::Company)];
                self.scope.extend(names.iter().cloned());
                let test = self.pure(Kind::Boolean);
                let order = self.of(&["", " ORDER BY Name", " ORDER BY Employees DESC LIMIT 2"]);
                self.scope.pop();
                let filter = if self.one_in(2) { format!(" WHERE {test}") } else { String::new() };
                self.inner(&format!("crm-[{alias}:Company{filter}{order}]->"), &names, depth, function);
                self.line("}");
            }
            13 => {
                let (from, alias) = (self.expr(Kind::Company, 0), self.fresh());
                let pin = self.known(Kind::Text).unwrap_or_else(|| "label".to_owned());
                let filter = if self.one_in(2) { format!(" WHERE {alias}.Email == {pin}") } else { String::new() };
                let names = [(alias.clone(), Kind::Person)];
                self.inner(&format!("{from}-[{alias}:People{filter}]->"), &names, depth, function);
                self.line("}");
            }
            15 | 16 => self.waiting(),
            17 => {
                let (bound, name, why) = (self.fresh(), self.expr(Kind::Text, 2), self.fresh());
                self.line(&format!("{bound} = write crm-[:Company]-> {{ Name: {name} }} else ({why}) {{"));
                let outer = self.scope.len();
                self.scope.push((format!("{why}.text"), Kind::Text));
                self.scope.push((format!("{why}.status"), Kind::MaybeNumber));
                self.block(depth - 1, function);
                self.scope.truncate(outer);
                if self.one_in(2) {
                    let leaves = if function == 0 { "return" } else { "return label" };
                    self.indented(leaves);
                    self.scope.push((bound, Kind::Company));
                }
                self.line("}");
            }
            _ => {
                let query = self.known(Kind::Text).unwrap_or_else(|| "label".to_owned());
                let (bound, alias) = (self.fresh(), self.fresh());
                self.line(&format!("{bound} = UPPER({query})"));
                let pin = if self.one_in(40) { " != " } else { " == " };
                let names = [
                    (format!("{alias}.count"), Kind::Number),
                    (format!("{alias}.text"), Kind::Text),
                    (format!("{alias}.structured"), Kind::Json),
                ];
                self.inner(
                    &format!("tracker-[{alias}:search_issues WHERE {alias}.query{pin}{bound}]->"),
                    &names,
                    depth,
                    function,
                );
                self.line("}");
            }
        }
    }

    /// A wait, and what it gives.
    fn waiting(&mut self) {
        let bound = self.fresh();
        let kind = match self.pick(6) {
            0 => {
                self.line("await sleep(1h)");
                return;
            }
            1 => {
                let alias = self.fresh();
                self.scope.push((alias.clone(), Kind::Person));
                let test = self.pure(Kind::Boolean);
                self.scope.pop();
                self.line(&format!("{bound} = await FIRST(crm-[{alias}:Person WHERE {test}]->, 1d)"));
                Kind::MaybePerson
            }
            2 => {
                let test = self.expr(Kind::Boolean, 2);
                self.line(&format!("{bound} = await until({test}, every: 5m, most: 1h)"));
                Kind::Boolean
            }
            3 => {
                let (one, two) = (self.arm(), self.arm());
                self.line(&format!("{bound} = await parallel([{one}, {two}])"));
                Kind::Texts
            }
            _ => {
                let (one, two) = (self.arm(), self.arm());
                self.line(&format!("{bound} = await race([{one}, {two}])"));
                Kind::Text
            }
        };
        self.scope.push((bound, kind));
    }

    fn arm(&mut self) -> String {
        let text = self.expr(Kind::Text, 1);
        match self.pick(4) {
            0 => format!("() => {text}"),
            1 => format!("() => {{ await sleep(1m); return {text} }}"),
            2 => {
                let (note, more) = (self.fresh(), self.expr(Kind::Text, 1));
                format!(
                    "() => {{ {note} = write crm-[:Note]-> {{ Text: {text} }}; return \"${{{note}.id}} ${{{more}}}\" }}"
                )
            }
            _ => {
                let came = self.fresh();
                format!(
                    "() => {{ {came} = await FIRST(crm-[:Company]->, 2d); return IF {came} == null THEN {text} ELSE {came}.Name END }}"
                )
            }
        }
    }

    /// A block in which something that may be absent is known to be there, or is wrongly thought to be.
    fn guarded(&mut self, depth: usize, function: usize) {
        let (kind, present) = match self.pick(4) {
            0 => (Kind::MaybeText, Kind::Text),
            1 => (Kind::MaybeNumber, Kind::Number),
            2 => (Kind::MaybePerson, Kind::Person),
            _ => (Kind::MaybeJson, Kind::Json),
        };
        let (name, value) = (self.fresh(), self.expr(kind, 2));
        self.line(&format!("{name} = {value}"));
        let other = self.expr(Kind::Boolean, 1);
        let test = match self.pick(6) {
            0 => format!("EXISTS {name}"),
            1 => format!("NOT ({name} == null)"),
            2 => format!("{name} != null AND {other}"),
            3 if self.one_in(5) => format!("{name} != null OR {other}"),
            _ => format!("{name} != null"),
        };
        self.inner(&format!("if {test}"), &[(name.clone(), present)], depth, function);
        self.line("}");
        self.scope.push((name, kind));
    }

    /// One entry of a write to a company; of another half of its fields for another `half`.
    fn entry(&mut self, half: usize) -> String {
        let (field, kind, tail) = match self.pick(4) * 2 + half {
            0 => ("Site:", Kind::MaybeText, self.of(&[" ELSE SKIP", " ELSE CLEAR"])),
            1 => ("Size:", Kind::Number, ""),
            2 => ("Employees:", Kind::Number, ""),
            3 => ("Details:", Kind::Json, ""),
            4 => (self.of(&["Tags:", "Tags +:"]), Kind::Texts, ""),
            5 => ("Tier:", Kind::Tier, ""),
            6 => ("Owner ?:", Kind::MaybeText, ""),
            _ => ("Active:", Kind::Boolean, ""),
        };
        let value = self.expr(kind, 2);
        format!("{field} {value}{tail}")
    }

    /// Of names and their fields alone: what may stand in a WHERE without a read of its own.
    fn pure(&mut self, kind: Kind) -> String {
        self.expr(kind, 1)
    }

    fn expr(&mut self, kind: Kind, depth: usize) -> String {
        // Now and then it is something else that is meant.
        let kind = if self.one_in(900) { KINDS[self.pick(KINDS.len())] } else { kind };
        if self.one_in(3)
            && let Some(name) = self.known(kind)
        {
            return name;
        }
        if depth > 0 && self.one_in(8) {
            let test = self.expr(Kind::Boolean, depth - 1);
            let (yes, no) = (self.expr(kind, depth - 1), self.expr(kind, depth - 1));
            return format!("(IF {test} THEN {yes} ELSE {no} END)");
        }
        let deep = depth.saturating_sub(1);
        let ways = |many: usize| if depth == 0 { 2 } else { many };
        match kind {
            Kind::Text => match self.pick(ways(12)) {
                0 => self.of(&["\"a\"", "\"\"", "\"é 𝄞\"", "\"12\"", "\"a.b, c\""]).to_owned(),
                1 => self.member(&["c.Name", "c.id"], Kind::Company),
                2 => format!("TRIM({})", self.expr(Kind::Text, deep)),
                3 => format!("\"${{{}}} ${{{}}}\"", self.expr(Kind::Number, deep), self.expr(Kind::Text, deep)),
                4 => format!("COALESCE({}, {})", self.expr(Kind::MaybeText, deep), self.expr(Kind::Text, deep)),
                5 => format!("JOIN({}, \", \")", self.expr(Kind::Texts, deep)),
                6 => format!("SLICE({}, 0, {})", self.expr(Kind::Text, deep), self.pick(4)),
                7 => format!("REPLACE({}, \"a\", {})", self.expr(Kind::Text, deep), self.expr(Kind::Text, deep)),
                8 => format!("PRINT({})", self.expr(Kind::Json, deep)),
                9 => format!("FORMAT({}, \"YYYY-MM-DD\")", self.expr(Kind::Datetime, deep)),
                10 => format!("TEXT({})", self.expr(Kind::Duration, deep)),
                _ => format!("SLUG({})", self.expr(Kind::Tier, deep)),
            },
            Kind::Number => match self.pick(ways(11)) {
                0 => self.of(&["0", "1", "2.5", "-3", "1_000"]).to_owned(),
                1 => self.member(&["c.Employees"], Kind::Company),
                2 => {
                    let sign = self.of(&["+", "-", "*", "/", "%"]);
                    format!("({} {sign} {})", self.expr(Kind::Number, deep), self.expr(Kind::Number, deep))
                }
                3 => format!("LENGTH({})", self.expr(Kind::Text, deep)),
                4 => format!("COUNT({})", self.expr(Kind::People, deep)),
                5 => format!("SUM({})", self.expr(Kind::Numbers, deep)),
                6 => format!("COALESCE({}, {})", self.expr(Kind::MaybeNumber, deep), self.expr(Kind::Number, deep)),
                7 => format!("ROUND({}, 1)", self.expr(Kind::Number, deep)),
                8 => format!("-{}", self.expr(Kind::Number, deep)),
                9 => {
                    let (list, sum, one) = (self.expr(Kind::Numbers, deep), self.fresh(), self.fresh());
                    format!("REDUCE({list}, 0, ({sum}, {one}) => {sum} + {one})")
                }
                _ => format!("LENGTH({})", self.expr(Kind::Texts, deep)),
            },
            Kind::Boolean => match self.pick(ways(13)) {
                0 => self.of(&["true", "false"]).to_owned(),
                1 => self.member(&["c.Active"], Kind::Company),
                2 => format!("({} == {})", self.expr(Kind::Text, deep), self.expr(Kind::Text, deep)),
                3 => format!("({} < {})", self.expr(Kind::Number, deep), self.expr(Kind::Number, deep)),
                4 => format!("({} AND {})", self.expr(Kind::Boolean, deep), self.expr(Kind::Boolean, deep)),
                5 => format!("({} OR {})", self.expr(Kind::Boolean, deep), self.expr(Kind::Boolean, deep)),
                6 => format!("(NOT {})", self.expr(Kind::Boolean, deep)),
                7 => format!("({} IN {})", self.expr(Kind::Text, deep), self.expr(Kind::Texts, deep)),
                8 => format!("({} CONTAINS {})", self.expr(Kind::Text, deep), self.expr(Kind::Text, deep)),
                9 => format!("({} != null)", self.expr(Kind::MaybeText, deep)),
                10 => format!("({} == {})", self.expr(Kind::MaybeNumber, deep), self.expr(Kind::Number, deep)),
                11 => format!("({} IS <{{ Name: text }}>)", self.expr(Kind::Json, deep)),
                _ => format!("({} WITHIN {})", self.expr(Kind::Datetime, deep), self.expr(Kind::Duration, deep)),
            },
            Kind::Date => match self.pick(ways(3)) {
                0 => "TODAY(\"Europe/Berlin\")".to_owned(),
                1 => "COALESCE(c.Founded, TODAY(\"UTC\"))".to_owned(),
                _ => format!("({} + 2d)", self.expr(Kind::Date, deep)),
            },
            Kind::Datetime => match self.pick(ways(4)) {
                0 => "NOW()".to_owned(),
                1 => self.member(&["c.ChangedAt"], Kind::Company),
                2 => format!("({} + {})", self.expr(Kind::Datetime, deep), self.expr(Kind::Duration, deep)),
                _ => format!("AT_TIME({}, \"09:00\", \"Europe/Berlin\")", self.expr(Kind::Date, deep)),
            },
            Kind::Duration => match self.pick(ways(3)) {
                0 | 1 => self.of(&["3d", "1h30m", "90s"]).to_owned(),
                _ => format!("({} + {})", self.expr(Kind::Duration, deep), self.expr(Kind::Duration, deep)),
            },
            Kind::Tier => match self.pick(2) {
                0 => self.of(&["\"free\"", "\"pro\"", "\"enterprise\""]).to_owned(),
                _ => "c.Tier".to_owned(),
            },
            Kind::Texts => match self.pick(ways(8)) {
                0 => self.of(&["SPLIT(\"\", \",\")", "[\"a\"]", "[\"a\", \"b\"]"]).to_owned(),
                1 => self.member(&["c.Tags"], Kind::Company),
                2 => format!("[{}, ...{}]", self.expr(Kind::Text, deep), self.expr(Kind::Texts, deep)),
                3 => format!("SPLIT({}, \".\")", self.expr(Kind::Text, deep)),
                4 => format!("SORT({})", self.expr(Kind::Texts, deep)),
                5 => format!("{}.Email", self.known(Kind::People).unwrap_or_else(|| "c-[:People]->".to_owned())),
                6 => {
                    let (list, item) = (self.expr(Kind::Numbers, deep), self.fresh());
                    self.scope.push((item.clone(), Kind::Number));
                    let text = self.expr(Kind::Text, deep);
                    self.scope.pop();
                    format!("MAP({list}, ({item}) => {text})")
                }
                _ => {
                    let (list, item) = (self.expr(Kind::Texts, deep), self.fresh());
                    self.scope.push((item.clone(), Kind::Text));
                    let test = self.expr(Kind::Boolean, deep);
                    self.scope.pop();
                    format!("FILTER({list}, ({item}) => {test})")
                }
            },
            Kind::Numbers => match self.pick(ways(4)) {
                0 => self.of(&["[1, 2]", "RANGE(3, 3)", "[0.5]"]).to_owned(),
                1 => format!("RANGE(0, {})", self.pick(5)),
                2 => format!("DISTINCT({})", self.expr(Kind::Numbers, deep)),
                _ => format!("[{}]", self.expr(Kind::Number, deep)),
            },
            Kind::Company => self.known(Kind::Company).unwrap_or_else(|| "c".to_owned()),
            Kind::Person => self.known(Kind::Person).unwrap_or_else(|| "ONLY(c-[:People]->)".to_owned()),
            Kind::People => match self.pick(ways(3)) {
                0 | 1 => "c-[:People]->".to_owned(),
                _ => {
                    let (list, item) = (self.expr(Kind::People, deep), self.fresh());
                    format!("FILTER({list}, ({item}) => {item}.Score != null AND {item}.Score > 1)")
                }
            },
            Kind::MaybeText => match self.pick(ways(7)) {
                0 => self.member(&["c.Site", "c.Owner"], Kind::Company),
                1 => "null".to_owned(),
                2 => format!("FIRST({})", self.expr(Kind::Texts, deep)),
                3 => format!("{}.Name", self.known(Kind::Person).unwrap_or_else(|| "c-[:Lead]->".to_owned())),
                4 => format!("({} AS <text>)", self.expr(Kind::Json, deep)),
                5 => self.expr(Kind::Text, deep),
                _ => "c-[:Lead]->.Phone".to_owned(),
            },
            Kind::MaybeNumber => match self.pick(ways(5)) {
                0 => "c.Size".to_owned(),
                1 => "c-[:Lead]->.Score".to_owned(),
                2 => format!("NUMBER({})", self.expr(Kind::Text, deep)),
                3 => format!("MAX({})", self.expr(Kind::Numbers, deep)),
                _ => format!("({} AS <number>)", self.expr(Kind::MaybeJson, deep)),
            },
            Kind::MaybePerson => match self.pick(3) {
                0 => "c-[:Lead]->".to_owned(),
                1 => format!("FIRST({})", self.expr(Kind::People, deep)),
                _ => format!("AT({}, {})", self.expr(Kind::People, deep), self.pick(3)),
            },
            Kind::Json => match self.pick(ways(5)) {
                0 => "JSON(c)".to_owned(),
                1 => format!("JSON({})", self.expr(Kind::Texts, deep)),
                2 => format!("JSON({{ Name: {}, n: {} }})", self.expr(Kind::Text, deep), self.expr(Kind::Number, deep)),
                3 => format!("COALESCE({}, JSON(null))", self.expr(Kind::MaybeJson, deep)),
                _ => format!("JSON({})", self.expr(Kind::MaybeText, deep)),
            },
            Kind::MaybeJson => match self.pick(ways(4)) {
                0 | 1 => "c.Details".to_owned(),
                2 => format!("PARSE({})", self.expr(Kind::Text, deep)),
                _ => format!("{}.Name", self.known(Kind::Json).unwrap_or_else(|| "JSON(c)".to_owned())),
            },
            Kind::Point => {
                format!("{{ Name: {}, Size: {} }}", self.expr(Kind::Text, deep), self.expr(Kind::MaybeNumber, deep))
            }
        }
    }

    /// A field of some known record of that kind.
    fn member(&mut self, of_c: &[&str], kind: Kind) -> String {
        let written = self.of(of_c).to_owned();
        match self.known(kind) {
            Some(name) => written.replacen("c.", &format!("{name}."), 1),
            None => written,
        }
    }
}
