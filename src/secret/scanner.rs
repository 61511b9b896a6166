//! One pass over bytes.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use crate::secret::Context;
use crate::secret::Finding;
use crate::secret::Rules;
use crate::secret::assignment;
use crate::secret::assignment::Assignment;
use crate::secret::assignment::NameKind;
use crate::secret::check::decode_base64;
use crate::secret::check::digest;
use crate::secret::check::encode_base64;
use crate::secret::check::is_placeholder;
use crate::secret::finding::Lines;
use crate::secret::index::Index;
use crate::secret::index::Target;
use crate::secret::kubernetes;
use crate::secret::pem;
use crate::secret::rule::Rule;
use crate::secret::shape::Shape;
use crate::secret::wide;

/// What a rule needs comes within so many bytes.
const NEAR: usize = 160;

/// Base64 of a token is never longer.
const MAX_ENCODED: usize = 1024;

/// And never shorter.
const MIN_ENCODED: usize = 20;

/// Finds secrets by a set of rules. Making one costs microseconds; it can be shared by threads.
pub struct Scanner {
    rules: Rules,
    index: Index,
    named: Vec<u16>,
    passwords: Option<u16>,
    secrets: Option<u16>,
    encoded: Option<u16>,
}

/// A secret in the bytes that are looked at.
struct Hit {
    range: Range<usize>,
    rule: u16,
    /// Whether the bytes are UTF-16.
    wide: bool,
}

impl Scanner {
    /// Returns the scanner with the built-in rules.
    pub fn built_in() -> Self {
        Scanner::new(Rules::built_in())
    }

    pub fn new(rules: Rules) -> Self {
        let numbered = || rules.rules.iter().zip(0u16..);
        let words = numbered().flat_map(|(rule, number)| {
            rule.keywords.iter().map(move |keyword| (keyword.clone(), rule.fold, Target::Rule(number)))
        });
        let of = |context: Context| numbered().find(|(rule, _)| rule.context == context).map(|(_, number)| number);
        let names = assignment::WORDS.iter().map(|word| (Cow::from(*word), true, Target::Name));
        let tokens = rules.rules.iter().filter(|rule| rule.context == Context::Token && rule.before == 0);
        let encoded = tokens.flat_map(|rule| &rule.keywords).filter(|keyword| keyword.len() >= 3).map(|keyword| {
            // The last digit may depend on what follows.
            let digits = keyword.len() * 8 / 6;
            (Cow::from(encode_base64(keyword.as_bytes())[..digits].to_owned()), false, Target::Encoded)
        });
        let index = Index::new(words.chain(names).chain(encoded));
        let named = numbered().filter(|(rule, _)| rule.context == Context::Name).map(|(_, number)| number).collect();
        let (passwords, secrets, encoded) = (of(Context::Password), of(Context::Secret), of(Context::Encoded));
        Scanner { index, named, passwords, secrets, encoded, rules }
    }

    /// Returns every secret, in the order in which they begin; none overlaps another.
    pub fn scan(&self, bytes: &[u8]) -> Vec<Finding> {
        let mut hits = self.hits(bytes);
        for region in wide::regions(bytes) {
            let text = region.text(bytes);
            hits.extend(self.hits(&text).into_iter().map(|hit| Hit {
                range: region.place(hit.range.start)..region.place(hit.range.end),
                wide: true,
                ..hit
            }));
        }
        let mut lines = Lines::new(bytes);
        self.resolve(hits).into_iter().map(|hit| self.finding(bytes, &mut lines, &hit)).collect()
    }

    /// Tells whether there is any secret.
    pub fn finds(&self, bytes: &[u8]) -> bool {
        !self.hits(bytes).is_empty() || wide::regions(bytes).any(|region| !self.hits(&region.text(bytes)).is_empty())
    }

