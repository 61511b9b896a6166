//! `docs/exit-codes.md` is the table in the code.

use crate::support::TestEnv;
use crate::support::project_file;

#[test]
fn the_documented_table_is_the_one_in_the_code() {
    let document = project_file("docs/exit-codes.md");
    let start = "<!-- generated: exit codes -->\n";
    let table =
        document.split(start).nth(1).and_then(|rest| rest.split("<!-- end -->").next()).expect("the marked table");
    assert_eq!(table.trim(), git_oracle::cli::exit_code_table().trim());
}

#[test]
fn each_code_means_what_it_says() {
    let env = TestEnv::under_contract(&["src/"]);
    env.expect(0, &["gate", "--staged"]);
    env.expect(0, &["--version"]);
    env.expect(0, &["gate", "-h"]);
    env.expect(1, &["gate", "--range", "nowhere..HEAD"]);
    env.expect(1, &["contract", "check", "none.json"]);
    env.write("docs/guide.md", "changed\n");
    env.expect(7, &["gate", "--worktree"]);
    env.expect(8, &["contract", "clear"]);
    for args in [
        &["gate"] as &[&str],
        &["nonsense"],
        &["gate", "--staged", "--worktree"],
        &["gate", "--range", "HEAD"],
        &["gate", "--colour"],
    ] {
        env.expect(129, args);
    }
}
