//! Rules: what a secret looks like, as data.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::bytes::Regex;
use regex::bytes::RegexBuilder;
use serde::Deserialize;

use crate::secret::Scanner;
use crate::secret::check::Check;
use crate::secret::example::Examples;
use crate::secret::index::MIN_KEYWORD;

/// The rules that come with the program, as they are written.
const SOURCE: &str = include_str!("../../policies/secret_rules.json");

// `BUILT_IN` and `PUBLISHED`, made of the same by build.rs.
include!(concat!(env!("OUT_DIR"), "/secret_rules.rs"));

/// A rule that comes with the program.
struct BuiltIn {
    id: &'static str,
    label: &'static str,
    context: Context,
    keywords: &'static [&'static str],
    fold: bool,
    pattern: Option<&'static str>,
    before: usize,
    max: Option<usize>,
    needs: Option<&'static str>,
    run: usize,
    names: &'static [&'static str],
    checks: &'static [Check],
}

/// How far from its keyword a match may reach, where a rule does not say.
const DEFAULT_REACH: usize = 512;

/// No rule reaches further, so that time stays linear.
pub(super) const MAX_REACH: usize = 8192;

/// No token that a built-in rule knows is shorter.
const MIN_RUN: usize = 20;

/// How far before its keyword a match may begin.
const MAX_BEFORE: usize = 64;

/// A rule as it is written: in `policies/secret_rules.json`, or as a table of `[[secrets.rules]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleFile {
    /// The exact kind, which no other rule has.
    pub id: String,
    /// The family, which scripts rely on.
    pub label: String,
    #[serde(default)]
    pub context: Context,
    /// Texts without which there is no match. A match begins with one, or a few bytes before it.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    pub fold: bool,
    /// What the secret looks like; where there is a group, the group is the secret.
    pub pattern: Option<String>,
    /// How many bytes before the keyword a match can begin.
    #[serde(default)]
    pub before: usize,
    /// How many bytes a match can have.
    pub max: Option<usize>,
    /// A text that has to come soon after the keyword for the pattern to be worth trying.
    pub needs: Option<String>,
    /// How many characters of a token have to come right after the keyword for the same, or right before it where the
    /// match begins there; how many a named value has at least.
    #[serde(default)]
    pub run: usize,
    /// For a named value: words of which the name has at least one.
    #[serde(default)]
    pub names: Vec<String>,
    #[serde(default)]
    pub checks: Vec<Check>,
    pub examples: Examples,
}

/// By what a secret is recognised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// By itself: it stands alone, not inside of a word.
    #[default]
    Token,
    /// By the text around it, which the pattern describes.
    Text,
    /// By the name that it is given to, and its shape.
    Name,
    /// By the name alone: a password.
    Password,
    /// By the name alone: a key or token of unknown make.
    Secret,
    /// By what it is when decoded.
    Encoded,
    /// A private key between its two lines.
    Pem,
    /// The values of a Kubernetes secret.
    Kubernetes,
}

/// Why rules cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the secret rule {rule} {problem}")]
pub struct RuleError {
    pub rule: String,
    pub problem: String,
}

/// What is borrowed comes with the program.
type Text = Cow<'static, str>;

/// A rule in force.
#[derive(Debug)]
pub(super) struct Rule {
    pub id: Text,
    pub label: Text,
    pub context: Context,
    pub keywords: Vec<Text>,
    pub fold: bool,
    pub before: usize,
    pub reach: usize,
    pub names: Vec<Text>,
    pub checks: Cow<'static, [Check]>,
    /// What is looked for before the pattern is tried, which costs more to compile than a look at the next bytes.
    pub needs: Option<Text>,
    pub run: usize,
    pattern: Option<Text>,
    /// Compiled when a keyword of it is met for the first time: most runs meet none.
    compiled: OnceLock<Option<Regex>>,
}

impl Rule {
    /// Returns the pattern, compiled.
    pub fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| self.pattern.as_deref().and_then(|pattern| self.compile(pattern).ok())).as_ref()
    }

    fn compile(&self, pattern: &str) -> Result<Regex, regex::Error> {
        let anchored = match (self.context, self.before) {
            (Context::Name, _) => format!(r"\A(?:{pattern})\z"),
            (_, 0) => format!(r"\A(?:{pattern})"),
            (_, _) => pattern.to_owned(),
        };
        RegexBuilder::new(&anchored).unicode(false).case_insensitive(self.fold).size_limit(1 << 20).build()
    }
}

