//! A real Selenium Grid, where `GIT_ORACLE_GRID` names one, such as http://127.0.0.1:4744

use std::time::Duration;
use std::time::Instant;

use git_oracle::transport::Browser;
use git_oracle::transport::Enclosure;
use git_oracle::transport::FaultKind;
use git_oracle::transport::Target;
use git_oracle::transport::driver::Endpoint;
use git_oracle::transport::driver::Launch;
use git_oracle::transport::end_remote_session;
use serde_json::Value;
use serde_json::json;

use crate::browser::LIMIT;
use crate::browser::PAGE;
use crate::browser::serve;
use crate::browser_ends::Holder;
use crate::browser_ends::send;

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
    let dir = tempfile::tempdir().unwrap();
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

    // One whose run was asked to stop while the page was waited for: it does not wait for the end of that.
    let mut holder = Holder::start(dir.path(), &format!("grid {grid}"));
    holder.expect("ready");
    let asked = Instant::now();
    send("-INT", holder.child.id());
    holder.expect("fault");
    assert!(holder.child.wait().unwrap().success());
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    expect_free(&grid);

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
