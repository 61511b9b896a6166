//! Globs that somebody wrote to protect paths.

/// Returns why a glob can never protect anything, so that a misspelt restriction does not vanish.
pub fn glob_problem(glob: &str) -> Option<String> {
    if glob.starts_with('/')
        || glob.starts_with("./")
        || glob.split('/').any(|part| part == "..")
        || glob.trim().is_empty()
    {
        return Some("it is not relative to the top of the repository".to_owned());
    }
    globset::Glob::new(glob).err().map(|error| error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_that_match_nothing_are_refused() {
        for glob in ["/src/**", "./src", "../x", "", "a["] {
            assert!(glob_problem(glob).is_some(), "{glob}");
        }
        for glob in ["*.sql", "src/", "**/x", "a/b/*.rs"] {
            assert_eq!(glob_problem(glob), None, "{glob}");
        }
    }
}
