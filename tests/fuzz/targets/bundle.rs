//! Patterns, names and contents of files that somebody packs.
#![no_main]

#[path = "../../it/support/unzip.rs"]
mod unzip;

use std::sync::LazyLock;

use git_oracle::base::RepoPath;
use git_oracle::base::parse_size;
use git_oracle::bundle::Filters;
use git_oracle::bundle::Format;
use git_oracle::bundle::Limits;
use git_oracle::bundle::Packer;
use git_oracle::bundle::Preparer;
use git_oracle::bundle::Selection;
use git_oracle::secret::Scanner;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<String>, Vec<String>, Vec<(Vec<u8>, Vec<u8>)>)| {
    let (patterns, excluded, files) = input;
    for text in &patterns {
        let _ = parse_size(text);
    }
    if let Ok(selection) = Selection::parse(&patterns, &excluded) {
        for (path, _) in &files {
            let path = RepoPath::new(path.clone());
            // A directory that is not walked hides nothing that is meant.
            if selection.takes(&path) {
                let ends = path.as_bytes().iter().enumerate().filter(|(_, byte)| **byte == b'/');
                ends.for_each(|(at, _)| assert!(selection.reaches(&path.as_bytes()[..at])));
            }
            let _ = selection.is_excluded(&path);
        }
    }
    static SCANNER: LazyLock<Scanner> = LazyLock::new(Scanner::built_in);
    for format in [Format::Text, Format::Zip] {
        let mut packer = Packer::new(format, Limits { file: 1000, total: 5000 }, &SCANNER);
        let mut preparer = Preparer::new(format, &SCANNER);
        for (path, content) in &files {
            let path = RepoPath::new(path.clone());
            match preparer.prepare(&path, content.clone()) {
                Ok(prepared) => packer.add(&path, prepared).expect("they are few"),
                Err(refused) => packer.exclude(path, refused),
            }
        }
        let filters = Filters { include: patterns.clone(), exclude: excluded.clone(), max_file_size: 0, max_total_size: 0 };
        let package = packer.finish(filters);
        assert_eq!(package.manifest.files.len() + package.exclusions.len(), files.len());
        assert!(package.manifest.total_bytes <= 5000);
        let mut out = Vec::new();
        package.write_to(&mut out).expect("memory takes everything");
        if format == Format::Zip {
            let read = unzip::read_back(&out);
            for (file, (name, content)) in package.manifest.files.iter().zip(&read[3..]) {
                assert_eq!(*name, format!("oracle-context-package/files/{}", file.path));
                assert_eq!(content.len() as u64, file.bytes);
                assert!(!name.split('/').any(|part| matches!(part, "" | "." | ".." | ".git")) && !name.contains('\\'));
            }
        } else {
            assert!(std::str::from_utf8(&out).is_ok());
        }
    }
});
