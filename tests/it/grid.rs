//! Remote browsers: a real Selenium Grid, where `GIT_ORACLE_GRID` names one, such as http://127.0.0.1:4744, and a driver
//! that is none of ours.

use std::time::Duration;
use std::time::Instant;

use git_oracle::transport::Browser;
use git_oracle::transport::Enclosure;
use git_oracle::transport::FaultKind;
use git_oracle::transport::Target;
use git_oracle::transport::driver::Endpoint;
use git_oracle::transport::driver::Launch;
use git_oracle::transport::end_remote_session;
use git_oracle::transport::rehearsal::Rehearsal;
use git_oracle::transport::rehearsal::Reply;
use git_oracle::transport::rehearsal::Script;
use serde_json::Value;
use serde_json::json;

use crate::ask_kill::await_step;
use crate::ask_kill::steps;
use crate::browser::LIMIT;
use crate::browser::PAGE;
use crate::browser::RemoteDriver;
use crate::browser::serve;
use crate::browser_ends::browsers_of;
use crate::browser_ends::send;
use crate::support::TestEnv;
use crate::support::unzip;

/// Returns the grid that is there, or says that nothing was run.
#[expect(clippy::print_stderr, reason = "nobody should have to ask what was not run")]
fn grid() -> Option<Endpoint> {
    let address = std::env::var("GIT_ORACLE_GRID").ok();
    if address.is_none() {
        eprintln!("NOT RUN: GIT_ORACLE_GRID names no Selenium Grid");
    }
    address.map(|address| Endpoint::parse(&address).unwrap())
}

/// Returns how many sessions the nodes have.
fn sessions(grid: &Endpoint) -> usize {
    let address = grid.to_string();
    let address = address.trim_start_matches("http://").trim_end_matches('/');
    let status: Value = serde_json::from_str(&crate::browser_ends::http_get(address, "/status")).unwrap();
    let nodes = status["value"]["nodes"].as_array().unwrap();
    let slots = nodes.iter().flat_map(|node| node["slots"].as_array().unwrap());
    slots.filter(|slot| !slot["session"].is_null()).count()
}

