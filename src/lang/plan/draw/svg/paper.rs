//! Shapes and letters on a sheet that is legible on light and dark ground.

use std::fmt::Write as _;

/// The width of a letter.
const LETTER: f64 = 7.25;

/// Colours by what they say: light ground, dark ground.
const INKS: &[(&str, &str, &str)] = &[
    (".ground{fill:", "#ffffff", "#0d1117"),
    (".card{stroke-width:1;fill:", "#f6f8fa", "#151b23"),
    (".card,.rule{stroke:", "#d1d9e0", "#3d444d"),
    (".title{font-weight:600;fill:", "#1f2328", "#f0f6fc"),
    (".body{fill:", "#1f2328", "#f0f6fc"),
    (".dim,.heading{fill:", "#59636e", "#9198a1"),
    (".looptext{fill:", "#bc4c00", "#f0883e"),
    (".fire{stroke:", "#8250df", "#ab7df8"),
    (".read{stroke:", "#818b98", "#818b98"),
    (".write{stroke:", "#0969da", "#4493f8"),
    (".loop{stroke:", "#bc4c00", "#f0883e"),
    (".tip.fire{fill:", "#8250df", "#ab7df8"),
    (".tip.read{fill:", "#818b98", "#818b98"),
    (".tip.write{fill:", "#0969da", "#4493f8"),
    (".tip.loop{fill:", "#bc4c00", "#f0883e"),
];

#[derive(Debug, Default)]
pub(super) struct Paper {
    body: String,
    /// How far to the right something was written.
    pub(super) right: f64,
}

/// How wide a text is.
pub(super) fn wide(text: &str) -> f64 {
    let columns: u32 = text.chars().map(|letter| if letter < '\u{1100}' { 1 } else { 2 }).sum();
    f64::from(columns) * LETTER
}

impl Paper {
    pub(super) fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        self.right = self.right.max(x + wide(text));
        let _never_fails =
            writeln!(self.body, r#"<text x="{x:.1}" y="{y:.1}" class="{class}">{}</text>"#, escaped(text));
    }

    /// Ends at `x`.
    pub(super) fn text_to(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let start = x - wide(text);
        self.text(start, y, class, text);
    }

    pub(super) fn card(&mut self, x: f64, y: f64, width: f64, height: f64) {
        let _never_fails = writeln!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="8" class="card"/>"#
        );
    }

    pub(super) fn rule(&mut self, x: f64, y: f64, width: f64) {
        let _never_fails = writeln!(self.body, r#"<path d="M{x:.1} {y:.1}h{width:.1}" class="rule"/>"#);
    }

    /// A line that leaves and arrives level.
    pub(super) fn curve(&mut self, x: f64, y: f64, to_x: f64, to_y: f64, class: &str, tip: bool) {
        let end = if tip { to_x - 7.0 } else { to_x };
        let bend = (to_x - x) / 2.0;
        let (one, other) = (x + bend, end - bend);
        let _never_fails = writeln!(
            self.body,
            r#"<path d="M{x:.1} {y:.1}C{one:.1} {y:.1} {other:.1} {to_y:.1} {end:.1} {to_y:.1}" class="{class}"/>"#
        );
        if tip {
            self.tip(to_x, to_y, class);
        }
    }

    /// A line out to the left, along a lane, and back.
    pub(super) fn bracket(&mut self, x: f64, y: f64, to_y: f64, lane: f64, class: &str) {
        let end = x - 7.0;
        let round = if to_y > y { 6.0 } else { -6.0 };
        let turn = to_y - round;
        let out = lane + 6.0;
        let start = y + round;
        let _never_fails = writeln!(
            self.body,
            r#"<path d="M{x:.1} {y:.1}H{out:.1}Q{lane:.1} {y:.1} {lane:.1} {start:.1}V{turn:.1}Q{lane:.1} {to_y:.1} {out:.1} {to_y:.1}H{end:.1}" class="{class}"/>"#
        );
        self.tip(x, to_y, class);
    }

    /// Where a line begins.
    pub(super) fn dot(&mut self, x: f64, y: f64, class: &str) {
        let class = class.replace("line", "tip");
        let _never_fails = writeln!(self.body, r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.5" class="{class}"/>"#);
    }

    fn tip(&mut self, x: f64, y: f64, class: &str) {
        let class = class.replace("line", "tip");
        let (back, up, down) = (x - 8.0, y - 4.0, y + 4.0);
        let _never_fails =
            writeln!(self.body, r#"<path d="M{x:.1} {y:.1}L{back:.1} {up:.1}V{down:.1}Z" class="{class}"/>"#);
    }

    /// The tip of a line that comes from the right.
    pub(super) fn tip_left(&mut self, x: f64, y: f64, class: &str) {
        let class = class.replace("line", "tip");
        let (back, up, down) = (x + 8.0, y - 4.0, y + 4.0);
        let _never_fails =
            writeln!(self.body, r#"<path d="M{x:.1} {y:.1}L{back:.1} {up:.1}V{down:.1}Z" class="{class}"/>"#);
    }

    /// The whole file.
    pub(super) fn finish(self, width: f64, height: f64, says: &str) -> String {
        let (mut light, mut dark) = (String::new(), String::new());
        for (what, on_light, on_dark) in INKS {
            let _never_fails = writeln!(light, "{what}{on_light}}}");
            let _never_fails = writeln!(dark, "{what}{on_dark}}}");
        }
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img">
<title>{}</title>
<style>
text{{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;white-space:pre}}
.heading{{letter-spacing:.08em}}
.line{{fill:none;stroke-width:1.5}}
.read{{stroke-dasharray:4 4}}
.rule{{fill:none}}
.tip{{stroke:none}}
{light}@media (prefers-color-scheme:dark){{
{dark}.tip{{stroke:none}}
}}
</style>
<rect width="100%" height="100%" class="ground"/>
{}</svg>
"#,
            escaped(says),
            self.body
        )
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}
