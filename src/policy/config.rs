//! The two configuration files: the repository's `.oracle/config.toml` and the person's `~/.oracle/config.toml`.

use toml::Table;
use toml::Value;

use crate::base::glob_problem;
use crate::base::nearest;
use crate::base::visible;

/// Whose file a key belongs into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Repository,
    Person,
}

/// Every key there is.
const KEYS: [(&str, Owner); 3] = [
    ("hooks.missing_contract", Owner::Repository),
    ("gate.protected", Owner::Repository),
    ("contract.widen", Owner::Person),
];

/// Why a configuration file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("it is not valid TOML: {0}")]
    Syntax(String),
    #[error("the key {key} is not known{}", suggestion.as_ref().map(|name| format!(", did you mean {name}?")).unwrap_or_default())]
    UnknownKey { key: String, suggestion: Option<&'static str> },
    #[error("the key {0} is the person's to set, in ~/.oracle/config.toml; a repository cannot grant it")]
    NotTheRepositorys(&'static str),
    #[error("the key {0} is the repository's to set, in .oracle/config.toml")]
    NotThePersons(&'static str),
    #[error("{key} must be {expected}")]
    BadValue { key: &'static str, expected: &'static str },
}

/// What happens where no contract is active.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MissingContract {
    #[default]
    Block,
    Warn,
}

/// Whether a wider contract needs the person to be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Widen {
    #[default]
    Ask,
    Allow,
}

/// What the repository says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepoConfig {
    pub missing_contract: MissingContract,
    /// Globs of further protected paths.
    pub protected: Vec<String>,
}

/// What the person says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonConfig {
    pub widen: Widen,
}

impl RepoConfig {
    /// Reads the repository's configuration.
    pub fn parse(bytes: &[u8]) -> Result<Self, ConfigError> {
        let table = parse(bytes, Owner::Repository)?;
        let mut config = RepoConfig::default();
        if let Some(value) = find(&table, "hooks.missing_contract") {
            config.missing_contract = match value.as_str() {
                Some("block") => MissingContract::Block,
                Some("warn") => MissingContract::Warn,
                _ => {
                    return Err(ConfigError::BadValue {
                        key: "hooks.missing_contract",
                        expected: "\"block\" or \"warn\"",
                    });
                }
            };
        }
        if let Some(value) = find(&table, "gate.protected") {
            let bad = || ConfigError::BadValue {
                key: "gate.protected",
                expected: "a list of globs, relative to the top of the repository",
            };
            let items = value.as_array().ok_or_else(bad)?;
            for item in items {
                let glob = item.as_str().filter(|glob| glob_problem(glob).is_none()).ok_or_else(bad)?;
                config.protected.push(glob.to_owned());
            }
        }
        Ok(config)
    }
}

impl PersonConfig {
    /// Reads the person's configuration.
    pub fn parse(bytes: &[u8]) -> Result<Self, ConfigError> {
        let table = parse(bytes, Owner::Person)?;
        let widen = match find(&table, "contract.widen").map(Value::as_str) {
            None | Some(Some("ask")) => Widen::Ask,
            Some(Some("allow")) => Widen::Allow,
            _ => return Err(ConfigError::BadValue { key: "contract.widen", expected: "\"ask\" or \"allow\"" }),
        };
        Ok(PersonConfig { widen })
    }
}

/// Parses a file and refuses every key that does not belong into it.
fn parse(bytes: &[u8], owner: Owner) -> Result<Table, ConfigError> {
    let text = std::str::from_utf8(bytes).map_err(|error| ConfigError::Syntax(error.to_string()))?;
    let table: Table =
        text.parse().map_err(|error: toml::de::Error| ConfigError::Syntax(visible(error.message()).into_owned()))?;
    for (section, value) in &table {
        let keys: Vec<String> = match value.as_table() {
            Some(inner) => inner.keys().map(|key| format!("{section}.{key}")).collect(),
            None => vec![section.clone()],
        };
        for key in keys {
            match KEYS.iter().find(|(known, _)| *known == key) {
                Some((_, known_owner)) if *known_owner == owner => {}
                Some((known, Owner::Person)) => return Err(ConfigError::NotTheRepositorys(known)),
                Some((known, Owner::Repository)) => return Err(ConfigError::NotThePersons(known)),
                None => {
                    let suggestion = nearest(&key, KEYS.iter().map(|(known, _)| *known));
                    return Err(ConfigError::UnknownKey { key: visible(&key).into_owned(), suggestion });
                }
            }
        }
    }
    Ok(table)
}

fn find<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let (section, name) = key.split_once('.')?;
    table.get(section)?.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_are_read() {
        let config =
            RepoConfig::parse(b"[hooks]\nmissing_contract = \"warn\"\n[gate]\nprotected = [\"*.sql\"]\n").unwrap();
        assert_eq!(config, RepoConfig { missing_contract: MissingContract::Warn, protected: vec!["*.sql".into()] });
        assert_eq!(PersonConfig::parse(b"[contract]\nwiden = \"allow\"\n").unwrap().widen, Widen::Allow);
        assert_eq!(RepoConfig::parse(b"").unwrap(), RepoConfig::default());
    }

    #[test]
    fn a_repository_cannot_speak_for_the_person() {
        let error = RepoConfig::parse(b"[contract]\nwiden = \"allow\"\n").unwrap_err();
        assert_eq!(error, ConfigError::NotTheRepositorys("contract.widen"));
        let error = PersonConfig::parse(b"[gate]\nprotected = []\n").unwrap_err();
        assert_eq!(error, ConfigError::NotThePersons("gate.protected"));
    }

    #[test]
    fn a_misspelt_restriction_does_not_vanish() {
        let cases: [(&[u8], &str); 6] = [
            (b"[gate]\nprotectd = []\n", "the key gate.protectd is not known, did you mean gate.protected?"),
            (b"colour = 1\n", "the key colour is not known"),
            (b"[hooks]\nmissing_contract = \"off\"\n", "hooks.missing_contract must be \"block\" or \"warn\""),
            (b"[gate]\nprotected = [\"a[\"]\n", "gate.protected must be a list of globs"),
            (b"[gate", "it is not valid TOML"),
            (b"\xff", "it is not valid TOML"),
        ];
        for (bytes, message) in cases {
            let error = RepoConfig::parse(bytes).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