fn expect_free(grid: &Endpoint) {
    let started = Instant::now();
    while sessions(grid) > 0 {
        assert!(started.elapsed() < Duration::from_secs(40), "{} sessions are left", sessions(grid));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_session_on_a_grid_gets_files_and_ends_in_every_way() {
    let Some(grid) = grid() else { return };
    let browser = Browser::start(&Launch::remote(grid.clone())).unwrap();
    assert_eq!(sessions(&grid), 1);
    browser.goto(&serve(PAGE), LIMIT).unwrap();
    let file = Enclosure { name: "notes.txt", bytes: b"content\n" };
    browser.set_files(Target::Css("#file"), &[file]).unwrap();
    let script = "const done = arguments[arguments.length - 1];
        document.querySelector('#file').files[0].text().then(text => done({text}))";
    assert_eq!(browser.wait_in_page(script, &[], LIMIT).unwrap(), json!({"text": "content\n"}));
    assert!(browser.screenshot().unwrap().starts_with(b"\x89PNG"));
    drop(browser);
    expect_free(&grid);

    // One that is busy when it is given up.
    let browser = Browser::start(&Launch::remote(grid.clone())).unwrap();
    browser.goto(&serve(PAGE), LIMIT).unwrap();
    let fault = browser.wait_in_page("", &[], Duration::from_millis(100)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::BrowserCrashed);
    drop(browser);
    expect_free(&grid);

    // One whose run is asked to stop while an answer is waited for.
    let (env, endless) = (TestEnv::new(), Reply { start_ms: 3_600_000, ..Reply::of(ANSWER) });
    let page = Rehearsal::start(Script { replies: vec![endless], ..Script::default() }).unwrap();
    let mut stopped = start(&env, &page, &grid, "stopped", &[]);
    await_step(&env, &mut stopped, "stopped", "committed");
    let asked = Instant::now();
    send("-INT", stopped.id());
    assert_eq!(stopped.wait().unwrap().code(), Some(130));
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    expect_free(&grid);
    assert_eq!(steps(&env, "stopped").last().unwrap(), "released");

    // One whose run is gone: the next one ends it by what the first one kept.
    let browser = Browser::start(&Launch::remote(grid.clone())).unwrap();
    let (kept, id) = browser.remote_session().unwrap();
    std::mem::forget(browser);
    end_remote_session(&kept, &id).unwrap();
    expect_free(&grid);
    end_remote_session(&kept, &id).unwrap();
}

#[test]
fn twenty_at_once_take_turns_and_none_is_mixed_up() {
    let Some(grid) = grid() else { return };
    std::thread::scope(|scope| {
        for number in 0..20 {
            let grid = grid.clone();
            scope.spawn(move || {
                let browser = Browser::start(&Launch::remote(grid)).unwrap();
                browser.goto(&serve(PAGE), LIMIT).unwrap();
                browser.execute("window.mine = arguments[0]", &[json!(number)]).unwrap();
                let script =
                    "const done = arguments[arguments.length - 1]; setTimeout(() => done({mine: window.mine}), 500)";
                assert_eq!(browser.wait_in_page(script, &[], LIMIT).unwrap(), json!({"mine": number}));
            });
        }
    });
    expect_free(&grid);
}

const ANSWER: &str = "{{REQUEST_ID}}\n\nDone.\n\n{{REQUEST_ID}}";

/// Starts a question on a page in a remote browser.
fn start(env: &TestEnv, page: &Rehearsal, grid: &Endpoint, slug: &str, more: &[&str]) -> std::process::Child {
    let (url, grid) = (page.url(), grid.to_string());
    let place = ["ask", "--page", "rehearsal", "--browser-url", &url, "--webdriver-url", &grid];
    let mut command = env.prepared("git-oracle", &[&place[..], &["--slug", slug, "-p", slug], more].concat());
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
}

#[test]
fn twenty_questions_with_attachments_at_once_come_home_each_to_its_own() {
    let Some(grid) = grid() else { return };
    let (env, page) = (TestEnv::new(), Rehearsal::start(Script::answering([ANSWER])).unwrap());
    let mut running = Vec::new();
    for number in 0..20 {
        let (slug, file) = (format!("number-{number}"), format!("src/file-{number}.txt"));
        env.write(&file, &format!("This is file {number}.\n"));
        let files = ["--browser-bundle-files", &file, "--browser-bundle-format", "zip"];
        running.push((start(&env, &page, &grid, &slug, &files), slug, file));
    }
    for (child, slug, _) in &mut running {
        assert!(child.wait().unwrap().success(), "{slug}: {:#}", env.session(slug, "result.json"));
    }
    let record = page.record();
    assert_eq!(record.prompts.len(), 20);
    for (_, slug, file) in &running {
        let id = env.session(slug, "result.json")["requestId"].as_str().unwrap().to_owned();
        let response = env.root().join("home/.oracle/sessions").join(slug).join("response-1.md");
        assert_eq!(std::fs::read_to_string(response).unwrap().trim(), ANSWER.replace("{{REQUEST_ID}}", &id), "{slug}");
        let sent: Vec<_> = record.prompts.iter().filter(|prompt| prompt.text.contains(&id)).collect();
        assert_eq!(sent.len(), 1, "{slug}");
        assert!(sent[0].text.contains(&format!("\n{slug}\n")), "{}", sent[0].text);
        let [package] = &sent[0].files[..] else { panic!("{slug}: {:?}", sent[0].files) };
        let packed = unzip(&package.content);
        let own = packed.iter().find(|(name, _)| name.ends_with(file.as_str())).unwrap();
        assert_eq!(own.1, std::fs::read(env.repo().join(file)).unwrap(), "{slug}");
        assert_eq!(packed.iter().filter(|(name, _)| name.contains("file-")).count(), 1, "{slug}");
    }
    expect_free(&grid);
}

#[test]
fn what_a_killed_run_left_elsewhere_is_ended_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let driver = RemoteDriver::start(dir.path());
    let env = TestEnv::new();
    let slow = Reply { start_ms: 2500, ..Reply::of(ANSWER) };
    let page = Rehearsal::start(Script { replies: vec![slow], ..Script::default() }).unwrap();
    let mut at_work = start(&env, &page, &driver.endpoint, "at work", &[]);
    await_step(&env, &mut at_work, "at-work", "remote");
    let mut killed = start(&env, &page, &driver.endpoint, "killed", &[]);
    await_step(&env, &mut killed, "killed", "committed");
    killed.kill().unwrap();
    killed.wait().unwrap();
    // The driver does not notice that its client is gone.
    assert!(browsers_of(dir.path()) >= 1);
    let mut next = start(&env, &page, &driver.endpoint, "next", &[]);
    await_step(&env, &mut next, "next", "remote");
    assert_eq!(steps(&env, "killed").last().unwrap(), "released");
    assert!(next.wait().unwrap().success(), "{:#}", env.session("next", "result.json"));
    assert!(at_work.wait().unwrap().success(), "a run that is at work keeps its browser");
    assert_eq!(browsers_of(dir.path()), 0);
    assert_eq!(page.record().prompts.len(), 3, "nothing was sent again");
    let log = std::fs::read_to_string(env.root().join("home/.oracle/sessions/next/output.log")).unwrap();
    assert!(log.contains("the session killed had left"), "{log}");
}

#[test]
fn what_a_killed_run_left_on_a_grid_is_ended_by_the_next() {
    let Some(grid) = grid() else { return };
    let (env, page) = (TestEnv::new(), Rehearsal::start(Script::answering([ANSWER])).unwrap());
    for (number, step) in ["remote", "typed", "committed"].into_iter().enumerate() {
        let slug = format!("killed-{number}");
        let mut killed = start(&env, &page, &grid, &slug, &[]);
        await_step(&env, &mut killed, &slug, step);
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert_eq!(sessions(&grid), 1, "{step}");
        assert!(start(&env, &page, &grid, &format!("next-{number}"), &[]).wait().unwrap().success(), "{step}");
        expect_free(&grid);
    }
}
