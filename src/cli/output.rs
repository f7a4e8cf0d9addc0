//! The only place that prints. Results go to standard output; everything else to standard error.
//!
//! What a system or a file says is printed without its control characters. A reader that goes away ends the printing,
//! with no word about it.

use std::{
    io::{self, Write as _},
    sync::atomic::{AtomicBool, Ordering},
};

use clap::{Args, ValueEnum};
use comfy_table::{ContentArrangement, Table, presets};
use lf_lang::{
    diag::{
        Diagnostic, Severity,
        render::{self, Look},
    },
    source::SourceMap,
};
use serde::Serialize;

use super::{
    environment::Environment,
    exit::{Exit, Failure},
};

/// How results are printed.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// Print results as JSON: one object, or one a line
    #[arg(long, global = true)]
    json: bool,
    /// Print results and errors only
    #[arg(long, short, global = true)]
    quiet: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

/// A terminal, or what stands in its place.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) json: bool,
    quiet: bool,
    color_out: bool,
    color_err: bool,
    /// Progress is shown.
    progress: bool,
    width: u16,
    /// The reader of standard output is gone.
    closed: AtomicBool,
}

/// How a piece of text stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Bold,
    Dim,
    Red,
    Yellow,
    Green,
}

impl Output {
    pub(super) fn new(arguments: &Arguments, environment: &Environment) -> Self {
        let color = |terminal: bool| match arguments.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !environment.no_color,
        };
        let width = terminal_size::terminal_size().map_or(100, |(width, _)| width.0.clamp(60, 200));
        Self {
            json: arguments.json,
            quiet: arguments.quiet,
            color_out: color(environment.stdout),
            color_err: color(environment.stderr),
            progress: environment.stderr && !arguments.quiet && !arguments.json,
            width: if environment.stdout { width } else { 100 },
            closed: AtomicBool::new(false),
        }
    }

    /// Whether results and errors only are printed.
    pub(super) fn quiet(&self) -> bool {
        self.quiet
    }

    /// Whether the reader of the results is gone.
    pub(super) fn closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// A line of a result. May hold several lines.
    pub(super) fn line(&self, text: &str) {
        self.out(&clean(text));
    }

    /// A line of a result, made of parts that stand out.
    pub(super) fn parts(&self, parts: &[(Option<Style>, &str)]) {
        let painted: Vec<_> =
            parts.iter().map(|(style, text)| paint(style.filter(|_| self.color_out), &clean(text))).collect();
        self.out(&painted.concat());
    }

    /// A result as one JSON object on one line.
    pub(super) fn json(&self, value: &impl Serialize) {
        self.out(&serde_json::to_string(value).unwrap_or_default());
    }

    /// What was done, in the form that was asked for.
    pub(super) fn done(&self, text: &str, value: &impl Serialize) {
        if self.json { self.json(value) } else { self.line(text) }
    }

    /// A result as a table.
    pub(super) fn table(&self, header: &[&str], rows: Vec<Vec<String>>) {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(self.width);
        table.set_header(header.iter().map(|name| name.to_uppercase()));
        for row in rows {
            table.add_row(row.iter().map(|cell| clean(cell)));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        self.out(&lines.join("\n"));
    }

    /// Reports of a check, as a result.
    pub(super) fn problems(&self, sources: &SourceMap, problems: &[Diagnostic]) {
        for problem in problems {
            self.out(render::full(problem, sources, self.look(self.color_out)).trim_end());
            self.out("");
        }
    }

    /// Reports of a check that was not what was asked for.
    pub(super) fn reports(&self, sources: &SourceMap, problems: &[Diagnostic]) {
        for problem in problems {
            let said = match problem.severity {
                Severity::Error => true,
                Severity::Warning => !self.quiet,
                Severity::Information => false,
            };
            if said {
                err(&render::full(problem, sources, self.look(self.color_err)));
            }
        }
    }

    /// Something said beside the result.
    pub(super) fn note(&self, text: &str) {
        if !self.quiet {
            err(&clean(text));
        }
    }

    /// What a command came to, beside its result.
    pub(super) fn summary(&self, style: Style, text: &str) {
        if !self.quiet {
            err(&paint(Some(style).filter(|_| self.color_err), &clean(text)));
        }
    }

    /// What is being done, on a terminal only; the next one replaces it, an empty one takes it away.
    pub(super) fn progress(&self, text: &str) {
        if self.progress {
            let mut stderr = io::stderr().lock();
            // Progress that cannot be shown is no loss.
            drop(write!(stderr, "\r\x1b[2K{}", clean(text)).and_then(|()| stderr.flush()));
        }
    }

    /// Why the command could not be done. The exit code that goes with it.
    pub(super) fn failure(&self, failure: &Failure) -> Exit {
        if self.json {
            let value = serde_json::json!({
                "error": failure.message,
                "help": failure.help,
                "exit": failure.exit as u8,
                "problems": failure.report.as_ref().map(|(sources, problems)| {
                    problems.iter().map(|problem| render::json(problem, sources)).collect::<Vec<_>>()
                }),
            });
            err(&value.to_string());
            return failure.exit;
        }
        if let Some((sources, problems)) = &failure.report {
            for problem in problems {
                err(&render::full(problem, sources, self.look(self.color_err)));
            }
        }
        let bold = |style| Some(style).filter(|_| self.color_err);
        err(&format!("{} {}", paint(bold(Style::Red), "error:"), clean(&failure.message)));
        for help in &failure.help {
            err(&format!(" {} {}", paint(bold(Style::Green), "help:"), clean(help)));
        }
        failure.exit
    }

    fn look(&self, color: bool) -> Look {
        Look { color, width: usize::from(self.width) }
    }

    fn out(&self, text: &str) {
        if self.closed() {
            return;
        }
        let mut stdout = io::stdout().lock();
        if writeln!(stdout, "{text}").and_then(|()| stdout.flush()).is_err() {
            self.closed.store(true, Ordering::Relaxed);
        }
    }

    /// Bytes of a result as they are (a completion script).
    pub(super) fn raw(&self, bytes: &[u8]) {
        if io::stdout().lock().write_all(bytes).is_err() {
            self.closed.store(true, Ordering::Relaxed);
        }
    }
}

/// What clap says: help and version are results, wrong usage is none.
pub(super) fn usage(error: &clap::Error) -> Exit {
    // A reader that is gone is no error.
    drop(error.print());
    if error.use_stderr() { Exit::Usage } else { Exit::Done }
}

/// What a person has to see, whatever is asked to be quiet.
pub(super) fn aside(text: &str) {
    err(&clean(text));
}

fn err(text: &str) {
    // There is no other place to say that standard error is gone.
    drop(writeln!(io::stderr().lock(), "{text}"));
}

/// Without what would steer a terminal, or turn the direction of what follows.
fn clean(text: &str) -> String {
    let steers = |letter: char| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
            || matches!(letter, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|letter| if steers(letter) { '\u{FFFD}' } else { letter }).collect()
}

fn paint(style: Option<Style>, text: &str) -> String {
    let Some(style) = style else { return text.to_owned() };
    let code = match style {
        Style::Bold => 1,
        Style::Dim => 2,
        Style::Red => 31,
        Style::Yellow => 33,
        Style::Green => 32,
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}
