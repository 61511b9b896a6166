//! A real browser, driven.

use std::io::Read;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use git_oracle::system::Environment;
use git_oracle::transport::Browser;
use git_oracle::transport::FaultKind;
use git_oracle::transport::Target;
use git_oracle::transport::driver::Configured;
use git_oracle::transport::driver::Launch;
use git_oracle::transport::driver::Machine;
use git_oracle::transport::driver::Profile;
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(20);

fn machine() -> Machine {
    let environment = Environment::of_process().unwrap();
    let machine = Machine::of(&environment, &Configured::default()).unwrap();
    machine.guarded_by(Path::new(env!("CARGO_BIN_EXE_git-oracle")))
}

fn launch(dir: &Path) -> Launch {
    Launch::own(machine(), Profile::at(&dir.join("profile")))
}

/// Serves this page for as long as the test runs.
fn serve(page: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request);
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close";
                let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{page}", page.len());
            });
        }
    });
    format!("http://{address}/")
}

const PAGE: &str = "<!doctype html><title>A page</title><input type=file multiple id=file style=display:none>
<button id=b onclick='window.clicks=(window.clicks||0)+1'>x</button><input id=text>";

#[test]
fn a_page_is_opened_asked_and_used() {
    let dir = tempfile::tempdir().unwrap();
    let browser = Browser::start(&launch(dir.path())).unwrap();
    let url = serve(PAGE);
    browser.goto(&url, LIMIT).unwrap();
    assert_eq!((browser.url().unwrap(), browser.title().unwrap()), (url, "A page".to_owned()));
    assert_eq!(browser.execute("return arguments[0] + 1", &[json!(2)]).unwrap(), json!(3));
    browser.click(Target::Css("#b")).unwrap();
    let button = browser.execute("return document.querySelector('#b')", &[]).unwrap();
    browser.click(Target::Found(&button)).unwrap();
    assert_eq!(browser.execute("return window.clicks", &[]).unwrap(), json!(2));
    browser.press(Target::Css("#text"), "abc").unwrap();
    assert_eq!(browser.execute("return document.querySelector('#text').value", &[]).unwrap(), json!("abc"));
    let script =
        "const done = arguments[arguments.length - 1]; setTimeout(() => done({state: 'pending'}), arguments[0])";
    let answer = browser.wait_in_page(script, &[json!(200)], Duration::from_secs(1)).unwrap();
    assert_eq!(answer, json!({"state": "pending"}));
    assert!(browser.screenshot().unwrap().starts_with(b"\x89PNG"));
    assert!(browser.source().unwrap().contains("<button"));
    let evaluated = browser.cdp("Runtime.evaluate", json!({"expression": "6*7"})).unwrap();
    assert_eq!(evaluated["result"]["value"], json!(42));
    let files = ["one.txt", "zwei ö.txt"].map(|name| dir.path().join(name));
    files.iter().for_each(|path| std::fs::write(path, "content").unwrap());
    browser.set_files(Target::Css("#file"), &files).unwrap();
    browser.set_files(Target::Css("#file"), &files[1..]).unwrap();
    let names = "return [...document.querySelector('#file').files].map(file => file.name)";
    assert_eq!(browser.execute(names, &[]).unwrap(), json!(["zwei ö.txt"]));
    let fault = browser.click(Target::Css("#none")).unwrap_err();
    assert_eq!(fault.kind, FaultKind::PageDrifted);
    browser.close();
    assert!(!dir.path().join("profile/SingletonLock").is_symlink());
}
