//! A real browser, driven.

use std::io::Read;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use git_oracle::system::Environment;
use git_oracle::transport::Browser;
use git_oracle::transport::Enclosure;
use git_oracle::transport::FaultKind;
use git_oracle::transport::Target;
use git_oracle::transport::driver::Configured;
use git_oracle::transport::driver::Endpoint;
use git_oracle::transport::driver::Launch;
use git_oracle::transport::driver::Machine;
use git_oracle::transport::driver::Profile;
use git_oracle::transport::end_remote_session;
use serde_json::json;

pub const LIMIT: Duration = Duration::from_secs(20);

pub fn machine() -> Machine {
    machine_with(&[])
}

/// Returns this machine as it would be with these variables.
fn machine_with(variables: &[(&str, &str)]) -> Machine {
    let mut environment = Environment::of_process().unwrap();
    for (name, value) in variables {
        environment.inherited.retain(|(known, _)| known != name);
        environment.inherited.push((name.into(), value.into()));
    }
    let machine = Machine::of(&environment, &Configured::default()).unwrap();
    machine.guarded_by(Path::new(env!("CARGO_BIN_EXE_git-oracle")))
}

/// Returns a browser of ours whose files are all in this directory.
pub fn launch(dir: &Path) -> Launch {
    let temporary = dir.join("t");
    std::fs::create_dir_all(&temporary).unwrap();
    let machine = machine_with(&[("TMPDIR", temporary.to_str().unwrap())]);
    Launch::own(machine, Profile::at(&dir.join("profile")))
}

/// Serves this page for as long as the test runs.
pub fn serve(page: &'static str) -> String {
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

pub const PAGE: &str = "<!doctype html><title>A page</title><input type=file multiple id=file style=display:none>
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
    let files = ["one.txt", "zwei ö.txt"].map(|name| Enclosure { name, bytes: b"content" });
    browser.set_files(Target::Css("#file"), &files).unwrap();
    browser.set_files(Target::Css("#file"), &files[1..]).unwrap();
    let names = "return [...document.querySelector('#file').files].map(file => file.name)";
    assert_eq!(browser.execute(names, &[]).unwrap(), json!(["zwei ö.txt"]));
    for name in ["", "..", "../one.txt", "one\ntwo.txt"] {
        let fault = browser.set_files(Target::Css("#file"), &[Enclosure { name, bytes: b"" }]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::PageDrifted, "{name}");
    }
    let fault = browser.click(Target::Css("#none")).unwrap_err();
    assert_eq!(fault.kind, FaultKind::PageDrifted);
    browser.close();
    assert!(!dir.path().join("profile/SingletonLock").is_symlink());
}

#[test]
fn what_a_page_does_meanwhile_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let browser = Browser::start(&launch(dir.path())).unwrap();
    let page = serve(PAGE);
    let slice = Duration::from_secs(20);
    let after = |action: &str| {
        browser.goto(&page, LIMIT).unwrap();
        let started = Instant::now();
        let answer = browser.wait_in_page(&format!("setTimeout(() => {{ {action} }}, 100)"), &[], slice);
        assert!(started.elapsed() < slice, "{action} took {:?}", started.elapsed());
        answer.map_err(|fault| fault.kind)
    };
    assert_eq!(after("location.href = '/elsewhere'"), Err(FaultKind::NavigationLost));
    assert_eq!(after("location.reload()"), Err(FaultKind::NavigationLost));
    assert_eq!(after("alert('Look!')"), Err(FaultKind::PageDrifted));
    // After a dialog the page can be asked again.
    assert_eq!(browser.title().unwrap(), "A page");
    let fault = browser.execute("throw new Error('no \u{202e}such thing')", &[]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::PageDrifted);
    assert!(fault.message.contains("no \\u{202e}such thing") && !fault.message.contains('\n'), "{fault}");
    // Nothing is waited for longer than its slice.
    let started = Instant::now();
    let fault = browser.wait_in_page("", &[], Duration::from_millis(100)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::BrowserCrashed);
    assert!(started.elapsed() < Duration::from_secs(10));
    // The page was stuck, not the browser.
    assert_eq!(browser.title().unwrap(), "A page");
}

#[test]
fn a_page_that_cannot_be_had_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let browser = Browser::start(&launch(dir.path())).unwrap();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let fault = browser.goto(&format!("http://person:secret@{nobody}/?token=secret"), LIMIT).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NavigationLost);
    assert!(fault.message.contains("net::ERR_CONNECTION_REFUSED") && !fault.message.contains("secret"), "{fault}");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", silent.local_addr().unwrap());
    let fault = browser.goto(&address, Duration::from_millis(300)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::TimedOut, "{fault}");
    browser.goto(&serve(PAGE), LIMIT).unwrap();
}

