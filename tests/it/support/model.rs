//! What the documents say about a change, written down in the plainest way: whole listings of trees, compared path by
//! path. It shares nothing with the program.
//!
//! It knows the rules about places, kinds, modes, binary content, links and exact copies. It does not know files that are
//! merely similar, bidirectional controls, unsafe names, unmerged or forged indexes: whoever uses it makes none.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;

use serde_json::Value;
use serde_json::json;

use crate::support::Asked;
use crate::support::Random;
use crate::support::TestEnv;
use crate::support::contract;

/// A contract as far as the model knows it.
#[derive(Debug, Clone)]
pub struct Terms {
    pub allow: Vec<&'static str>,
    pub read_only: bool,
    pub binary: bool,
    pub symlink: bool,
    pub submodule: bool,
    pub mode_change: bool,
}

const ENTRIES: [&str; 9] = [
    "src/",
    "src/",
    "src/parser.rs",
    "src/deep",
    "lib/",
    "docs/guide.md",
    "src/tests/",
    "tests/",
    "src/parser_test.rs",
];

impl Terms {
    pub fn random(random: &mut Random) -> Self {
        let count = 1 + random.below(3);
        let mut allow: Vec<&'static str> = (0..count).map(|_| random.pick(&ENTRIES)).collect();
        allow.sort_unstable();
        allow.dedup();
        Terms {
            allow,
            read_only: random.chance(5),
            binary: random.chance(30),
            symlink: random.chance(30),
            submodule: random.chance(30),
            mode_change: random.chance(70),
        }
    }

    pub fn contract(&self) -> Value {
        let permit = |allowed: bool| if allowed { "allow" } else { "deny" };
        let mut contract = contract(&self.allow);
        contract["diff_policy"] = json!({
            "binary": permit(self.binary),
            "symlink": permit(self.symlink),
            "submodule": permit(self.submodule),
            "mode_change": permit(self.mode_change),
        });
        if self.read_only {
            contract["tool_permissions"]["filesystem"] = json!("read-only");
        }
        contract
    }

    fn covering(&self, path: &str) -> impl Iterator<Item = &&'static str> {
        let path = path.to_owned();
        self.allow.iter().filter(move |entry| {
            let entry = entry.trim_end_matches('/');
            path == entry || path.starts_with(&format!("{entry}/"))
        })
    }

    fn covers(&self, path: &str) -> bool {
        self.covering(path).next().is_some()
    }

    /// Tells whether plain text may change at this path.
    pub fn is_open(&self, path: &str) -> bool {
        self.place(path).is_none()
    }

    /// Returns why nothing may change at this path.
    fn place(&self, path: &str) -> Option<&'static str> {
        if self.read_only {
            return Some("read_only");
        }
        if is_always_protected(path) {
            return Some("protected_path");
        }
        for (is_special, rule) in [(is_test as fn(&str) -> bool, "protected_test"), (is_agent, "protected_path")] {
            if is_special(path) && !self.covering(path).any(|entry| is_special(entry)) {
                return Some(rule);
            }
        }
        (!self.covers(path)).then_some("out_of_scope")
    }
}

fn is_always_protected(path: &str) -> bool {
    let path = path.to_lowercase();
    let secret = |name: &str| {
        name.starts_with(".env") && ![".env.example", ".env.sample", ".env.template", ".env.dist"].contains(&name)
    };
    path.starts_with(".oracle/") || path == ".gitmodules" || path.split('/').any(secret)
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|name| ["tests", "fixtures"].contains(&name) || name.contains("_test."))
}

fn is_agent(path: &str) -> bool {
    path.split('/').any(|name| name == ".claude")
}

/// Mode and object id of every file of a tree.
type Listing = BTreeMap<String, (String, String)>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Link,
    Submodule,
}

fn kind(entry: &(String, String)) -> Kind {
    match entry.0.as_str() {
        "120000" => Kind::Link,
        "160000" => Kind::Submodule,
        _ => Kind::File,
    }
}

pub struct Model<'a> {
    env: &'a TestEnv,
    pub terms: Terms,
    pub baseline: String,
    blobs: RefCell<HashMap<String, String>>,
    listings: RefCell<HashMap<String, Listing>>,
}

impl<'a> Model<'a> {
    pub fn new(env: &'a TestEnv, terms: Terms) -> Self {
        Model { env, terms, baseline: env.head(), blobs: RefCell::default(), listings: RefCell::default() }
    }

    /// Returns what is wrong with what a hook was asked about.
    pub fn violations(&self, asked: &Asked) -> Vec<String> {
        if asked.hook != "reference-transaction" {
            return self.compare(&self.listings(&asked.parents), &self.listing(&asked.tree));
        }
        let mut tips = Vec::new();
        for line in &asked.input {
            let fields: Vec<&str> = line.splitn(3, ' ').collect();
            let is_branch = fields[2] == "HEAD" || fields[2].starts_with("refs/heads/");
            if is_branch && !fields[1].starts_with("ref:") && fields[1].contains(|digit| digit != '0') {
                tips.push(fields[1].to_owned());
            }
        }
        let mut found = Vec::new();
        for tip in tips {
            let commits = self.new_commits(&tip, &asked.known);
            for commit in &commits {
                found.extend(self.commit_violations(commit));
            }
            if !commits.is_empty() {
                let parents: BTreeSet<String> = commits.iter().flat_map(|commit| self.parents(commit)).collect();
                let outside: Vec<String> = parents.into_iter().filter(|parent| !commits.contains(parent)).collect();
                let net = self.compare(&self.listings(&outside), &self.listing(&tip));
                found.extend(net.into_iter().map(|violation| format!("in all {violation}")));
            }
        }
        found
    }

