//! Adding an item to a list in somebody's JSON file, and taking it out again, without touching any other byte.
//!
//! Settings are written by people. Parsing and printing them would lose their order and their layout, so the text is
//! edited where the item goes. A strict parser has read it before, and reads the result.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::PrettyFormatter;

use crate::base::JsonError;
use crate::base::parse_strict;

/// Settings are never longer.
const MAX_BYTES: usize = 1 << 20;

/// Why a settings file cannot be edited.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("it {0}")]
    Json(#[from] JsonError),
    #[error("{place} is not {expected}")]
    Shape { place: String, expected: &'static str },
    #[error("it is not a file of git-oracle")]
    NotOurs,
}

/// Returns the value that a text stands for.
pub(super) fn parse(text: &str) -> Result<Value, EditError> {
    Ok(parse_strict(text.as_bytes(), MAX_BYTES)?)
}

/// Appends an item to the list at `path`, and makes what is missing on the way.
pub(super) fn append(text: &str, path: &[&str], item: &Value) -> Result<String, EditError> {
    let layout = Layout::of(text)?;
    let mut node = &layout.root;
    for (depth, key) in path.iter().enumerate() {
        let place = || path.get(..depth).map(|way| way.join(".")).unwrap_or_default();
        let Items::Members(members) = &node.items else { return Err(shape(&place(), "an object")) };
        match members.iter().find(|(name, _)| name == key) {
            Some((_, member)) => node = &member.value,
            None => {
                let rest = path.get(depth + 1..).unwrap_or_default();
                let value =
                    rest.iter().rev().fold(serde_json::json!([item]), |value, key| serde_json::json!({*key: value}));
                return Ok(layout.insert(node, Some(key), &value));
            }
        }
    }
    match &node.items {
        Items::Elements(_) => Ok(layout.insert(node, None, item)),
        _ => Err(shape(&path.join("."), "a list")),
    }
}

/// Takes the items that are `ours` out of the list at `path`; then what is empty and was made for them.
///
/// `was_there` tells whether the part of `path` up to a length was there before.
pub(super) fn remove(
    text: &str,
    path: &[&str],
    ours: &dyn Fn(&Value) -> bool,
    was_there: &dyn Fn(&[&str]) -> bool,
) -> Result<String, EditError> {
    let mut text = text.to_owned();
    loop {
        let layout = Layout::of(&text)?;
        let Some(list) = layout.at(path) else { return Ok(text) };
        let Items::Elements(elements) = &list.items else { return Ok(text) };
        let is_ours = |span: &Range<usize>| {
            text.get(span.clone()).and_then(|item| parse(item).ok()).is_some_and(|item| ours(&item))
        };
        match elements.iter().position(is_ours) {
            Some(at) => text = layout.cut(list, elements, at),
            None => break,
        }
    }
    for length in (1..=path.len()).rev() {
        let (way, container) = (path.get(..length).unwrap_or_default(), path.get(..length - 1).unwrap_or_default());
        let layout = Layout::of(&text)?;
        let is_empty = layout.at(way).is_some_and(|node| node.items.is_empty());
        let (Some(node), true, false) = (layout.at(container), is_empty, was_there(way)) else { break };
        let Items::Members(members) = &node.items else { break };
        let Some(at) = members.iter().position(|(name, _)| way.last() == Some(&name.as_str())) else { break };
        let spans: Vec<Range<usize>> = members.iter().map(|(_, member)| member.span.clone()).collect();
        text = layout.cut(node, &spans, at);
    }
    Ok(text)
}

fn shape(place: &str, expected: &'static str) -> EditError {
    EditError::Shape { place: if place.is_empty() { "the document".to_owned() } else { place.to_owned() }, expected }
}

/// Where the parts of a text are.
struct Layout<'a> {
    text: &'a str,
    root: Node,
}

struct Node {
    span: Range<usize>,
    items: Items,
}

enum Items {
    Members(Vec<(String, Member)>),
    Elements(Vec<Range<usize>>),
    Scalar,
}

struct Member {
    /// From the key to the end of the value.
    span: Range<usize>,
    value: Node,
}

