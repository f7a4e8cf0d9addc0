//! The text of a case: comments, the setting (`key: value`), steps (`do: …`), and after each step what came of it (`=`)
//! and what the server received (`|`). A line that begins with two blanks belongs to the one before.

/// A case, taken apart.
pub(crate) struct Case {
    /// Keys and values in order; a key may come more than once.
    pub(crate) setup: Vec<(String, String)>,
    pub(crate) steps: Vec<String>,
    /// The lines without outcomes, and after which of them a step ends.
    lines: Vec<(String, bool)>,
}

impl Case {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with(['=', '|'])).collect();
        if !kept.first().is_some_and(|line| line.starts_with("# ")) {
            return Err("the first line says what the case is about: `# …`".to_owned());
        }
        let mut case = Self { setup: Vec::new(), steps: Vec::new(), lines: Vec::new() };
        let mut at = 0;
        while let Some(line) = kept.get(at) {
            at += 1;
            let more = kept[at..].iter().take_while(|line| line.starts_with("  ")).count();
            let block: Vec<&str> = std::iter::once(*line).chain(kept[at..at + more].iter().copied()).collect();
            at += more;
            let step = line.starts_with("do: ");
            case.lines.extend(block.iter().map(|line| ((*line).to_owned(), false)));
            if let Some(last) = case.lines.last_mut() {
                last.1 = step;
            }
            if line.starts_with('#') || line.is_empty() {
                continue;
            }
            let whole = block.join("\n");
            let (key, value) = whole.split_once(':').ok_or(format!("`{line}` is neither a setting nor a step"))?;
            if step {
                case.steps.push(value.trim().to_owned());
            } else {
                case.setup.push((key.to_owned(), value.trim().to_owned()));
            }
        }
        Ok(case)
    }

    /// The text with these outcomes after its steps.
    pub(crate) fn with(&self, outcomes: &[Vec<String>]) -> String {
        let mut outcomes = outcomes.iter();
        let mut text = String::new();
        for (line, step) in &self.lines {
            text.extend([line, "\n"]);
            if *step {
                text.extend(outcomes.next().into_iter().flatten().flat_map(|line| [line.as_str(), "\n"]));
            }
        }
        text
    }
}

/// What differs, with what is the same around it.
pub(crate) fn difference(expected: &str, found: &str) -> String {
    let (expected, found): (Vec<_>, Vec<_>) = (expected.lines().collect(), found.lines().collect());
    let same = |(one, two): &(&&str, &&str)| one == two;
    let before = expected.iter().zip(&found).take_while(same).count();
    let after = expected[before..].iter().rev().zip(found[before..].iter().rev()).take_while(same).count();
    let from = before.saturating_sub(2);
    let mut text: Vec<_> = expected[from..before].iter().map(|line| format!("    {line}")).collect();
    text.extend(expected[before..expected.len() - after].iter().map(|line| format!("  - {line}")));
    text.extend(found[before..found.len() - after].iter().map(|line| format!("  + {line}")));
    text.join("\n")
}