    /// Returns the commits that `tip` reaches and `known` does not.
    pub fn new_commits(&self, tip: &str, known: &[String]) -> Vec<String> {
        let mut args = vec!["rev-list", tip, "--not"];
        args.extend(known.iter().map(String::as_str));
        // A baseline that no ref reaches any more may be gone; then it says nothing.
        if self.env.sh(&format!("git cat-file -e {}", self.baseline)).code == 0 {
            args.push(&self.baseline);
        }
        self.env.git(&args).lines().map(str::to_owned).collect()
    }

    /// Returns what a commit has that none of its parents has and that it must not have.
    pub fn commit_violations(&self, commit: &str) -> Vec<String> {
        let found = self.compare(&self.listings(&self.parents(commit)), &self.listing(commit));
        found.into_iter().map(|violation| format!("{commit} {violation}")).collect()
    }

    fn parents(&self, commit: &str) -> Vec<String> {
        let line = self.env.git(&["rev-list", "-1", "--parents", commit]);
        line.split(' ').skip(1).map(str::to_owned).collect()
    }

    fn compare(&self, olds: &[Listing], new: &Listing) -> Vec<String> {
        let nothing = [Listing::new()];
        let olds = if olds.is_empty() { &nothing } else { olds };
        let paths: BTreeSet<&String> = olds.iter().chain([new]).flat_map(Listing::keys).collect();
        let mut found = Vec::new();
        for path in paths {
            let (now, mut before) = (new.get(path), olds.iter().filter_map(|old| old.get(path)));
            if olds.iter().any(|old| old.get(path) == now) {
                continue;
            }
            let rules = match self.terms.place(path) {
                Some(rule) => vec![rule],
                None => self.inside(path, before.next(), now, olds, new),
            };
            found.extend(rules.iter().map(|rule| format!("{path} {rule}")));
        }
        found
    }

    /// Returns what is wrong with a change inside the scope.
    fn inside(
        &self,
        path: &str,
        old: Option<&(String, String)>,
        new: Option<&(String, String)>,
        olds: &[Listing],
        tree: &Listing,
    ) -> Vec<&'static str> {
        let terms = &self.terms;
        let sides = [old, new].into_iter().flatten();
        let permitted = |kind: Kind| match kind {
            Kind::File => true,
            Kind::Link => terms.symlink,
            Kind::Submodule => terms.submodule,
        };
        let mut found = Vec::new();
        if sides.clone().any(|side| !permitted(kind(side))) {
            found.push("symlink, submodule or type_change");
        }
        if terms.symlink && new.is_some_and(|new| kind(new) == Kind::Link) && !self.leads_inside(path, tree) {
            found.push("symlink_escape");
        }
        if let (Some(old), Some(new)) = (old, new)
            && !terms.mode_change
            && kind(old) == Kind::File
            && kind(new) == Kind::File
            && old.0 != new.0
        {
            found.push("mode_change");
        }
        if old.map(|old| &old.1) == new.map(|new| &new.1) {
            return found;
        }
        let mut files = sides.filter(|side| kind(side) == Kind::File);
        if !terms.binary && files.any(|side| self.blob(&side.1).contains('\0')) {
            found.push("binary");
        }
        // What is put over a file that was there is an edit of that file.
        let added = new.filter(|new| old.is_none() && kind(new) == Kind::File && !self.blob(&new.1).is_empty());
        if let Some(new) = added {
            let mut with_content =
                olds.iter().flatten().filter(|(_, file)| kind(file) == Kind::File && file.1 == new.1);
            let (inside, outside): (Vec<_>, Vec<_>) = with_content.by_ref().partition(|(path, _)| terms.covers(path));
            if inside.is_empty() && !outside.is_empty() {
                found.push("rename_source or copy_source");
            }
        }
        found
    }

    /// Tells whether a link leads to something that is open. Only files are links here, never directories.
    fn leads_inside(&self, path: &str, tree: &Listing) -> bool {
        let mut path = path.to_owned();
        for _ in 0..40 {
            let Some(link) = tree.get(&path).filter(|entry| kind(entry) == Kind::Link) else {
                return self.terms.covers(&path) && !is_always_protected(&path);
            };
            let target = self.blob(&link.1);
            let mut parts: Vec<&str> = path.split('/').collect();
            parts.pop();
            for part in target.split('/') {
                match part {
                    ".." if parts.pop().is_none() => return false,
                    ".." => {}
                    "" => return false,
                    part => parts.push(part),
                }
            }
            path = parts.join("/");
        }
        false
    }

    fn listings(&self, revisions: &[String]) -> Vec<Listing> {
        revisions.iter().map(|revision| self.listing(revision)).collect()
    }

    fn listing(&self, revision: &str) -> Listing {
        if let Some(listing) = self.listings.borrow().get(revision) {
            return listing.clone();
        }
        let mut listing = Listing::new();
        for line in self.env.git(&["ls-tree", "-r", "-z", "--full-tree", revision]).split_terminator('\0') {
            let (entry, path) = line.split_once('\t').expect("a line of ls-tree has a path");
            let fields: Vec<&str> = entry.split(' ').collect();
            listing.insert(path.to_owned(), (fields[0].to_owned(), fields[2].to_owned()));
        }
        self.listings.borrow_mut().insert(revision.to_owned(), listing.clone());
        listing
    }

    fn blob(&self, id: &str) -> String {
        let mut blobs = self.blobs.borrow_mut();
        blobs.entry(id.to_owned()).or_insert_with(|| self.env.git(&["cat-file", "blob", id])).clone()
    }
}