    fn finding(&self, bytes: &[u8], lines: &mut Lines<'_>, hit: &Hit) -> Finding {
        let rule = self.rule(hit.rule);
        let (line, column) = lines.place(hit.range.start);
        let (end_line, _) = lines.place(hit.range.end);
        let secret = &bytes[hit.range.clone()];
        let prefix = match rule.context {
            Context::Token if rule.before == 0 => rule
                .keywords
                .iter()
                .filter(|keyword| secret.starts_with(keyword.as_bytes()))
                .max_by_key(|keyword| keyword.len()),
            _ => None,
        };
        Finding {
            rule: rule.id.to_string(),
            label: rule.label.to_string(),
            range: hit.range.clone(),
            line,
            column: if hit.wide { column.div_ceil(2) } else { column },
            end_line,
            preview: format!("{}…", prefix.map_or("", |prefix| prefix)),
        }
    }

    fn rule(&self, number: u16) -> &Rule {
        &self.rules.rules[usize::from(number)]
    }

    /// Returns everything that any rule finds.
    fn hits(&self, bytes: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        let mut names = assignment::Reader::new(bytes);
        let mut manifests = kubernetes::Reader::default();
        self.index.each(bytes, |at, length, target| match target {
            Target::Name => {
                if let Some(found) = names.read(at..at + length) {
                    hits.extend(self.judge(bytes, &found));
                }
            }
            Target::Encoded => hits.extend(self.try_encoded(bytes, at)),
            Target::Rule(number) => match self.rule(number).context {
                Context::Pem => hits.extend(pem::find(bytes, at).map(|range| Hit { range, rule: number, wide: false })),
                Context::Kubernetes => hits.extend(manifests.values(bytes, at).into_iter().map(|range| Hit {
                    range,
                    rule: number,
                    wide: false,
                })),
                _ => hits.extend(self.try_rule(bytes, at, length, number)),
            },
        });
        hits
    }

    fn try_rule(&self, bytes: &[u8], at: usize, length: usize, number: u16) -> Option<Hit> {
        let rule = self.rule(number);
        let start = at.saturating_sub(rule.before);
        if rule.context == Context::Token && rule.before == 0 && !begins_here(bytes, at) {
            return None;
        }
        let window = &bytes[start..bytes.len().min(at + rule.reach)];
        if !is_worth_trying(rule, &bytes[..at], &bytes[at..], length) {
            return None;
        }
        let groups = rule.regex()?.captures(window)?;
        let whole = groups.get(0)?.range();
        let secret = groups.get(1).map_or(whole.clone(), |group| group.range());
        let (whole, secret) = (start + whole.start..start + whole.end, start + secret.start..start + secret.end);
        if rule.context == Context::Token {
            let ends = bytes.get(whole.end).is_none_or(|byte| !is_word(*byte));
            if !ends || whole.start > at || whole.end <= at || !begins_here(bytes, whole.start) {
                return None;
            }
        }
        let value = &bytes[secret.clone()];
        let checked = rule.checks.iter().all(|check| check.passes(value, &bytes[secret.end..]));
        (checked && !self.is_harmless(value)).then_some(Hit { range: secret, rule: number, wide: false })
    }

