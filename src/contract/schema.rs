//! The embedded JSON schemas, and their verdict in words that help.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::base::nearest;
use crate::base::visible;
use crate::contract::Problem;

/// The schemas that a contract can bind its output to, and the contract's own.
const EMBEDDED: [(&str, &str); 6] = [
    ("task_contract.v1.json", include_str!("../../schemas/task_contract.v1.json")),
    ("agent_registry.v1.json", include_str!("../../schemas/agent_registry.v1.json")),
    ("agent_task_result.v1.json", include_str!("../../schemas/agent_task_result.v1.json")),
    ("review_report.v1.json", include_str!("../../schemas/review_report.v1.json")),
    ("task_result.v1.json", include_str!("../../schemas/task_result.v1.json")),
    ("test_report.v1.json", include_str!("../../schemas/test_report.v1.json")),
];

/// Returns the text of an embedded schema by its file name.
pub fn embedded_schema(name: &str) -> Option<&'static str> {
    EMBEDDED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Returns everything in `value` that the embedded schema `name` does not allow.
pub fn schema_problems(name: &str, value: &Value) -> Vec<Problem> {
    let text = embedded_schema(name).expect("only embedded schemas are asked for");
    let schema: Value = serde_json::from_str(text).expect("embedded schemas are JSON, a test reads each");
    let validator = jsonschema::draft202012::new(&schema).expect("embedded schemas compile, a test compiles each");
    validator.iter_errors(value).flat_map(|error| explain(&error, &schema)).collect()
}

fn explain(error: &ValidationError<'_>, schema: &Value) -> Vec<Problem> {
    let at = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let known = properties_beside(schema, error.schema_path().as_str());
            let explain_one = |name: &String| {
                let hint = match nearest(name, known.iter().map(String::as_str)) {
                    Some(known) => format!("Did you mean `{known}`?"),
                    None => format!("The fields known here are {}.", known.join(", ")),
                };
                let shown = visible(name);
                Problem::error(format!("{at}/{}", escape(name)), format!("the field `{shown}` is not known"))
                    .hinted(hint)
            };
            unexpected.iter().map(explain_one).collect()
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let hint = "`git oracle contract new` writes a complete contract.";
            vec![Problem::error(format!("{at}/{name}"), format!("the field `{name}` is missing")).hinted(hint)]
        }
        ValidationErrorKind::Enum { options } => {
            let words: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let found = error.instance().as_str().unwrap_or_default();
            let hint = match nearest(found, words.iter().copied()) {
                Some(word) => format!("Did you mean `{word}`? The choices are {}.", words.join(", ")),
                None => format!("The choices are {}.", words.join(", ")),
            };
            vec![Problem::error(at, format!("{} is not one of the choices", short(error.instance()))).hinted(hint)]
        }
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            vec![
                Problem::error(at, format!("{} fits none of the forms", short(error.instance())))
                    .hinted("Write \"deny\", \"allow\" or a list of paths."),
            ]
        }
        ValidationErrorKind::Type { .. }
        | ValidationErrorKind::MinLength { .. }
        | ValidationErrorKind::MinItems { .. }
        | ValidationErrorKind::Minimum { .. }
        | ValidationErrorKind::Maximum { .. }
        | ValidationErrorKind::Pattern { .. } => {
            let message = error.masked_with(short(error.instance())).to_string();
            vec![Problem::error(at, visible(&message).into_owned())]
        }
        _ => vec![Problem::error(at, visible(&error.to_string()).into_owned())],
    }
}

/// Returns the names that the schema object around a keyword defines.
fn properties_beside(schema: &Value, schema_path: &str) -> Vec<String> {
    let parent = schema_path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let properties = schema.pointer(parent).and_then(|object| object.get("properties")).and_then(Value::as_object);
    properties.map(|names| names.keys().cloned().collect()).unwrap_or_default()
}

/// Returns a value as it may stand in a message: short and on one line.
fn short(value: &Value) -> String {
    let text = visible(&value.to_string()).into_owned();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Escapes a field name for a JSON pointer.
fn escape(name: &str) -> String {
    visible(&name.replace('~', "~0").replace('/', "~1")).into_owned()
}