impl Items {
    fn is_empty(&self) -> bool {
        match self {
            Items::Members(members) => members.is_empty(),
            Items::Elements(elements) => elements.is_empty(),
            Items::Scalar => false,
        }
    }
}

impl<'a> Layout<'a> {
    fn of(text: &'a str) -> Result<Self, EditError> {
        parse(text)?;
        let root = Walker { text: text.as_bytes(), at: 0 }.node();
        Ok(Layout { text, root })
    }

    fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(&self.root, |node, key| match &node.items {
            Items::Members(members) => members.iter().find(|(name, _)| name == key).map(|(_, member)| &member.value),
            _ => None,
        })
    }

    /// Returns the white space that a line with something at `at` begins with; `None` when other things come before it.
    fn indent(&self, at: usize) -> Option<&'a str> {
        let before = self.text.get(..at)?;
        let line = &before[before.rfind('\n')? + 1..];
        line.chars().all(|c| matches!(c, ' ' | '\t')).then_some(line)
    }

    fn insert(&self, container: &Node, key: Option<&str>, value: &Value) -> String {
        let newline = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let first_member = match &self.root.items {
            Items::Members(members) => members.first().and_then(|(_, member)| self.indent(member.span.start)),
            _ => None,
        };
        let unit = first_member.filter(|unit| !unit.is_empty()).unwrap_or("  ");
        let last = match &container.items {
            Items::Members(members) => members.last().map(|(_, member)| member.span.clone()),
            Items::Elements(elements) => elements.last().cloned(),
            Items::Scalar => None,
        };
        let name = key.map(|key| format!("{}: ", Value::from(key))).unwrap_or_default();
        let written = |indent: Option<&str>| match indent {
            Some(indent) => format!("{name}{}", pretty(value, unit).replace('\n', &format!("{newline}{indent}"))),
            None => format!("{name}{value}"),
        };
        let (range, new) = match last {
            Some(last) => {
                let indent = self.indent(last.start);
                let gap = indent.map_or_else(|| " ".to_owned(), |indent| format!("{newline}{indent}"));
                (last.end..last.end, format!(",{gap}{}", written(indent)))
            }
            None => {
                let inside = container.span.start + 1..container.span.end.saturating_sub(1);
                match self.text.contains('\n') {
                    true => {
                        let line =
                            self.text.get(..inside.start).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
                        let outer: String = line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
                        let indent = format!("{outer}{unit}");
                        (inside, format!("{newline}{indent}{}{newline}{outer}", written(Some(&indent))))
                    }
                    false => (inside, written(None)),
                }
            }
        };
        self.replaced(range, &new)
    }

    /// Returns the text without one item; the exact inverse of adding one at the end.
    fn cut(&self, container: &Node, items: &[Range<usize>], at: usize) -> String {
        let start = |at: usize| items.get(at).map_or(container.span.start, |span| span.start);
        let end = |at: usize| items.get(at).map_or(container.span.end, |span| span.end);
        let range = match (items.len(), at) {
            (1, _) => container.span.start + 1..container.span.end.saturating_sub(1),
            (_, 0) => start(0)..start(1),
            _ => end(at - 1)..end(at),
        };
        self.replaced(range, "")
    }

    fn replaced(&self, range: Range<usize>, new: &str) -> String {
        let mut text = self.text.to_owned();
        text.replace_range(range, new);
        text
    }
}

fn pretty(value: &Value, unit: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(unit.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => value.to_string(),
    }
}

/// Finds where things begin and end in a text that is known to be JSON.
struct Walker<'a> {
    text: &'a [u8],
    at: usize,
}

