//! `listen-fire.toml`: what it may say, and every fault of it with its place. An unknown key is refused, never passed
//! over.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    time::Duration,
};

use lf_lang::{
    diag::{Diagnostic, codes, suggest},
    source::{SourceId, Span},
};
use smol_str::SmolStr;
use toml_edit::{Document, Item, TableLike};

/// What a project says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFile {
    pub name: SmolStr,
    pub edition: u32,
    /// The bundled modules that are installed.
    pub modules: BTreeSet<SmolStr>,
    pub store: StoreSettings,
    pub limits: LimitSettings,
    /// The OAuth apps that are set up, by module.
    pub oauth: BTreeMap<SmolStr, OauthSettings>,
}

/// `[oauth."@lf/mcp"]`: an OAuth app. Its secret is sealed in the store, never written here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OauthSettings {
    pub authorize_url: Option<String>,
    pub token_url: Option<String>,
    pub client_id: Option<String>,
    pub scope: Option<String>,
    /// Endpoints are found at the server.
    pub discover: bool,
}

/// `[store]`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreSettings {
    /// `None`: the SQLite file in the project's state folder.
    pub url: Option<String>,
    pub durability: Durability,
}

/// What a crash may cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// Nothing, also when the power goes.
    #[default]
    Full,
    /// The last moments, when the power goes.
    Normal,
}

/// `[limits]`: what runs and sources may use; `None` keeps the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitSettings {
    /// Calls to systems in one run.
    pub calls: Option<u32>,
    /// Records that one read may land on.
    pub rows: Option<usize>,
    /// Bytes of one value.
    pub value: Option<usize>,
    /// Bytes of the files of one write, together.
    pub file: Option<usize>,
    /// Bytes of one run's journal.
    pub journal: Option<usize>,
    /// How long one call may take.
    pub call: Option<Duration>,
    /// Changes of one listen that may wait.
    pub waiting: Option<u64>,
    /// Changes that cause each other.
    pub depth: Option<u32>,
    /// Fires of one record in a minute.
    pub burst: Option<u32>,
    /// Runs side by side, of all listens together.
    pub concurrency: Option<u32>,
    /// How long a change waits for a system that is away before its attempts count.
    pub away: Option<Duration>,
}

/// The modules that come with listen-fire.
pub const BUNDLED: &[&str] = &["@lf/mcp"];
const TOP: &[&str] = &["name", "edition", "modules", "store", "limits", "oauth"];
/// The members of an OAuth app.
pub(super) const OAUTH: &[&str] = &["authorize_url", "token_url", "client_id", "scope", "discover"];
const STORE: &[&str] = &["url", "durability"];
const LIMITS: &[&str] =
    &["calls", "rows", "value", "file", "journal", "call", "waiting", "depth", "burst", "concurrency", "away"];

/// Reads the file. Faults are collected; the value holds what could be understood.
#[must_use]
pub fn parse(source: SourceId, text: &str) -> (ProjectFile, Vec<Diagnostic>) {
    let mut reader = Reader { source, length: text.len(), problems: Vec::new() };
    let file = match Document::parse(text) {
        Ok(document) => reader.file(document.as_table()),
        Err(error) => {
            let headline = error.message().lines().next().unwrap_or_default().to_owned();
            reader.fault(error.span(), headline);
            ProjectFile::default()
        }
    };
    (file, reader.problems)
}

struct Reader {
    source: SourceId,
    length: usize,
    problems: Vec<Diagnostic>,
}

impl Reader {
    fn file(&mut self, top: &dyn TableLike) -> ProjectFile {
        self.known(top, TOP, "a project");
        let name = self.text(top, "name");
        if name.is_none() && top.get("name").is_none() {
            let example = "add `name = \"…\"` at the top of the file";
            self.fault(None, "a project needs a `name`").help.push(example.to_owned());
        }
        let edition = self.whole(top, "edition").unwrap_or(1);
        if edition != 1
            && let Some(item) = top.get("edition")
        {
            let headline = format!("edition {edition} of the language is not known here");
            self.fault(item.span(), headline).help.push("this program knows edition 1".to_owned());
        }
        let mut file = ProjectFile { name: name.unwrap_or_default().into(), edition: 1, ..ProjectFile::default() };
        if let Some(modules) = self.table(top, "modules") {
            self.known(modules, &["installed"], "`[modules]`");
            file.modules = self.installed(modules);
        }
        if let Some(store) = self.table(top, "store") {
            self.known(store, STORE, "`[store]`");
            file.store = self.store(store);
        }
        if let Some(apps) = self.table(top, "oauth") {
            file.oauth = self.oauth(apps);
        }
        if let Some(limits) = self.table(top, "limits") {
            self.known(limits, LIMITS, "`[limits]`");
            file.limits = LimitSettings {
                calls: self.whole(limits, "calls"),
                rows: self.whole(limits, "rows"),
                value: self.size(limits, "value"),
                file: self.size(limits, "file"),
                journal: self.size(limits, "journal"),
                call: self.duration(limits, "call"),
                waiting: self.whole(limits, "waiting"),
                depth: self.whole(limits, "depth"),
                burst: self.whole(limits, "burst"),
                concurrency: self.whole(limits, "concurrency"),
                away: self.duration(limits, "away"),
            };
        }
        file
    }

