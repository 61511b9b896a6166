//! The two configuration files: the repository's `.oracle/config.toml` and the person's `~/.oracle/config.toml`.

use std::path::PathBuf;

use toml::Table;
use toml::Value;

use crate::base::glob_problem;
use crate::base::is_dotgit;
use crate::base::nearest;
use crate::base::parse_size;
use crate::base::visible;

/// Whose file a key belongs into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Repository,
    Person,
}

/// Every key there is.
const KEYS: [(&str, Owner); 25] = [
    ("hooks.missing_contract", Owner::Repository),
    ("gate.protected", Owner::Repository),
    ("secrets.rules", Owner::Repository),
    ("secrets.allow", Owner::Repository),
    ("review.protected_branches", Owner::Repository),
    ("review.required", Owner::Repository),
    ("review.template", Owner::Repository),
    ("candidate.reuse", Owner::Repository),
    ("bundle.max_file_size", Owner::Repository),
    ("bundle.max_total_size", Owner::Repository),
    ("bundle.exclude", Owner::Repository),
    ("contract.widen", Owner::Person),
    ("review.apply_mode", Owner::Person),
    ("transfers.allow", Owner::Person),
    ("transfers.auto_low_risk", Owner::Person),
    ("transfers.max_bytes", Owner::Person),
    ("engine.default", Owner::Person),
    ("engine.model", Owner::Person),
    ("engine.timeout", Owner::Person),
    ("engine.stall_timeout", Owner::Person),
    ("browser.path", Owner::Person),
    ("browser.driver", Owner::Person),
    ("browser.profile", Owner::Person),
    ("browser.webdriver_url", Owner::Person),
    ("browser.url", Owner::Person),
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

/// How far a patch is taken. Ordered by what it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApplyMode {
    /// The patch is judged and kept; git changes nothing.
    None,
    /// The patch is applied to a candidate and tested there.
    Check,
    /// Then it is applied to the working tree.
    Apply,
    /// Then it is committed.
    Commit,
}

impl ApplyMode {
    pub const ALL: [ApplyMode; 4] = [ApplyMode::None, ApplyMode::Check, ApplyMode::Apply, ApplyMode::Commit];

    pub const fn as_str(self) -> &'static str {
        match self {
            ApplyMode::None => "none",
            ApplyMode::Check => "check",
            ApplyMode::Apply => "apply",
            ApplyMode::Commit => "commit",
        }
    }
}

/// Ignored directories that a candidate borrows where nothing is configured.
const REUSE: [&str; 4] = ["node_modules", ".venv", "vendor", "target"];

/// What the repository says.
#[derive(Debug, Clone, PartialEq)]
pub struct RepoConfig {
    pub missing_contract: MissingContract,
    /// Globs of further protected paths.
    pub protected: Vec<String>,
    /// Further rules about secrets, as they are written.
    pub secret_rules: Vec<Table>,
    /// Findings that are allowed, as they are written.
    pub secret_allows: Vec<Table>,
    /// Globs of further branches that are never pushed to.
    pub protected_branches: Vec<String>,
    /// No branch is pushed whose tree did not come out of a review.
    pub review_required: bool,
    /// The template of review requests, where it is not the usual one.
    pub review_template: Option<String>,
    /// Ignored directories that are linked into a candidate.
    pub reuse: Vec<String>,
    pub bundle: BundleConfig,
}

/// What the repository says about packages of context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BundleConfig {
    /// No larger file gets into a package, whatever the command line says.
    pub max_file_size: Option<u64>,
    /// No more than this gets into a package.
    pub max_total_size: Option<u64>,
    /// Globs of files that never get into a package.
    pub exclude: Vec<String>,
}

impl Default for RepoConfig {
    fn default() -> Self {
        RepoConfig {
            missing_contract: MissingContract::default(),
            protected: Vec::new(),
            secret_rules: Vec::new(),
            secret_allows: Vec::new(),
            protected_branches: Vec::new(),
            review_required: false,
            review_template: None,
            reuse: REUSE.map(str::to_owned).to_vec(),
            bundle: BundleConfig::default(),
        }
    }
}

/// What the person says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonConfig {
    pub widen: Widen,
    /// How far patches are taken where the command line does not say.
    pub apply_mode: Option<ApplyMode>,
    pub transfers: TransferConfig,
    pub engine: EngineConfig,
    pub browser: BrowserConfig,
}

/// Where unattended commands may send to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransferConfig {
    /// Host names, written out.
    pub allow: Vec<String>,
    /// A prompt alone may go to any page.
    pub auto_low_risk: bool,
    /// More at once needs somebody at the terminal.
    pub max_bytes: Option<u64>,
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    Api,
    Browser,
}

