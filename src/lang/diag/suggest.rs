//! Did you mean: the nearest of the names that would have fitted. Says nothing rather than something far away.

/// The candidate nearest to `wrong`: the same but for case first, then by edits, swaps counted as one.
#[must_use]
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(wrong);
    let letters = folded.chars().count();
    let most = match letters {
        0..=2 => 0,
        3..=5 => 1,
        6..=10 => 2,
        _ => 3,
    };
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        if candidate == wrong {
            continue;
        }
        let other = fold(candidate);
        if other == folded {
            return Some(candidate);
        }
        let distance = strsim::osa_distance(&folded, &other);
        if distance <= most && distance < other.chars().count() && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Case and the joints of words (`create-issue`, `createIssue`, `create_issue`) do not count.
fn fold(name: &str) -> String {
    name.chars().filter(|letter| !matches!(letter, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn another_case_wins_over_a_smaller_edit() {
        assert_eq!(nearest("name", ["game", "Name"]), Some("Name"));
        assert_eq!(nearest("createIssue", ["create_issues", "create_issue"]), Some("create_issue"));
    }

    #[test]
    fn swapped_letters_are_one_edit() {
        assert_eq!(nearest("titel", ["team", "title"]), Some("title"));
    }

    #[test]
    fn far_names_are_not_offered() {
        assert_eq!(nearest("x", ["y", "crm"]), None);
        assert_eq!(nearest("company", ["tracker", "issue"]), None);
        assert_eq!(nearest("crm", ["crm"]), None);
    }
}
