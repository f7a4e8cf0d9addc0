//! URI templates (RFC 6570) up to level 3: the variables of one, and the URI that values make of it.
//!
//! Pure. Variables are single texts, so `*` says nothing here; a template that cuts its values (`{name:3}`) is not
//! taken, since what is read would not be what was pinned.

use lf_module::Record;
use smol_str::SmolStr;

/// Longer templates, and more variables, are not taken.
const LONGEST: usize = 4096;
const MOST: usize = 32;

/// A template, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Expression { operator: Operator, names: Vec<SmolStr> },
}

/// How an expression is written: what comes first, what between, whether values are named, what they may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Operator {
    first: &'static str,
    between: &'static str,
    named: bool,
    /// An empty value keeps its `=`.
    equals: bool,
    reserved: bool,
}

const SIMPLE: Operator = Operator { first: "", between: ",", named: false, equals: false, reserved: false };

fn operator(sign: char) -> Option<Operator> {
    Some(match sign {
        '+' => Operator { reserved: true, ..SIMPLE },
        '#' => Operator { first: "#", reserved: true, ..SIMPLE },
        '.' => Operator { first: ".", between: ".", ..SIMPLE },
        '/' => Operator { first: "/", between: "/", ..SIMPLE },
        ';' => Operator { first: ";", between: ";", named: true, ..SIMPLE },
        '?' => Operator { first: "?", between: "&", named: true, equals: true, ..SIMPLE },
        '&' => Operator { first: "&", between: "&", named: true, equals: true, ..SIMPLE },
        _ => return None,
    })
}

impl Template {
    /// Reads one.
    ///
    /// # Errors
    /// Why it is not taken.
    pub(crate) fn read(text: &str) -> Result<Self, &'static str> {
        if text.len() > LONGEST {
            return Err("it is too long");
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            let (inside, after) = after.split_once('}').ok_or("a `{` has no `}`")?;
            parts.push(expression(inside)?);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        let template = Self { parts };
        match template.variables().len() {
            0 => Err("it has no variables"),
            count if count > MOST => Err("it has too many variables"),
            _ => Ok(template),
        }
    }

    /// Its variables, each once, and whether the URI needs it: what stands in a query may be left out.
    pub(crate) fn variables(&self) -> Vec<(SmolStr, bool)> {
        let mut all: Vec<(SmolStr, bool)> = Vec::new();
        for part in &self.parts {
            let Part::Expression { operator, names } = part else { continue };
            for name in names {
                let needed = !operator.equals;
                match all.iter_mut().find(|(known, _)| known == name) {
                    Some((_, known)) => *known |= needed,
                    None => all.push((name.clone(), needed)),
                }
            }
        }
        all
    }

    /// The URI with these values. What is not among them is left out.
    pub(crate) fn fill(&self, values: &Record) -> String {
        let mut uri = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => uri.push_str(literal),
                Part::Expression { operator, names } => {
                    let given = names.iter().filter_map(|name| Some((name, values.get(name)?.as_text()?)));
                    for (number, (name, value)) in given.enumerate() {
                        uri.push_str(if number == 0 { operator.first } else { operator.between });
                        if operator.named {
                            uri.push_str(name);
                            if operator.equals || !value.is_empty() {
                                uri.push('=');
                            }
                        }
                        encode(value, operator.reserved, &mut uri);
                    }
                }
            }
        }
        uri
    }
}

fn expression(inside: &str) -> Result<Part, &'static str> {
    let mut rest = inside.chars();
    let (operator, names) = match rest.next().and_then(operator) {
        Some(operator) => (operator, rest.as_str()),
        None => (SIMPLE, inside),
    };
    let name = |text: &str| {
        let text = text.strip_suffix('*').unwrap_or(text);
        let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '%');
        if text.contains(':') {
            return Err("it cuts a value, which is not built");
        }
        if text.is_empty() || !text.chars().all(plain) { Err("a variable has no plain name") } else { Ok(text.into()) }
    };
    let names = names.split(',').map(name).collect::<Result<_, _>>()?;
    Ok(Part::Expression { operator, names })
}

fn encode(value: &str, reserved: bool, out: &mut String) {
    for byte in value.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain || reserved && b":/?#[]@!$&'()*+,;=".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend(
                [byte >> 4, byte & 15]
                    .map(|half| char::from_digit(half.into(), 16).unwrap_or('0').to_ascii_uppercase()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use lf_module::Value;

    use super::*;

    fn filled(template: &str, values: &[(&str, &str)]) -> String {
        let values = values.iter().map(|(name, value)| (*name, Value::text(*value))).collect();
        Template::read(template).unwrap().fill(&values)
    }

    #[test]
    fn the_examples_of_the_rfc() {
        let values = [("var", "value"), ("hello", "Hello World!"), ("path", "/foo/bar"), ("x", "1024"), ("empty", "")];
        let table = [
            ("{var}", "value"),
            ("{hello}", "Hello%20World%21"),
            ("{+hello}", "Hello%20World!"),
            ("{+path}/here", "/foo/bar/here"),
            ("here?ref={+path}", "here?ref=/foo/bar"),
            ("X{#var}", "X#value"),
            ("map?{x,hello}", "map?1024,Hello%20World%21"),
            ("{x,empty}", "1024,"),
            ("X{.var,x}", "X.value.1024"),
            ("{/var,x}/here", "/value/1024/here"),
            ("{;x,empty}", ";x=1024;empty"),
            ("{?x,empty}", "?x=1024&empty="),
            ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
            ("{?gone,x}", "?x=1024"),
            ("{?gone}", ""),
            ("{var*}", "value"),
        ];
        for (template, expected) in table {
            assert_eq!(filled(template, &values), expected, "{template}");
        }
        assert_eq!(filled("note://{id}", &[("id", "a/é")]), "note://a%2F%C3%A9");
    }

    #[test]
    fn what_is_needed_and_what_is_not_taken() {
        let variables = Template::read("x://{a}/{+b}{?c,a,d}").unwrap().variables();
        let named: Vec<_> = variables.iter().map(|(name, needed)| (name.as_str(), *needed)).collect();
        assert_eq!(named, [("a", true), ("b", true), ("c", false), ("d", false)]);
        for bad in ["x://{a", "x://{}", "x://{a b}", "x://{a:3}", "x://plain", "x://{a,}"] {
            assert!(Template::read(bad).is_err(), "{bad}");
        }
        assert!(Template::read(&"x".repeat(LONGEST + 1)).is_err());
    }
}