#[test]
fn what_is_missing_is_named_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let profile = || Profile::at(&dir.path().join("profile"));
    let nothing = machine_with(&[("PATH", dir.path().to_str().unwrap())]);
    let kind = |launch: Launch| Browser::start(&launch).err().map(|fault| (fault.kind, fault.message));
    let (missing, _) = kind(Launch::own(nothing.clone(), profile())).unwrap();
    assert_eq!(missing, FaultKind::BrowserMissing);
    // Half a machine: a browser without a driver, and a driver that is none.
    std::os::unix::fs::symlink(machine().browser().unwrap(), dir.path().join("chromium")).unwrap();
    let (missing, _) = kind(Launch::own(nothing.clone(), profile())).unwrap();
    assert_eq!(missing, FaultKind::DriverMissing);
    std::os::unix::fs::symlink("/bin/false", dir.path().join("chromedriver")).unwrap();
    let (missing, message) = kind(Launch::own(nothing.clone(), profile())).unwrap();
    assert_eq!(missing, FaultKind::DriverMissing);
    assert!(message.contains("exit status: 1") && message.contains("chromedriver"), "{message}");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (missing, _) = kind(Launch::attach(machine(), nobody)).unwrap();
    assert_eq!(missing, FaultKind::AttachFailed);
    let endpoint = Endpoint::parse(&format!("http://person:secret@{nobody}/")).unwrap();
    let (missing, message) = kind(Launch::remote(endpoint)).unwrap();
    assert_eq!(missing, FaultKind::DriverMissing);
    assert!(message.contains(&nobody.to_string()) && !message.contains("secret"), "{message}");
    let page: &str = Box::leak(serve(PAGE).into_boxed_str());
    let (missing, _) = kind(Launch::remote(Endpoint::parse(page).unwrap())).unwrap();
    assert_eq!(missing, FaultKind::DriverMissing);
}

#[test]
fn two_runs_on_one_profile_take_turns_or_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let first = Browser::start(&launch(dir.path())).unwrap();
    let fault = Browser::start(&launch(dir.path())).err().unwrap();
    assert_eq!(fault.kind, FaultKind::ProfileInUse);
    let second = std::thread::scope(|scope| {
        let second = scope.spawn(|| Browser::start(&launch(dir.path()).patient(LIMIT)).map(drop));
        first.goto(&serve(PAGE), LIMIT).unwrap();
        drop(first);
        second.join().unwrap()
    });
    second.unwrap();
}

/// A WebDriver that is none of ours, whose browsers have their files here.
pub struct RemoteDriver {
    child: std::process::Child,
    pub endpoint: Endpoint,
}

impl RemoteDriver {
    pub fn start(dir: &Path) -> Self {
        let mut command = std::process::Command::new(machine().driver().unwrap());
        command.arg("--port=0").env("TMPDIR", dir).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("successfully on port ") {
            line.clear();
            assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0);
        }
        let port = line.trim_end().trim_end_matches('.').rsplit(' ').next().unwrap();
        let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}")).unwrap();
        RemoteDriver { child, endpoint }
    }
}

impl Drop for RemoteDriver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_remote_browser_gets_files_and_its_session_ends() {
    let dir = tempfile::tempdir().unwrap();
    let driver = RemoteDriver::start(dir.path());
    let endpoint = driver.endpoint.clone();
    let browser = Browser::start(&Launch::remote(endpoint.clone())).unwrap();
    browser.goto(&serve(PAGE), LIMIT).unwrap();
    let file = Enclosure { name: "größe 1.txt", bytes: b"content\n" };
    browser.set_files(Target::Css("#file"), &[file]).unwrap();
    let script = "const done = arguments[arguments.length - 1];
        const file = document.querySelector('#file').files[0];
        file.text().then(text => done({name: file.name, text}))";
    let read = browser.wait_in_page(script, &[], Duration::from_secs(5)).unwrap();
    assert_eq!(read, json!({"name": "größe 1.txt", "text": "content\n"}));

    // Somebody who kept its address and id ends it, although it is busy.
    let (kept, id) = browser.remote_session().unwrap();
    assert_eq!(kept, endpoint);
    end_remote_session(&kept, &id).unwrap();
    end_remote_session(&kept, &id).unwrap();
    assert_eq!(browser.title().unwrap_err().kind, FaultKind::BrowserCrashed);
}
