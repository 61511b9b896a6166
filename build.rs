//! Writes the built-in rules about secrets as a table, without their examples: parsing them would be a good part of what a
//! hook has time for.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

const RULES: &str = "policies/secret_rules.json";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={RULES}");
    let file: Value = serde_json::from_slice(&fs::read(RULES)?)?;
    let mut table = format!("static PUBLISHED: &[&str] = &{:?};\n", texts(&file["published"]));
    table.push_str("static BUILT_IN: &[BuiltIn] = &[\n");
    for rule in file["rules"].as_array().ok_or("there are no rules")? {
        let number = |key: &str| rule[key].as_u64();
        let variants = |key: &str, kind: &str| {
            texts(&rule[key]).iter().map(|name| format!("{kind}::{},", camel(name))).collect::<String>()
        };
        writeln!(
            table,
            "BuiltIn {{ id: {:?}, label: {:?}, context: Context::{}, keywords: &{:?}, fold: {}, pattern: {:?}, \
             before: {}, max: {:?}, needs: {:?}, run: {}, names: &{:?}, checks: &[{}] }},",
            rule["id"].as_str().ok_or("a rule has no id")?,
            rule["label"].as_str().ok_or("a rule has no label")?,
            camel(rule["context"].as_str().unwrap_or("token")),
            texts(&rule["keywords"]),
            rule["fold"].as_bool().unwrap_or(false),
            rule["pattern"].as_str(),
            number("before").unwrap_or(0),
            number("max"),
            rule["needs"].as_str(),
            number("run").unwrap_or(0),
            texts(&rule["names"]),
            variants("checks", "Check"),
        )?;
    }
    table.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("secret_rules.rs"), table)?;
    Ok(())
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the name of the variant that is written in `snake_case`.
fn camel(name: &str) -> String {
    let parts = name.split('_').map(|part| part[..1].to_uppercase() + &part[1..]);
    parts.collect()
}
