//! `WWW-Authenticate`: what a server says is missing. Several challenges in one or many headers, quoted texts, any case.
//!
//! Pure; what is no challenge is passed over, since servers write all kinds of things there.

use http::{HeaderMap, header};

/// As much of all headers together as is read.
const LONGEST: usize = 16 << 10;

/// What a `Bearer` challenge says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(crate) resource_metadata: Option<String>,
    pub(crate) scope: Vec<String>,
    pub(crate) error: Option<String>,
    pub(crate) description: Option<String>,
}

/// The first `Bearer` challenge of the headers.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<Challenge> {
    let texts = headers.get_all(header::WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let mut read = 0;
    let found = texts.take_while(|text| {
        read += text.len();
        read <= LONGEST
    });
    let found = found.flat_map(challenges).find(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))?;
    let mut challenge = Challenge::default();
    for (name, value) in found.1 {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => challenge.resource_metadata = Some(value),
            "scope" => challenge.scope = value.split_ascii_whitespace().map(str::to_owned).collect(),
            "error" => challenge.error = Some(value),
            "error_description" => challenge.description = Some(value),
            _ => {}
        }
    }
    Some(challenge)
}

type Parameters = Vec<(String, String)>;

fn challenges(text: &str) -> Vec<(String, Parameters)> {
    let mut found: Vec<(String, Parameters)> = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let word = rest.find(|letter: char| !token(letter)).unwrap_or(rest.len());
        let Some((name, after)) = rest.split_at_checked(word) else { return found };
        if name.is_empty() {
            // Something that belongs to no challenge: the next letter may begin one.
            let mut letters = rest.chars();
            if letters.next().is_none() {
                return found;
            }
            rest = letters.as_str();
            continue;
        }
        rest = after.trim_start_matches([' ', '\t']);
        let Some(value) = rest.strip_prefix('=') else {
            found.push((name.to_owned(), Vec::new()));
            continue;
        };
        let (value, after) = value_of(value.trim_start_matches([' ', '\t']));
        if let Some((_, parameters)) = found.last_mut() {
            parameters.push((name.to_owned(), value));
        }
        rest = after;
    }
}

/// A token or a quoted text, and what comes after it.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return text.split_at_checked(end).map_or_else(Default::default, |(value, rest)| (value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => value.extend(letters.next()),
            other => value.push(other),
        }
    }
    (value, letters.as_str())
}

fn token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(letter)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header};

    use super::{Challenge, bearer};

    fn of(texts: &[&str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for text in texts {
            headers.append(header::WWW_AUTHENTICATE, HeaderValue::from_str(text).unwrap());
        }
        bearer(&headers)
    }

    #[test]
    fn the_bearer_challenge_is_found_among_others() {
        let url = "https://h/.well-known/oauth-protected-resource?a=1,2";
        let bearer = format!(r#"Bearer realm="a, b=\"c\"", resource_metadata="{url}", scope="read  write""#);
        let expected = Challenge {
            resource_metadata: Some(url.to_owned()),
            scope: vec!["read".to_owned(), "write".to_owned()],
            ..Challenge::default()
        };
        for texts in [
            vec![bearer.clone()],
            vec![format!("Basic realm=x, {bearer}")],
            vec!["Basic dGVzdA==".to_owned(), bearer.replace("Bearer", "bEARER")],
            vec![format!("Negotiate abc==,  {bearer}, Digest qop=\"auth\"")],
            vec![bearer.replace("resource_metadata=", "Resource_Metadata = ")],
        ] {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            assert_eq!(of(&texts).as_ref(), Some(&expected), "{texts:?}");
        }
    }

    #[test]
    fn what_is_no_challenge_is_passed_over() {
        for text in ["", ",,,", "=\"", "\"", "Basic", "realm=\"Bearer\"", "Bearer2 scope=x", "\\\\\\"] {
            assert_eq!(of(&[text]), None, "{text}");
        }
        assert_eq!(of(&["Bearer"]), Some(Challenge::default()));
        assert_eq!(of(&[r#"Bearer error="insufficient_scope"#]).unwrap().error.as_deref(), Some("insufficient_scope"));
        assert_eq!(of(&["Bearer error=invalid_token,scope=a"]).unwrap().error.as_deref(), Some("invalid_token"));
        assert_eq!(of(&[&"a,".repeat(20_000), "Bearer"]), None, "too long to be read");
    }
}
