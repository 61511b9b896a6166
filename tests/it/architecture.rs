//! The map of the rooms, read back from the imports.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

/// Who may import whom. `docs/architecture.md` explains it.
const ROOMS: [(&str, &[&str]); 15] = [
    ("base", &[]),
    ("agent", &["base"]),
    ("change", &["base"]),
    ("contract", &["base"]),
    ("policy", &["base"]),
    ("secret", &["base"]),
    ("patch", &["base", "change"]),
    ("bundle", &["base", "secret"]),
    ("gate", &["base", "change", "contract", "policy"]),
    ("system", &["base"]),
    ("git", &["base", "change", "system"]),
    ("transport", &["base", "system"]),
    ("evidence", &["base", "system"]),
    (
        "flows",
        &[
            "base",
            "agent",
            "change",
            "contract",
            "policy",
            "secret",
            "patch",
            "bundle",
            "gate",
            "system",
            "git",
            "transport",
            "evidence",
        ],
    ),
    ("cli", &["base", "agent", "change", "contract", "secret", "patch", "bundle", "gate", "system", "flows"]),
];

fn source_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => files.extend(source_files(&entry.path())),
            false if entry.path().extension().is_some_and(|extension| extension == "rs") => files.push(entry.path()),
            false => {}
        }
    }
    files
}

#[test]
fn rooms_import_only_what_the_map_allows() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (room, allowed) in ROOMS {
        for file in source_files(&source.join(room)) {
            let text = std::fs::read_to_string(&file).unwrap();
            for (number, line) in text.lines().enumerate() {
                for imported in line.split("crate::").skip(1) {
                    let name: String = imported.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                    let known = ROOMS.iter().any(|(room, _)| *room == name);
                    assert!(
                        !known || name == room || allowed.contains(&name.as_str()),
                        "{}:{}: {room} may not import {name}",
                        file.display(),
                        number + 1
                    );
                }
                assert!(
                    !line.starts_with("use crate::") || !line.contains('{'),
                    "{}: one import per line",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn every_room_is_on_the_map_and_in_the_list() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let on_disk: BTreeSet<String> = std::fs::read_dir(&source)
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let on_map: BTreeSet<String> = ROOMS.iter().map(|(room, _)| (*room).to_owned()).collect();
    assert_eq!(on_disk, on_map);
    let list = std::fs::read_to_string(source.join("lib.rs")).unwrap();
    let listed: BTreeSet<String> =
        list.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).map(str::to_owned).collect();
    assert_eq!(listed, on_map);
}
