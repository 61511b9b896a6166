//! Obvious mistakes in a selector. Whether it is a right one only a page can tell.

/// What other tools understand and a browser does not.
const FOREIGN: [&str; 9] =
    [":contains(", ":visible", ":hidden", ":has-text(", ":text(", ":eq(", ":first ", ">>", "::-p-"];

/// Returns what is wrong with a selector.
pub(super) fn problem(css: &str) -> Option<String> {
    if css.trim().is_empty() {
        return Some("a selector is empty".to_owned());
    }
    if css.starts_with('/') || css.starts_with("xpath=") || css.starts_with("text=") {
        return Some("only CSS selectors are understood".to_owned());
    }
    let bare = match unquoted(css) {
        Ok(bare) => bare,
        Err(problem) => return Some(problem),
    };
    if let Some(foreign) = FOREIGN.iter().find(|word| bare.contains(**word)) {
        return Some(format!("{} is not CSS", foreign.trim()));
    }
    if bare.contains(['{', '}', ';']) {
        return Some("a selector has no declarations".to_owned());
    }
    let starts_or_ends = |mark: char| bare.trim().starts_with(mark) || bare.trim().ends_with(mark);
    if starts_or_ends(',') || bare.split(',').any(|part| part.trim().is_empty()) {
        return Some("there is a comma too many".to_owned());
    }
    if bare.trim().ends_with(['>', '+', '~', '.', '#', ':']) {
        return Some("the selector ends in the middle".to_owned());
    }
    None
}

/// Returns a selector with the content of its strings left out, when its brackets and quotes are in pairs.
fn unquoted(css: &str) -> Result<String, String> {
    let mut open = Vec::new();
    let mut quote = None;
    let mut bare = String::new();
    let mut chars = css.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (_, '\\') => {
                chars.next();
                bare.push('x');
            }
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => {
                quote = Some(c);
                bare.push('x');
            }
            (None, '(' | '[') => {
                open.push(c);
                bare.push(c);
            }
            (None, ')' | ']') => {
                let fits = open.pop() == Some(if c == ')' { '(' } else { '[' });
                if !fits {
                    return Err(format!("a {c} has no beginning"));
                }
                bare.push(c);
            }
            (None, c) => bare.push(c),
        }
    }
    match (quote, open.pop()) {
        (Some(mark), _) => Err(format!("a {mark} is not closed")),
        (None, Some(bracket)) => Err(format!("a {bracket} is not closed")),
        (None, None) => Ok(bare),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obvious_mistakes_are_found_and_nothing_else() {
        let cases = [
            ("button[data-testid=\"send\"]", None),
            ("form button:has(svg path[d^=\"M4.5 (\"]), a:not(.b *)", None),
            ("[class~=\"group/composer\"] > button", None),
            ("[title='a, b;']", None),
            ("", Some("a selector is empty")),
            ("//button", Some("only CSS selectors are understood")),
            ("button[data-x=\"y]", Some("a \" is not closed")),
            ("button[data-x", Some("a [ is not closed")),
            ("a:not(.b", Some("a ( is not closed")),
            ("a)", Some("a ) has no beginning")),
            ("button:contains('Send')", Some(":contains( is not CSS")),
            ("a,, b", Some("there is a comma too many")),
            ("a, ", Some("there is a comma too many")),
            ("a >", Some("the selector ends in the middle")),
            ("a { color: red }", Some("a selector has no declarations")),
        ];
        for (css, expected) in cases {
            assert_eq!(problem(css).as_deref(), expected, "{css}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(css in "\\PC*") {
            let _ = problem(&css);
        }
    }
}
