//! Variables in a file: `.env`.

/// Returns the value of a variable: from the environment, else from the text of a `.env` file.
pub fn variable(name: &str, dotenv: Option<&str>) -> Option<String> {
    let of_process = std::env::var(name).ok();
    of_process.or_else(|| dotenv.and_then(|text| find(text, name))).filter(|value| !value.is_empty())
}

/// Returns what a `.env` file says of a variable; the last word counts.
fn find(text: &str, name: &str) -> Option<String> {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let mut values = lines.filter_map(|line| {
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        let (key, value) = line.split_once('=')?;
        (key.trim_end() == name).then(|| plain(value.trim()))
    });
    values.next_back()
}

/// Takes off quotes, or the comment behind a value that has none.
fn plain(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some((inner, rest)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote))
            && (rest.trim().is_empty() || rest.trim_start().starts_with('#'))
        {
            return inner.to_owned();
        }
    }
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_stands_behind_the_name() {
        let text = "\u{feff}# GITHUB_USERNAME=no\nexport GITHUB_USERNAME = person\nGITHUB_PASSWORD='a b#c$d=e' # mine\n\
                    EMPTY=\nOLD=1\nOLD=2\nGITHUB_TOTP_SECRET=\"ABC DEF\"\r\nPLAIN=x#y # z\nHALF=\"x\n=3\nnothing\n";
        for (name, expected) in [
            ("GITHUB_USERNAME", Some("person")),
            ("GITHUB_PASSWORD", Some("a b#c$d=e")),
            ("GITHUB_TOTP_SECRET", Some("ABC DEF")),
            ("EMPTY", Some("")),
            ("OLD", Some("2")),
            ("PLAIN", Some("x#y")),
            ("HALF", Some("\"x")),
            ("nothing", None),
        ] {
            assert_eq!(find(text, name).as_deref(), expected, "{name}");
        }
    }
}
