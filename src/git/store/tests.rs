use std::path::PathBuf;
use std::process::Command;

use proptest::prelude::*;

use super::*;
use crate::git::store::delta::apply_delta;

/// A repository with packed objects (whole ones, deltas, a tag) and loose ones.
struct Sample {
    directory: tempfile::TempDir,
}

impl Sample {
    fn new(hash: &str, repack: &[&str]) -> Self {
        let sample = Sample { directory: tempfile::tempdir().unwrap() };
        sample.git(&["init", "-q", "--object-format", hash]);
        let mut text: Vec<String> =
            (0..400).map(|line| format!("line {line} of a file that changes slowly\n")).collect();
        for round in 0..30 {
            text[round * 7] = format!("round {round}\n");
            std::fs::write(sample.path("slow.txt"), text.concat()).unwrap();
            std::fs::write(sample.path(&format!("file-{round}.txt")), format!("{round}\n")).unwrap();
            sample.git(&["add", "."]);
            sample.git(&["commit", "-q", "-m", &format!("round {round}")]);
        }
        std::fs::write(sample.path("empty"), "").unwrap();
        let noise: Vec<u8> = (0..5000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        std::fs::write(sample.path("binary"), noise).unwrap();
        std::fs::write(sample.path("relative"), [text.concat().as_bytes(), &[0, 0xe2, 1]].concat()).unwrap();
        sample.git(&["add", "."]);
        sample.git(&["commit", "-q", "-m", "more"]);
        sample.git(&["tag", "-a", "-m", "a tag", "v1"]);
        if let Some((first, rest)) = repack.split_first() {
            sample.git(&[&[*first, "-a", "-d", "-f", "-q"], rest].concat());
        }
        std::fs::write(sample.path("loose.txt"), "loose\n").unwrap();
        sample.git(&["add", "."]);
        sample.git(&["commit", "-q", "-m", "loose"]);
        sample
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn git(&self, arguments: &[&str]) -> Vec<u8> {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "gc.auto=0"]).args(arguments);
        command
            .current_dir(self.directory.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
            command.env_remove(name);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    fn objects(&self) -> Vec<(Oid, Kind, u64)> {
        let listed = self.git(&["cat-file", "--batch-all-objects", "--batch-check"]);
        let lines = String::from_utf8(listed).unwrap();
        lines
            .lines()
            .map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                let kind = Kind::from_bytes(words[1].as_bytes()).unwrap();
                (Oid::from_hex(words[0]).unwrap(), kind, words[2].parse().unwrap())
            })
            .collect()
    }

    fn store(&self, hash: HashKind) -> Store {
        Store::new(&self.path(".git/objects"), hash)
    }
}

#[test]
fn every_object_is_found_as_git_shows_it() {
    let variants: [(&str, HashKind, &[&str]); 5] = [
        ("sha1", HashKind::Sha1, &["repack", "--depth=50", "--window=50"]),
        ("sha1", HashKind::Sha1, &["-c", "repack.useDeltaBaseOffset=false", "repack", "--depth=50"]),
        ("sha1", HashKind::Sha1, &["repack", "--write-midx"]),
        ("sha1", HashKind::Sha1, &[]),
        ("sha256", HashKind::Sha256, &["repack", "--depth=50", "--window=50"]),
    ];
    for (format, hash, repack) in variants {
        let sample = match repack {
            ["-c", setting, rest @ ..] => {
                let sample = Sample::new(format, &[]);
                sample.git(&[&["-c", setting], rest, &["-a", "-d", "-f", "-q"]].concat());
                sample
            }
            _ => Sample::new(format, repack),
        };
        let store = sample.store(hash);
        let objects = sample.objects();
        assert!(objects.len() > 90);
        for (id, kind, size) in objects {
            let (found, content) = store.find(&id).unwrap_or_else(|| panic!("{id} is not found ({repack:?})"));
            assert_eq!((found, content.len() as u64), (kind, size), "{id}");
            assert_eq!(*content, sample.git(&["cat-file", &kind.to_string(), &id.to_string()]), "{id}");
            if let Some(hints) = store.blob_hints(&id).filter(|_| kind == Kind::Blob) {
                let real = Hints::of(&content);
                assert!(hints.nul >= real.nul && hints.lead >= real.lead, "{id}");
            }
        }
        assert_eq!(store.find(&Oid::from_bytes(&vec![7; hash.byte_len()]).unwrap()), None);
    }
}