impl Walker<'_> {
    fn peek(&mut self) -> u8 {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or_default()
    }

    fn node(&mut self) -> Node {
        let first = self.peek();
        let start = self.at;
        let items = match first {
            b'{' => Items::Members(self.members()),
            b'[' => Items::Elements(self.elements()),
            _ => {
                self.scalar();
                Items::Scalar
            }
        };
        Node { span: start..self.at, items }
    }

    fn members(&mut self) -> Vec<(String, Member)> {
        let mut members = Vec::new();
        self.at += 1;
        while !matches!(self.peek(), b'}' | 0) {
            let start = self.at;
            self.scalar();
            let key = serde_json::from_slice(self.text.get(start..self.at).unwrap_or_default()).unwrap_or_default();
            self.peek();
            self.at += 1;
            let value = self.node();
            members.push((key, Member { span: start..self.at, value }));
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        members
    }

    fn elements(&mut self) -> Vec<Range<usize>> {
        let mut elements = Vec::new();
        self.at += 1;
        while !matches!(self.peek(), b']' | 0) {
            elements.push(self.node().span);
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        elements
    }

    fn scalar(&mut self) {
        if self.peek() != b'"' {
            let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b':') || byte.is_ascii_whitespace();
            self.at += 1;
            while self.text.get(self.at).is_some_and(|byte| !ends(byte)) {
                self.at += 1;
            }
            return;
        }
        self.at += 1;
        while let Some(byte) = self.text.get(self.at) {
            self.at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == b'"' {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXTS: [&str; 12] = [
        "{\n  \"b\": 1,\n  \"a\": [1, 2]\n}\n",
        "{\n\t\"hooks\": {\n\t\t\"Pre\": [\n\t\t\t{\"x\": 1}\n\t\t]\n\t}\n}",
        "{\"hooks\":{\"Pre\":[{\"x\":1}],\"Post\":[2]},\"z\":0}",
        "{\"a\": 1}\n",
        "{\r\n    \"hooks\": {\r\n        \"Other\": [1]\r\n    }\r\n}\r\n",
        "{}",
        "{}\n",
        "  {\"hooks\" : {\"Pre\":[ 1 , 2 ]} }  ",
        "{\"x\\\"y\": \"}{][,\\\\\", \"hooks\": {\"P\\u0072e\": [null, true, -1.5e3, \"]\"]}}",
        "{\n  \"hooks\": {\n    \"Pre\": [\n      \"a\", \"b\"\n    ]\n  }\n}",
        "{\"hooks\": {}}",
        "{\n  \"hooks\": {}\n}\n",
    ];

    #[test]
    fn an_item_goes_in_and_out_and_nothing_else_changes() {
        let item = json!({"command": "ours", "n": [1]});
        for text in TEXTS {
            let mut expected = parse(text).unwrap();
            let list = expected.as_object_mut().unwrap().entry("hooks").or_insert(json!({}));
            let list = list.as_object_mut().unwrap().entry("Pre").or_insert(json!([]));
            list.as_array_mut().unwrap().push(item.clone());
            let with = append(text, &["hooks", "Pre"], &item).unwrap();
            assert_eq!(parse(&with).unwrap(), expected, "{text}\n{with}");
            let before = parse(text).unwrap();
            let was_there = |path: &[&str]| before.pointer(&format!("/{}", path.join("/"))).is_some();
            let without = remove(&with, &["hooks", "Pre"], &|value| *value == item, &was_there).unwrap();
            assert_eq!(without, text);
        }
    }

    #[test]
    fn what_is_no_list_is_not_touched() {
        for (text, message) in [
            ("{\"hooks\": []}", "hooks is not an object"),
            ("{\"hooks\": {\"Pre\": {}}}", "hooks.Pre is not a list"),
            ("[]", "the document is not an object"),
            ("{\"a\": 1, \"a\": 2}", "it is not valid JSON: the key \"a\" appears twice"),
            ("{ // comment\n}", "it is not valid JSON"),
            ("", "it is not valid JSON"),
        ] {
            let error = append(text, &["hooks", "Pre"], &json!(1)).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn an_item_in_the_middle_is_taken_out_whole() {
        let ours = |value: &Value| *value == json!(0);
        for (text, expected) in [
            ("{\"l\": [0, 1]}", "{\"l\": [1]}"),
            ("{\"l\": [1, 0, 2]}", "{\"l\": [1, 2]}"),
            ("{\"l\": [\n 0,\n 0,\n 2\n]}", "{\"l\": [\n 2\n]}"),
            ("{\"a\": 1, \"l\": [0]}", "{\"a\": 1}"),
            ("{\"l\": [0], \"a\": 1}", "{\"a\": 1}"),
        ] {
            assert_eq!(remove(text, &["l"], &ours, &|_| false).unwrap(), expected);
        }
    }
}