fn reach(max: Option<usize>) -> usize {
    max.unwrap_or(DEFAULT_REACH).min(MAX_REACH)
}

impl From<&'static BuiltIn> for Rule {
    fn from(rule: &'static BuiltIn) -> Self {
        let texts = |texts: &[&'static str]| texts.iter().map(|text| Text::Borrowed(text)).collect();
        Rule {
            id: rule.id.into(),
            label: rule.label.into(),
            context: rule.context,
            keywords: texts(rule.keywords),
            fold: rule.fold,
            before: rule.before.min(MAX_BEFORE),
            reach: reach(rule.max),
            names: texts(rule.names),
            checks: rule.checks.into(),
            run: if rule.context == Context::Token && rule.before == 0 { MIN_RUN } else { rule.run },
            needs: rule.needs.map(Text::Borrowed),
            pattern: rule.pattern.map(Text::Borrowed),
            compiled: OnceLock::new(),
        }
    }
}

impl From<RuleFile> for Rule {
    fn from(file: RuleFile) -> Self {
        let texts = |texts: Vec<String>| texts.into_iter().map(Text::Owned).collect();
        Rule {
            id: file.id.into(),
            label: file.label.into(),
            context: file.context,
            keywords: texts(file.keywords),
            fold: file.fold,
            before: file.before.min(MAX_BEFORE),
            reach: reach(file.max),
            names: texts(file.names),
            checks: file.checks.into(),
            run: file.run,
            needs: file.needs.map(Text::Owned),
            pattern: file.pattern.map(Text::Owned),
            compiled: OnceLock::new(),
        }
    }
}

/// All rules in force.
#[derive(Debug)]
pub struct Rules {
    pub(super) rules: Vec<Rule>,
    /// Digests of values that are published as examples.
    pub(super) published: &'static [&'static str],
}

#[derive(Deserialize)]
struct RulesFile {
    rules: Vec<RuleFile>,
}

impl Rules {
    /// Returns the built-in rules.
    pub fn built_in() -> Self {
        Rules { rules: BUILT_IN.iter().map(Rule::from).collect(), published: PUBLISHED }
    }

    /// Returns the built-in rules as they are written, with their examples.
    pub fn built_in_files() -> Vec<RuleFile> {
        let file: RulesFile = serde_json::from_str(SOURCE).expect("the embedded rules are valid");
        file.rules
    }

    /// Returns the built-in rules and these, each of which has to hold what its examples promise.
    pub fn with(own: Vec<RuleFile>) -> Result<Self, RuleError> {
        let mut all = Rules::built_in();
        for file in own {
            let problem = |problem: String| RuleError { rule: file.id.clone(), problem };
            if all.rules.iter().any(|rule| rule.id == file.id) {
                return Err(problem("has the id of another one".to_owned()));
            }
            if let Some(reason) = file.problem() {
                return Err(problem(reason));
            }
            let alone = Rules { rules: vec![Rule::from(file.clone())], published: &[] };
            if let Some(rule) = alone.rules.first()
                && let Some(pattern) = &rule.pattern
                && let Err(error) = rule.compile(pattern)
            {
                let reason = error.to_string().lines().last().unwrap_or_default().to_owned();
                return Err(problem(format!("has a pattern that is not a regular expression: {reason}")));
            }
            file.examples.check(&file.id, &Scanner::new(alone)).map_err(problem)?;
            all.rules.push(Rule::from(file));
        }
        Ok(all)
    }

    /// Returns the id and the label of each rule.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rules.iter().map(|rule| (&*rule.id, &*rule.label))
    }
}

impl RuleFile {
    /// Returns why the rule can never match, or would match everywhere.
    fn problem(&self) -> Option<String> {
        let is_word =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_word(&self.id) || !is_word(&self.label) {
            return Some("needs an id and a label of letters, digits and _".to_owned());
        }
        match self.context {
            Context::Token | Context::Text if self.keywords.is_empty() => Some("needs keywords".to_owned()),
            Context::Token | Context::Text if self.keywords.iter().any(|keyword| keyword.len() < MIN_KEYWORD) => {
                Some("has a keyword of less than three bytes".to_owned())
            }
            Context::Name if self.names.is_empty() => Some("needs names".to_owned()),
            Context::Token | Context::Text | Context::Name if self.pattern.is_none() => {
                Some("needs a pattern".to_owned())
            }
            Context::Token | Context::Text | Context::Name => None,
            _ => Some("has a context that only built-in rules have: use token, text or name".to_owned()),
        }
    }
}