impl EngineKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            EngineKind::Api => "api",
            EngineKind::Browser => "browser",
        }
    }
}

/// What holds for questions where no flag says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineConfig {
    pub default: Option<EngineKind>,
    pub model: Option<String>,
    /// In seconds, as the flags.
    pub timeout: Option<u64>,
    pub stall_timeout: Option<u64>,
}

/// Where the browser is, and what it opens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrowserConfig {
    pub path: Option<PathBuf>,
    pub driver: Option<PathBuf>,
    pub profile: Option<PathBuf>,
    pub webdriver_url: Option<String>,
    pub url: Option<String>,
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
        let globs = "a list of globs, relative to the top of the repository";
        let glob = |text: &str| glob_problem(text).is_none();
        config.protected = list(&table, "gate.protected", globs, glob)?.unwrap_or_default();
        config.secret_rules = tables(&table, "secrets.rules")?;
        config.secret_allows = tables(&table, "secrets.allow")?;
        let branches = list(&table, "review.protected_branches", "a list of globs of branch names", glob)?;
        config.protected_branches = branches.unwrap_or_default();
        if let Some(value) = find(&table, "review.required") {
            let expected = "true or false";
            config.review_required =
                value.as_bool().ok_or(ConfigError::BadValue { key: "review.required", expected })?;
        }
        if let Some(value) = find(&table, "review.template") {
            let expected = "a file below the top of the repository";
            let path = value.as_str().filter(|path| is_plain(path));
            let path = path.ok_or(ConfigError::BadValue { key: "review.template", expected })?;
            config.review_template = Some(path.to_owned());
        }
        if let Some(reuse) =
            list(&table, "candidate.reuse", "a list of directories below the top of the repository", is_plain)?
        {
            config.reuse = reuse;
        }
        config.bundle = BundleConfig {
            max_file_size: size(&table, "bundle.max_file_size")?,
            max_total_size: size(&table, "bundle.max_total_size")?,
            exclude: list(&table, "bundle.exclude", globs, glob)?.unwrap_or_default(),
        };
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
        let apply_mode = match find(&table, "review.apply_mode") {
            None => None,
            Some(value) => {
                let known = ApplyMode::ALL.into_iter().find(|mode| value.as_str() == Some(mode.as_str()));
                Some(known.ok_or(ConfigError::BadValue {
                    key: "review.apply_mode",
                    expected: "\"none\", \"check\", \"apply\" or \"commit\"",
                })?)
            }
        };
        Ok(PersonConfig {
            widen,
            apply_mode,
            transfers: TransferConfig::of(&table)?,
            engine: EngineConfig::of(&table)?,
            browser: BrowserConfig {
                path: text(&table, "browser.path")?.map(PathBuf::from),
                driver: text(&table, "browser.driver")?.map(PathBuf::from),
                profile: text(&table, "browser.profile")?.map(PathBuf::from),
                webdriver_url: text(&table, "browser.webdriver_url")?,
                url: text(&table, "browser.url")?,
            },
        })
    }
}

impl TransferConfig {
    fn of(table: &Table) -> Result<Self, ConfigError> {
        let is_host = |text: &str| !text.is_empty() && !text.contains(['/', '*', ' ', '@']);
        let auto_low_risk = match find(table, "transfers.auto_low_risk") {
            None => false,
            Some(value) => value
                .as_bool()
                .ok_or(ConfigError::BadValue { key: "transfers.auto_low_risk", expected: "true or false" })?,
        };
        let hosts = "a list of host names such as \"chatgpt.com\", without wildcards";
        Ok(TransferConfig {
            allow: list(table, "transfers.allow", hosts, is_host)?.unwrap_or_default(),
            auto_low_risk,
            max_bytes: size(table, "transfers.max_bytes")?,
        })
    }
}

impl EngineConfig {
    fn of(table: &Table) -> Result<Self, ConfigError> {
        let default = match text(table, "engine.default")?.as_deref() {
            None => None,
            Some("api") => Some(EngineKind::Api),
            Some("browser") => Some(EngineKind::Browser),
            Some(_) => {
                return Err(ConfigError::BadValue { key: "engine.default", expected: "\"api\" or \"browser\"" });
            }
        };
        let seconds = |key: &'static str| match find(table, key) {
            None => Ok(None),
            Some(value) => match value.as_integer().and_then(|number| u64::try_from(number).ok()) {
                Some(number @ 1..) => Ok(Some(number)),
                _ => Err(ConfigError::BadValue { key, expected: "a number of seconds" }),
            },
        };
        Ok(EngineConfig {
            default,
            model: text(table, "engine.model")?,
            timeout: seconds("engine.timeout")?,
            stall_timeout: seconds("engine.stall_timeout")?,
        })
    }
}