    /// Looks into base64 that may be that of a token.
    fn try_encoded(&self, bytes: &[u8], at: usize) -> Option<Hit> {
        let rest = &bytes[at..bytes.len().min(at + MAX_ENCODED)];
        if !begins_here(bytes, at) || !has_body(rest, MIN_ENCODED) {
            return None;
        }
        let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte);
        let length =
            rest.iter().position(|byte| !is_digit(byte)).or((rest.len() < MAX_ENCODED).then_some(rest.len()))?;
        let found = self.has_token(&decode_base64(&rest[..length])?);
        found.then_some(Hit { range: at..at + length, rule: self.encoded?, wide: false })
    }

    /// Judges a value by the name that it is given to.
    fn judge(&self, bytes: &[u8], found: &Assignment) -> Option<Hit> {
        let value = &bytes[found.value.clone()];
        let rule = self.rule_of(value, found)?;
        (!self.is_harmless(value)).then(|| Hit { range: found.value.clone(), rule, wide: false })
    }

    fn rule_of(&self, value: &[u8], found: &Assignment) -> Option<u16> {
        let shape = Shape::of(value);
        let is_named = |number: &u16| {
            let rule = self.rule(*number);
            value.len() >= rule.run
                && found.is_named(&rule.names)
                && rule.regex().is_some_and(|regex| regex.is_match(value))
                && rule.checks.iter().all(|check| check.passes(value, b""))
        };
        let named = if shape.is_unworded() { self.named.iter().copied().find(is_named) } else { None };
        if named.is_some() {
            return named;
        }
        let decoded = if value.len() >= 16 { decode_base64(value) } else { None };
        if let Some(decoded) = &decoded
            && decoded.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
        {
            // Base64 of a text is as secret as the text.
            let secret =
                self.has_token(decoded) || found.kind == NameKind::Password && Shape::of(decoded).is_password(true);
            return self.encoded.filter(|_| secret);
        }
        match found.kind {
            NameKind::Password if found.is_password(value, &shape) => self.passwords,
            NameKind::Secret if found.is_secret(value, &shape) => self.secrets,
            _ => None,
        }
    }

    /// Tells whether there is a secret that is recognised by itself.
    fn has_token(&self, bytes: &[u8]) -> bool {
        let mut found = false;
        self.index.each(bytes, |at, length, target| {
            if let Target::Rule(number) = target
                && matches!(self.rule(number).context, Context::Token | Context::Text)
            {
                found |= self.try_rule(bytes, at, length, number).is_some();
            }
        });
        found
    }

    fn is_harmless(&self, value: &[u8]) -> bool {
        is_placeholder(value) || self.rules.published.contains(&digest(value).as_str())
    }

    /// Keeps one hit where several overlap: that of the most exact rule.
    fn resolve(&self, mut hits: Vec<Hit>) -> Vec<Hit> {
        let rank = |hit: &Hit| match self.rule(hit.rule).context {
            Context::Pem | Context::Token => 0,
            Context::Text => 1,
            Context::Name | Context::Kubernetes => 2,
            Context::Encoded | Context::Password | Context::Secret => 3,
        };
        hits.sort_by_key(|hit| (hit.range.start, rank(hit), std::cmp::Reverse(hit.range.end)));
        let mut kept: Vec<Hit> = Vec::new();
        for hit in hits {
            match kept.last_mut() {
                Some(last) if hit.range.start < last.range.end => {
                    let range = last.range.start..last.range.end.max(hit.range.end);
                    if rank(&hit) < rank(last) {
                        *last = hit;
                    }
                    last.range = range;
                }
                _ => kept.push(hit),
            }
        }
        kept
    }
}

pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Tells whether what follows a keyword can be what the rule describes, so that its pattern is not compiled for nothing.
fn is_worth_trying(rule: &Rule, before: &[u8], rest: &[u8], keyword: usize) -> bool {
    let near = &rest[keyword..rest.len().min(keyword + NEAR)];
    let run = match rule.context {
        Context::Token if rule.before > 0 => has_body(&before[before.len().saturating_sub(rule.run)..], rule.run),
        Context::Token => has_body(rest, rule.run),
        _ => rule.run == 0 || has_body(near.trim_ascii_start(), rule.run),
    };
    run && rule.needs.as_ref().is_none_or(|needs| memmem::find(near, needs.as_bytes()).is_some())
}

/// Tells whether enough follows a keyword for it to be more than a word.
fn has_body(rest: &[u8], run: usize) -> bool {
    let is_part = |byte: &u8| is_word(*byte) || b"-.+/~:".contains(byte);
    rest.get(..run).is_some_and(|body| body.iter().all(is_part))
}

/// Tells whether a token can begin at a place: not inside of a word, but right after an escape.
fn begins_here(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[at.saturating_sub(12)..at];
    match before {
        [] => true,
        [.., last] if !is_word(*last) => true,
        // \n, \r, \t in a JSON string or in a literal
        [.., b'\\', b'n' | b'r' | b't'] => true,
        // %3D in a URL
        [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => true,
        // \u0022
        [.., b'\\', b'u', a, b, c, d] if [a, b, c, d].iter().all(|byte| byte.is_ascii_hexdigit()) => true,
        // ESC [ 36 m, raw or written as an escape
        [.., b'm'] => {
            let codes = &before[..before.len() - 1];
            let end = codes.iter().rposition(|byte| !matches!(byte, b'0'..=b'9' | b';'));
            end.is_some_and(|end| codes[end] == b'[')
        }
        _ => false,
    }
}