    fn installed(&mut self, modules: &dyn TableLike) -> BTreeSet<SmolStr> {
        let mut installed = BTreeSet::new();
        let Some(item) = modules.get("installed") else { return installed };
        let Some(names) = item.as_array() else {
            self.expected(item, "installed", "a list of modules such as `[\"@lf/mcp\"]`");
            return installed;
        };
        for item in names {
            match item.as_str() {
                None => drop(self.fault(item.span(), format!("a module's name is a text, found `{item}`"))),
                Some(name) => {
                    self.module(name, item.span());
                    if !installed.insert(name.into()) {
                        self.fault(item.span(), format!("`{name}` is installed twice"));
                    }
                }
            }
        }
        installed
    }

    fn module(&mut self, name: &str, span: Option<Range<usize>>) {
        if let Some(own) = name.strip_prefix('#') {
            let headline = format!("`{name}` is this project's own module and needs no install");
            self.fault(span, headline).help.push(format!("take it out; `modules/{own}.toml` is enough"));
        } else if !BUNDLED.contains(&name) {
            let near = suggest::nearest(name, BUNDLED.iter().copied());
            let help = near.map_or_else(
                || format!("bundled modules are {}", quoted(BUNDLED)),
                |near| format!("write `\"{near}\"`"),
            );
            self.fault(span, format!("no module `{name}` comes with listen-fire")).help.push(help);
        }
    }

    fn oauth(&mut self, apps: &dyn TableLike) -> BTreeMap<SmolStr, OauthSettings> {
        self.known(apps, BUNDLED, "`[oauth]`");
        let mut read = BTreeMap::new();
        for name in BUNDLED {
            let Some(app) = self.table(apps, name) else { continue };
            self.known(app, OAUTH, "an OAuth app");
            let discover = app.get("discover").map(|item| {
                if item.as_bool().is_none() {
                    self.expected(item, "discover", "`true` or `false`");
                }
                item.as_bool().unwrap_or_default()
            });
            let settings = OauthSettings {
                authorize_url: self.text(app, "authorize_url"),
                token_url: self.text(app, "token_url"),
                client_id: self.text(app, "client_id"),
                scope: self.text(app, "scope"),
                discover: discover.unwrap_or_default(),
            };
            let both = settings.authorize_url.is_some() == settings.token_url.is_some();
            if !both || (settings.token_url.is_none() && !settings.discover) {
                let span = app.iter().next().and_then(|(name, _)| app.key(name)).and_then(toml_edit::Key::span);
                let help = format!("`listen-fire connect {name} --help` shows what sets one up");
                self.fault(span, "an OAuth app needs `authorize_url` and `token_url`, or `discover = true`")
                    .help
                    .push(help);
            }
            read.insert((*name).into(), settings);
        }
        read
    }

    fn store(&mut self, store: &dyn TableLike) -> StoreSettings {
        let durability = match self.text(store, "durability").as_deref() {
            None | Some("full") => Durability::Full,
            Some("normal") => Durability::Normal,
            Some(other) => {
                let span = store.get("durability").and_then(Item::span);
                let near = suggest::nearest(other, ["full", "normal"]).unwrap_or("full");
                let headline = format!("`durability` is `full` or `normal`, found `{other}`");
                self.fault(span, headline).help.push(format!("write `\"{near}\"`"));
                Durability::Full
            }
        };
        StoreSettings { url: self.text(store, "url"), durability }
    }

    fn known(&mut self, table: &dyn TableLike, known: &[&str], of: &str) {
        for (name, _) in table.iter() {
            if known.contains(&name) {
                continue;
            }
            let help = match (suggest::nearest(name, known.iter().copied()), known) {
                (Some(near), _) => format!("write `{near}`"),
                (None, []) => "it takes no settings yet".to_owned(),
                (None, _) => format!("it can have {}", quoted(known)),
            };
            let span = table.key(name).and_then(toml_edit::Key::span);
            self.fault(span, format!("{of} has no `{name}`")).help.push(help);
        }
    }