/// Returns a text that says something; `None` when the key is not there.
fn text(table: &Table, key: &'static str) -> Result<Option<String>, ConfigError> {
    let Some(value) = find(table, key) else { return Ok(None) };
    let text = value.as_str().filter(|text| !text.trim().is_empty());
    text.map(|text| Some(text.to_owned())).ok_or(ConfigError::BadValue { key, expected: "a text" })
}

/// Returns a list of texts that all fit; `None` when the key is not there.
fn list(
    table: &Table,
    key: &'static str,
    expected: &'static str,
    fits: impl Fn(&str) -> bool,
) -> Result<Option<Vec<String>>, ConfigError> {
    let Some(value) = find(table, key) else { return Ok(None) };
    let bad = || ConfigError::BadValue { key, expected };
    let items = value.as_array().ok_or_else(bad)?;
    let texts = items.iter().map(|item| item.as_str().filter(|text| fits(text)).map(str::to_owned));
    texts.collect::<Option<Vec<_>>>().map(Some).ok_or_else(bad)
}

/// Returns a size: a number of bytes, or a text such as `"512K"`.
fn size(table: &Table, key: &'static str) -> Result<Option<u64>, ConfigError> {
    let Some(value) = find(table, key) else { return Ok(None) };
    let bytes = match value {
        Value::Integer(bytes) => u64::try_from(*bytes).ok(),
        value => value.as_str().and_then(parse_size),
    };
    let expected = "a number of bytes, or a text such as \"512K\" or \"2M\"";
    bytes.map(Some).ok_or(ConfigError::BadValue { key, expected })
}

/// Returns the tables of a list of tables.
fn tables(table: &Table, key: &'static str) -> Result<Vec<Table>, ConfigError> {
    let Some(value) = find(table, key) else { return Ok(Vec::new()) };
    let bad = || ConfigError::BadValue { key, expected: "a list of tables" };
    let items = value.as_array().ok_or_else(bad)?.iter().map(|item| item.as_table().cloned());
    items.collect::<Option<Vec<_>>>().ok_or_else(bad)
}

/// Tells whether a text names a directory below the top and nothing else.
fn is_plain(text: &str) -> bool {
    let path = text.strip_suffix('/').unwrap_or(text);
    path.split('/').all(|component| {
        !matches!(component, "" | "." | "..") && !component.contains('\0') && !is_dotgit(component.as_bytes())
    })
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
        let expected = RepoConfig {
            missing_contract: MissingContract::Warn,
            protected: vec!["*.sql".into()],
            ..RepoConfig::default()
        };
        assert_eq!(config, expected);
        let config = RepoConfig::parse(
            b"[candidate]\nreuse = [\"web/cache\"]\n[review]\nprotected_branches = [\"release/*\"]\n",
        )
        .unwrap();
        assert_eq!((config.reuse, config.protected_branches), (vec!["web/cache".into()], vec!["release/*".into()]));
        let bundle = b"[bundle]\nmax_file_size = 4096\nmax_total_size = \"2M\"\nexclude = [\"fixtures\"]\n";
        let expected =
            BundleConfig { max_file_size: Some(4096), max_total_size: Some(2 << 20), exclude: vec!["fixtures".into()] };
        assert_eq!(RepoConfig::parse(bundle).unwrap().bundle, expected);
        let person = PersonConfig::parse(b"[review]\napply_mode = \"check\"\n").unwrap();
        assert_eq!(person.apply_mode, Some(ApplyMode::Check));
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
        let cases: [(&[u8], &str); 12] = [
            (b"[candidate]\nreuse = [\"../elsewhere\"]\n", "candidate.reuse must be a list of directories"),
            (b"[candidate]\nreuse = [\".git\"]\n", "candidate.reuse must be a list of directories"),
            (b"[bundle]\nmax_file_size = -1\n", "bundle.max_file_size must be a number of bytes"),
            (b"[bundle]\nmax_total_size = \"much\"\n", "bundle.max_total_size must be a number of bytes"),
            (b"[bundle]\nexclude = [\"/abs\"]\n", "bundle.exclude must be a list of globs"),
            (b"[review]\napply_mode = \"commit\"\n", "the key review.apply_mode is the person's to set"),
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