#[test]
fn plain_text_made_of_plain_text_is_known_to_be_plain() {
    let sample = Sample::new("sha1", &["repack", "--depth=50", "--window=50"]);
    let store = sample.store(HashKind::Sha1);
    let listed =
        String::from_utf8(sample.git(&["log", "--format=", "--raw", "--no-abbrev", "--", "slow.txt"])).unwrap();
    let versions = listed.lines().map(|line| Oid::from_hex(line.split(' ').nth(3).unwrap()).unwrap());
    // A version that git made from its binary relative is not known to be plain.
    let plain = versions.filter(|id| store.blob_hints(id) == Some(Hints::default())).count();
    assert!(plain > 0);
    let binary = String::from_utf8(sample.git(&["rev-parse", "HEAD:binary"])).unwrap();
    let hints = store.blob_hints(&Oid::from_hex(binary.trim()).unwrap()).unwrap();
    assert_eq!(hints, Hints { nul: true, lead: true });
}

#[test]
fn a_damaged_store_finds_nothing_or_what_is_there_but_never_panics() {
    let sample = Sample::new("sha1", &["repack", "--depth=50", "--window=50"]);
    let ids: Vec<Oid> = sample.objects().into_iter().map(|(id, _, _)| id).collect();
    let pack_dir = sample.path(".git/objects/pack");
    let files = std::fs::read_dir(&pack_dir).unwrap().map(|entry| entry.unwrap().path());
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension != "rev")) {
        let original = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        for cut in [0, 1, 8, 12, 500, 1040, 2000, original.len() / 2, original.len() - 1] {
            std::fs::write(&path, &original[..cut]).unwrap();
            let store = sample.store(HashKind::Sha1);
            ids.iter().for_each(|id| drop(store.find(id)));
        }
        for seed in 0..200_usize {
            let mut bytes = original.clone();
            for step in 0..4 {
                let at = (seed * 7919 + step * 104_729) % bytes.len();
                bytes[at] ^= 1 << ((seed + step) % 8);
            }
            std::fs::write(&path, &bytes).unwrap();
            let store = sample.store(HashKind::Sha1);
            for id in &ids {
                store.find(id);
                store.blob_hints(id);
            }
        }
        std::fs::write(&path, &original).unwrap();
    }
}

proptest! {
    #[test]
    fn no_delta_panics(base in prop::collection::vec(any::<u8>(), 0..200), delta in prop::collection::vec(any::<u8>(), 0..60)) {
        apply_delta(&base, &delta);
        inserted_hints(&delta);
    }

    #[test]
    fn copies_and_insertions_are_put_together(
        base in prop::collection::vec(any::<u8>(), 1..300),
        parts in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), 1_usize..100), 1..20),
    ) {
        let (mut expected, mut body) = (Vec::new(), Vec::new());
        for (copied, place, length) in parts {
            if copied {
                let start = place.index(base.len());
                let length = length.min(base.len() - start);
                expected.extend_from_slice(&base[start..start + length]);
                body.extend([0x80 | 0x01 | 0x02 | 0x10, start as u8, (start >> 8) as u8, length as u8]);
            } else {
                let inserted: Vec<u8> = (0..length).map(|number| number as u8).collect();
                body.push(length as u8);
                expected.extend_from_slice(&inserted);
                body.extend(inserted);
            }
        }
        let size = |number: usize| [(number & 0x7f) as u8 | 0x80, (number >> 7 & 0x7f) as u8];
        let delta = [&size(base.len())[..], &size(expected.len())[..], &body].concat();
        prop_assert_eq!(apply_delta(&base, &delta), Some(expected.clone()));
        if let Some(made) = apply_delta(&base, &delta) {
            let bound = Hints::of(&base).or(inserted_hints(&delta).unwrap());
            prop_assert!(bound.nul >= Hints::of(&made).nul && bound.lead >= Hints::of(&made).lead);
        }
    }
}