    fn table<'t>(&mut self, table: &'t dyn TableLike, name: &str) -> Option<&'t dyn TableLike> {
        let item = table.get(name)?;
        if item.as_table_like().is_none() {
            self.expected(item, name, "a table");
        }
        item.as_table_like()
    }

    fn text(&mut self, table: &dyn TableLike, name: &str) -> Option<String> {
        let item = table.get(name)?;
        if item.as_str().is_none_or(str::is_empty) {
            self.expected(item, name, "a text that is not empty");
        }
        item.as_str().map(str::to_owned)
    }

    fn whole<N: TryFrom<i64>>(&mut self, table: &dyn TableLike, name: &str) -> Option<N> {
        let item = table.get(name)?;
        let number = item.as_integer().filter(|number| *number > 0).and_then(|number| N::try_from(number).ok());
        if number.is_none() {
            self.expected(item, name, "a whole number above 0");
        }
        number
    }

    fn duration(&mut self, table: &dyn TableLike, name: &str) -> Option<Duration> {
        let item = table.get(name)?;
        let length = item.as_str().and_then(|text| text.parse::<jiff::SignedDuration>().ok());
        let length = length.and_then(|length| Duration::try_from(length).ok()).filter(|length| !length.is_zero());
        if length.is_none() {
            self.expected(item, name, "a duration such as `\"10m\"`");
        }
        length
    }

    fn size(&mut self, table: &dyn TableLike, name: &str) -> Option<usize> {
        let item = table.get(name)?;
        let bytes = item.as_str().and_then(size);
        if bytes.is_none() {
            self.expected(item, name, "a size such as `\"8 MiB\"`");
        }
        bytes
    }

    fn expected(&mut self, item: &Item, name: &str, what: &str) {
        let headline = format!("`{name}` is {what}, found {}", found(item));
        self.fault(item.span(), headline);
    }

    fn fault(&mut self, range: Option<Range<usize>>, headline: impl Into<String>) -> &mut Diagnostic {
        let range = range.unwrap_or(0..0);
        let at = |offset: usize| u32::try_from(offset.min(self.length)).unwrap_or(u32::MAX);
        let span = Span::new(self.source, at(range.start), at(range.end));
        self.problems.push(Diagnostic::error(codes::MOV_PROJECT, span, headline));
        let last = self.problems.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "the line above pushed it")]
        &mut self.problems[last]
    }
}

fn found(item: &Item) -> String {
    match item.as_value() {
        Some(value) => format!("`{}`", value.to_string().trim().chars().take(60).collect::<String>()),
        None => item.type_name().to_owned(),
    }
}

/// `8 MiB`, `512 KiB`, `1 GiB`, or bytes without a unit.
fn size(text: &str) -> Option<usize> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let shift = match unit.trim() {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    let bytes = number.parse::<usize>().ok()?.checked_mul(1 << shift)?;
    (bytes > 0).then_some(bytes)
}

/// `a`, `b` and `c`.
pub(crate) fn quoted(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "none".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use lf_lang::source::SourceId;

    use super::{Durability, parse};

    fn headlines(text: &str) -> Vec<String> {
        let (_, problems) = parse(SourceId(0), text);
        problems.iter().map(|problem| format!("{}: {}", problem.headline, problem.help.join("; "))).collect()
    }

    #[test]
    fn a_whole_file_is_read() {
        let text = "name = \"triage\"\nedition = 1\n[modules]\ninstalled = [\"@lf/mcp\"]\n[store]\ndurability = \"normal\"\n\
                    [limits]\ncalls = 5\ncall = \"1h30m\"\nvalue = \"8 MiB\"\n";
        let (file, problems) = parse(SourceId(0), text);
        assert_eq!(problems, []);
        assert_eq!(file.name, "triage");
        assert_eq!(file.store.durability, Durability::Normal);
        assert_eq!(file.limits.calls, Some(5));
        assert_eq!(file.limits.call.map(|call| call.as_secs()), Some(5400));
        assert_eq!(file.limits.value, Some(8 << 20));
    }

    #[test]
    fn every_fault_is_reported_with_the_way_out() {
        let text = "nmae = \"x\"\nedition = 2\n[modules]\ninstalled = [\"@lf/mpc\", \"#crm\"]\n[store]\n\
                    durability = \"ful\"\n[limits]\ncalls = 0\nvalue = \"8 apples\"\ndeph = 1\n";
        assert_eq!(
            headlines(text),
            [
                "a project has no `nmae`: write `name`",
                "a project needs a `name`: add `name = \"…\"` at the top of the file",
                "edition 2 of the language is not known here: this program knows edition 1",
                "no module `@lf/mpc` comes with listen-fire: write `\"@lf/mcp\"`",
                "`#crm` is this project's own module and needs no install: take it out; `modules/crm.toml` is enough",
                "`durability` is `full` or `normal`, found `ful`: write `\"full\"`",
                "`[limits]` has no `deph`: write `depth`",
                "`calls` is a whole number above 0, found `0`: ",
                "`value` is a size such as `\"8 MiB\"`, found `\"8 apples\"`: ",
            ]
        );
    }

    #[test]
    fn a_fault_of_the_notation_has_its_place() {
        let (_, problems) = parse(SourceId(0), "name = \"x\"\nedition = = 1\n");
        let [problem] = problems.as_slice() else { panic!("{problems:?}") };
        assert_eq!(problem.primary.span.start, 21);
    }
}
