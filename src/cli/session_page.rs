//! A session as one HTML page: everything inside, nothing that runs, no address outside.
//!
//! What came from a model, a page or a repository is text here and never markup: each value passes through [`escaped`].

use std::fmt::Write;

use data_encoding::BASE64;
use serde_json::Value;

use crate::base::visible;
use crate::cli::session::facts;
use crate::cli::session::turns;
use crate::flows::session::Excerpt;
use crate::flows::session::Story;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1c1e21}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid #d0d4da}\
table{border-collapse:collapse}td,th{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top}th{color:#5b6470;font-weight:500}\
pre{background:#f5f6f8;padding:.8rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}\
.agreed,.passed,.success{color:#11703a}.rejected,.failed,.timeout,.error{color:#b02020}\
.add{color:#11703a}.del{color:#b02020}img{max-width:100%;border:1px solid #d0d4da}summary{cursor:pointer}details{margin-top:1.2rem}\
summary h2{display:inline;border:0}\
@media(prefers-color-scheme:dark){body{background:#16181c;color:#dfe3e8}pre{background:#22262c}th{color:#98a2b0}}";

/// Returns the page.
pub(super) fn page(story: &Story) -> String {
    let mut page = String::new();
    // Writing to a text never fails.
    let _ = write_page(&mut page, story);
    page
}

fn write_page(page: &mut String, story: &Story) -> std::fmt::Result {
    let slug = escaped(&story.session.slug);
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{slug}</title><style>{STYLE}</style></head><body>\n\
         <h1>{slug}</h1>\n<table>\n"
    )?;
    for (name, value) in facts(&story.session, story.result.as_ref()) {
        let class = if name == "status" { format!(" class=\"{}\"", escaped(&value)) } else { String::new() };
        writeln!(page, "<tr><th>{name}</th><td{class}>{}</td></tr>", escaped(&value))?;
    }
    page.push_str("</table>\n");
    let turns = turns(&story.session);
    if !turns.is_empty() {
        page.push_str("<h2>Turns</h2>\n<pre>");
        for line in turns.iter().flatten() {
            writeln!(page, "{}", escaped(line))?;
        }
        page.push_str("</pre>\n");
    }
    if let Some(result) = &story.result {
        write_hunks(page, list(result, "hunks"))?;
        write_tests(page, list(result, "tests"))?;
        write_violations(page, list(&result["gate"], "violations"))?;
    }
    if let Some(metrics) = story.metrics.as_ref().and_then(Value::as_object) {
        let known: Vec<_> =
            MEASURES.iter().filter_map(|(name, words)| Some((name, words, metrics.get(*name)?.as_u64()?))).collect();
        if !known.is_empty() {
            page.push_str("<h2>Timing and counts</h2>\n<table>\n");
            for (name, words, value) in known {
                let unit = if name.ends_with("Ms") { " ms" } else { "" };
                let unit = if name.ends_with("Bytes") { " bytes" } else { unit };
                writeln!(page, "<tr><th>{words}</th><td>{value}{unit}</td></tr>")?;
            }
            page.push_str("</table>\n");
        }
    }
    for text in &story.texts {
        write_text(page, text)?;
    }
    for (name, bytes) in &story.pictures {
        let (name, data) = (escaped(name), BASE64.encode(bytes));
        writeln!(page, "<h2>{name}</h2>\n<img alt=\"{name}\" src=\"data:image/png;base64,{data}\">")?;
    }
    page.push_str("</body></html>\n");
    Ok(())
}

/// The measures in the order in which things happen; `metrics.json` has them sorted by name.
const MEASURES: [(&str, &str); 14] = [
    ("startMs", "browser started"),
    ("readyMs", "page ready"),
    ("typeMs", "typed"),
    ("firstTokenMs", "first word"),
    ("streamMs", "answer"),
    ("quietMs", "quiet until the end was sure"),
    ("captureMs", "captured"),
    ("extractMs", "patch found and judged"),
    ("testMs", "tests"),
    ("applyMs", "brought in"),
    ("mutations", "changes of the page"),
    ("promptBytes", "size of the prompt"),
    ("responseBytes", "size of the answer"),
    ("attachments", "attachments"),
];

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

fn write_hunks(page: &mut String, hunks: &[Value]) -> std::fmt::Result {
    if hunks.is_empty() {
        return Ok(());
    }
    page.push_str("<h2>Hunks</h2>\n<table>\n<tr><th>verdict</th><th>file</th><th>hunk</th><th>why, and what was mended</th></tr>\n");
    for hunk in hunks {
        let notes: Vec<String> = list(hunk, "reasons")
            .iter()
            .map(cell)
            .chain(list(hunk, "mends").iter().map(|mend| format!("mended: {}", cell(mend))))
            .collect();
        let verdict = cell(&hunk["verdict"]);
        writeln!(
            page,
            "<tr><td class=\"{verdict}\">{verdict}</td><td>{}</td><td><code>{}</code></td><td>{}</td></tr>",
            cell(&hunk["file"]),
            cell(&hunk["header"]),
            notes.join("<br>")
        )?;
    }
    page.push_str("</table>\n");
    Ok(())
}

fn write_tests(page: &mut String, tests: &[Value]) -> std::fmt::Result {
    if tests.is_empty() {
        return Ok(());
    }
    page.push_str("<h2>Tests</h2>\n<table>\n");
    for test in tests {
        let status = cell(&test["status"]);
        writeln!(page, "<tr><td class=\"{status}\">{status}</td><td>{}</td></tr>", cell(&test["name"]))?;
    }
    page.push_str("</table>\n");
    Ok(())
}

fn write_violations(page: &mut String, violations: &[Value]) -> std::fmt::Result {
    if violations.is_empty() {
        return Ok(());
    }
    page.push_str("<h2>What the gate said</h2>\n<table>\n");
    for violation in violations {
        let [path, rule, message] = ["path", "rule", "message"].map(|field| cell(&violation[field]));
        writeln!(page, "<tr><td>{path}</td><td>{rule}</td><td>{message}</td></tr>")?;
    }
    page.push_str("</table>\n");
    Ok(())
}

fn write_text(page: &mut String, text: &Excerpt) -> std::fmt::Result {
    // What a person came for is open; the rest is a click away.
    let open = if text.name.ends_with(".md") || text.name == "diff.patch" { " open" } else { "" };
    let cut = if text.is_cut { " (its beginning)" } else { "" };
    write!(page, "<details{open}><summary><h2>{}{cut}</h2></summary><pre>", escaped(&text.name))?;
    // In an answer the patch stands in a fence.
    let mut is_patch = text.name.ends_with(".patch");
    for line in text.text.lines() {
        let shown = escaped(line);
        if text.name.ends_with(".md") && line.starts_with("```") {
            is_patch = !is_patch && line.trim_start_matches('`').starts_with("diff");
        }
        match line.as_bytes().first() {
            Some(b'+') if is_patch => writeln!(page, "<span class=\"add\">{shown}</span>")?,
            Some(b'-') if is_patch => writeln!(page, "<span class=\"del\">{shown}</span>")?,
            _ => writeln!(page, "{shown}")?,
        }
    }
    page.push_str("</pre></details>\n");
    Ok(())
}

fn cell(value: &Value) -> String {
    escaped(value.as_str().unwrap_or_default())
}

/// Returns a text that is markup nowhere: not in an element, not in an attribute.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_text_becomes_markup(text in ".*") {
            let safe = escaped(&text);
            let markup = |character: char| "<>\"'\u{1b}\u{202e}".contains(character);
            prop_assert!(!safe.contains(markup));
        }
    }
}
