//! Mutations of a valid contract: an answer for each, and whatever is accepted keeps the promises of a contract.

use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use crate::base::HashKind;
use crate::base::Oid;
use crate::contract::Contract;
use crate::contract::Problem;
use crate::contract::Registry;
use crate::contract::Scaffold;
use crate::contract::Surroundings;
use crate::contract::path_problem;
use crate::contract::validate;
use crate::contract::widenings;

fn whole() -> Value {
    let file = Scaffold {
        task: "Change the parser".to_owned(),
        allow: vec!["src/parser/".to_owned(), "docs/guide.md".to_owned()],
        tests: vec!["cargo test".to_owned()],
        baseline_commit_id: Oid::null(HashKind::Sha1),
        created_at: "2026-01-01T00:00:00.000Z".to_owned(),
    }
    .contract();
    let mut value = serde_json::to_value(file).unwrap();
    value["diff_policy"] =
        json!({"binary": "deny", "symlink": ["src/parser/links/"], "protected_extra": ["*.sql"], "locks": "exclusive"});
    value["browser_policy"] = json!({"profile_mode": "ephemeral", "stealth_mode": "none"});
    value["runtime_options"] = json!({"runner": "codex", "strict_acceptance": true});
    value["handoff_chain"] = json!({"enabled": true, "roles": ["WORKER", "REVIEWER"], "max_handoffs": 2});
    value
}

fn checked(value: &Value) -> Result<(Contract, Vec<Problem>), Vec<Problem>> {
    validate(value.to_string().as_bytes(), &Surroundings { registry: &Registry::embedded(), file: &|_| None })
}

/// Returns the pointers to every place in a document.
fn places(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, field)| places(field, format!("{at}/{key}"), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| places(item, format!("{at}/{index}"), found))
        }
        _ => {}
    }
    found.push(at);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop_oneof![
            Just("*"),
            Just("."),
            Just("../x"),
            Just("src/"),
            Just("allow"),
            Just("deny"),
            Just("never"),
            Just("a; b")
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z_]{1,8}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

#[derive(Debug, Clone)]
enum Mutation {
    Replace(Value),
    Remove,
    Add(String, Value),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        any_json().prop_map(Mutation::Replace),
        Just(Mutation::Remove),
        ("[a-z_]{1,10}", any_json()).prop_map(|(key, value)| Mutation::Add(key, value)),
    ]
}

fn mutate(value: &mut Value, place: &str, mutation: Mutation) {
    match mutation {
        Mutation::Replace(new) => *value.pointer_mut(place).unwrap() = new,
        Mutation::Remove => {
            let Some((parent, key)) = place.rsplit_once('/') else { return };
            match value.pointer_mut(parent).unwrap() {
                Value::Object(fields) => drop(fields.remove(key)),
                Value::Array(items) => drop(items.remove(key.parse().unwrap())),
                _ => {}
            }
        }
        Mutation::Add(key, new) => {
            if let Some(fields) = value.pointer_mut(place).unwrap().as_object_mut() {
                fields.insert(key, new);
            }
        }
    }
}

#[test]
fn the_whole_contract_is_valid_and_no_wider_than_itself() {
    let (contract, warnings) = checked(&whole()).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(widenings(&contract, &contract, &|_| Some("a test")), [] as [String; 0]);
}

proptest! {
    #[test]
    fn whatever_is_accepted_keeps_the_promises(choice in any::<prop::sample::Index>(), mutation in mutation()) {
        let mut value = whole();
        let mut all = Vec::new();
        places(&value, String::new(), &mut all);
        let place = choice.get(&all).clone();
        mutate(&mut value, &place, mutation);
        match checked(&value) {
            Ok((contract, _)) => {
                let file = &contract.file;
                prop_assert!(!file.allowed_paths.is_empty());
                prop_assert!(file.allowed_paths.iter().all(|entry| path_problem(entry).is_none()));
                prop_assert!(file.acceptance_tests.iter().any(|test| test.must_pass));
                prop_assert!(file.acceptance_tests.iter().all(|test| shlex::split(&test.cmd).is_some_and(|words| !words.is_empty())));
                // Reading it again without the checks gives the same contract: that is what hooks do.
                let again = Contract::from_pinned(value.to_string().as_bytes()).unwrap();
                prop_assert_eq!(again, contract);
            }
            Err(problems) => {
                prop_assert!(problems.iter().any(Problem::is_error));
                for problem in &problems {
                    prop_assert!(problem.pointer.is_empty() || problem.pointer.starts_with('/'), "{}", problem.pointer);
                    prop_assert!(!problem.message.chars().any(char::is_control), "{:?}", problem.message);
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = validate(&bytes, &Surroundings { registry: &Registry::embedded(), file: &|_| None });
    }
}
