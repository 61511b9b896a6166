//! Whatever ends us, nothing of a browser is left; whatever ends the browser is noticed and named.

use std::io::BufRead;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use git_oracle::system;
use git_oracle::transport::Browser;
use git_oracle::transport::Fault;
use git_oracle::transport::FaultKind;
use git_oracle::transport::driver::Launch;
use git_oracle::transport::driver::parse_address;
use serde_json::Value;
use serde_json::json;

use crate::browser::LIMIT;
use crate::browser::launch;
use crate::browser::machine;
use crate::browser::serve;
use crate::support::Random;
use crate::support::sequences;

/// How long anything of ours may be there after us.
pub const GONE: Duration = Duration::from_secs(5);

/// A script that answers after longer than any test takes.
const PENDING: &str = "const done = arguments[arguments.length - 1]; setTimeout(() => done({state: 'late'}), 25000)";

/// Returns the processes that know of this directory, by their arguments or their environment, with what they are.
pub fn processes_of(dir: &Path) -> Vec<(u32, String)> {
    let needle = dir.to_string_lossy().into_owned();
    let own = std::process::id();
    let pids =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != own && system::is_alive(*pid))
        .filter_map(|pid: u32| {
            let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let arguments = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            let environment = String::from_utf8_lossy(&read("environ")).into_owned();
            (arguments.contains(&needle) || environment.contains(&needle)).then_some((pid, arguments))
        })
        .collect()
}

fn pid_of(dir: &Path, is_it: impl Fn(&str) -> bool) -> u32 {
    let all = processes_of(dir);
    all.iter().find(|(_, arguments)| is_it(arguments)).unwrap_or_else(|| panic!("{all:#?}")).0
}

fn is_guard(arguments: &str) -> bool {
    arguments.contains(" guard --temporary ")
}

fn is_driver(arguments: &str) -> bool {
    arguments.contains("chromedriver --port=0") && !arguments.contains(" guard ")
}

/// Returns how many browsers have their files here.
pub fn browsers_of(dir: &Path) -> usize {
    processes_of(dir).iter().filter(|(_, arguments)| is_browser(arguments)).count()
}

fn is_browser(arguments: &str) -> bool {
    arguments.contains("--user-data-dir=") && !arguments.contains("--type=")
}

fn is_page(arguments: &str) -> bool {
    arguments.contains("--type=renderer")
}

fn signal(which: &str, pid: u32) -> bool {
    Command::new("kill").args([which, &pid.to_string()]).stderr(Stdio::null()).status().unwrap().success()
}

pub fn send(which: &str, pid: u32) {
    assert!(signal(which, pid), "{which} {pid}");
}

/// Waits until nothing is left, and says what is if that does not happen.
fn expect_nothing(dir: &Path, told: &str) -> Duration {
    let started = Instant::now();
    loop {
        let left = processes_of(dir);
        let temporary: Vec<_> =
            std::fs::read_dir(temporary(dir)).unwrap().flatten().map(|entry| entry.path()).collect();
        if left.is_empty() && temporary.is_empty() {
            return started.elapsed();
        }
        assert!(started.elapsed() < GONE, "{told}: {left:#?} {temporary:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn temporary(dir: &Path) -> PathBuf {
    dir.join("t")
}

/// A process of its own that has a browser.
pub struct Holder {
    pub child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Holder {
    pub fn start(dir: &Path, way: &str) -> Self {
        std::fs::create_dir_all(temporary(dir)).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "browser_ends::holds_a_browser", "--nocapture"]);
        command.env("HOLD_BROWSER_IN", dir).env("HOLD_BROWSER_WAY", way).env("TMPDIR", temporary(dir));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Holder { child, lines }
    }

    /// Waits for a line that begins so and returns the rest of it.
    pub fn expect(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            // The test runner writes in front of what we write.
            if let Some((_, rest)) = line.split_once(&format!("@{word} ")) {
                return rest.trim_end().to_owned();
            }
            line.clear();
        }
        panic!("it ended before it said {word}");
    }
}

fn say(word: &str, rest: &str) {
    use std::io::Write;
    let mut out = std::io::stdout();
    let _ = writeln!(out, "@{word} {rest}");
    let _ = out.flush();
}

/// Is no test but what the tests here start and end.
#[test]
fn holds_a_browser() {
    let Some(dir) = std::env::var_os("HOLD_BROWSER_IN").map(PathBuf::from) else { return };
    let way = std::env::var("HOLD_BROWSER_WAY").unwrap();
    if way == "heeds signals" {
        system::watch_interrupts().unwrap();
    }
    say("begin", "");
    let launch = match way.split_once(' ') {
        Some(("visits", address)) => Launch::attach(machine(), parse_address(address).unwrap()),
        _ if way == "waits for its turn" => launch(&dir).patient(3 * LIMIT),
        _ => launch(&dir),
    };
    let browser = Browser::start(&launch).unwrap();
    browser
        .goto(&serve("<title>Held</title><script>document.cookie = 'renewed=yes; max-age=9999'</script>"), LIMIT)
        .unwrap();
    say("ready", "");
    if way == "aborts" {
        std::process::abort();
    }
    let fault = browser.wait_in_page(PENDING, &[], Duration::from_secs(30)).unwrap_err();
    let closing = Instant::now();
    drop(browser);
    say("fault", &json!({"fault": fault, "closing": closing.elapsed().as_millis() as u64}).to_string());
}

#[test]
fn whatever_ends_us_nothing_is_left() {
    for (way, signal) in [("waits", "-KILL"), ("waits", "-TERM"), ("waits", "-INT"), ("waits", "-HUP"), ("aborts", "")]
    {
        let dir = tempfile::tempdir().unwrap();
        let mut holder = Holder::start(dir.path(), way);
        holder.expect("ready");
        if !signal.is_empty() {
            send(signal, holder.child.id());
        }
        assert!(!holder.child.wait().unwrap().success());
        expect_nothing(dir.path(), &format!("{way} {signal}"));
        // The browser could put its profile in order. A sign-in is lost otherwise, when a page has just renewed it.
        let preferences = std::fs::read_to_string(dir.path().join("profile/Default/Preferences")).unwrap();
        assert!(preferences.contains(r#""exit_type":"Normal""#), "{way} {signal}");
        let cookies = std::fs::read(dir.path().join("profile/Default/Cookies")).unwrap();
        assert!(cookies.windows(7).any(|window| window == b"renewed"), "{way} {signal}");
    }
}

#[test]
fn a_kill_at_any_moment_of_the_start_leaves_nothing() {
    sequences(4, |seed| {
        let mut random = Random::new(seed);
        let dir = tempfile::tempdir().unwrap();
        let mut holder = Holder::start(dir.path(), "waits");
        holder.expect("begin");
        std::thread::sleep(Duration::from_millis(random.below(900) as u64));
        send("-KILL", holder.child.id());
        holder.child.wait().unwrap();
        expect_nothing(dir.path(), &format!("seed {seed}"));
    });
}

#[test]
fn when_the_guard_is_killed_as_well_only_its_directory_is_left_for_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut holder = Holder::start(dir.path(), "waits");
    holder.expect("ready");
    let guard = pid_of(dir.path(), is_guard);
    send("-KILL", guard);
    send("-KILL", holder.child.id());
    holder.child.wait().unwrap();
    let started = Instant::now();
    while !processes_of(dir.path()).is_empty() {
        assert!(started.elapsed() < GONE, "{:#?}", processes_of(dir.path()));
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut next = Holder::start(dir.path(), "aborts");
    next.expect("ready");
    next.child.wait().unwrap();
    expect_nothing(dir.path(), "after the next run");
}

#[test]
fn a_run_that_waits_for_its_turn_waits_no_longer_than_it_lives() {
    let dir = tempfile::tempdir().unwrap();
    let first = Browser::start(&launch(dir.path())).unwrap();
    let mut second = Holder::start(dir.path(), "waits for its turn");
    second.expect("begin");
    let guards = || processes_of(dir.path()).into_iter().filter(|(_, arguments)| is_guard(arguments)).count();
    let started = Instant::now();
    while guards() < 2 {
        assert!(started.elapsed() < LIMIT);
        std::thread::sleep(Duration::from_millis(10));
    }
    send("-KILL", second.child.id());
    second.child.wait().unwrap();
    let killed = Instant::now();
    while guards() > 1 {
        assert!(killed.elapsed() < GONE);
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(first);
    expect_nothing(dir.path(), "after both");
}

#[test]
fn somebody_who_asks_us_to_stop_is_heard_while_we_wait() {
    let dir = tempfile::tempdir().unwrap();
    let mut holder = Holder::start(dir.path(), "heeds signals");
    holder.expect("ready");
    let asked = Instant::now();
    send("-INT", holder.child.id());
    let fault: Value = serde_json::from_str(&holder.expect("fault")).unwrap();
    assert!(asked.elapsed() < GONE, "{:?}", asked.elapsed());
    assert_eq!(fault["fault"]["kind"], "interrupted");
    assert!(holder.child.wait().unwrap().success());
    expect_nothing(dir.path(), "after Ctrl-C");
    assert!(!dir.path().join("profile/SingletonLock").is_symlink());
}

#[test]
fn a_browser_that_is_only_visited_stays_and_our_tab_goes() {
    for (way, signal) in [("leaves", ""), ("killed", "-KILL")] {
        let (theirs, ours) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let visited = Visited::start(theirs.path());
        let before = visited.pages();
        let mut holder = Holder::start(ours.path(), &format!("visits {}", visited.address));
        holder.expect("ready");
        assert_eq!(visited.pages().len(), before.len() + 1, "{way}");
        if signal.is_empty() {
            // It ends as soon as its tab answers nothing any more.
            let tab = visited.pages().into_iter().find(|page| !before.contains(page)).unwrap();
            http_get(&visited.address, &format!("/json/close/{tab}"));
            holder.expect("fault");
            assert!(holder.child.wait().unwrap().success());
        } else {
            send(signal, holder.child.id());
            holder.child.wait().unwrap();
        }
        expect_nothing(ours.path(), way);
        assert_eq!(visited.pages(), before, "{way}");
    }
}

/// A browser of somebody else's with a debugging port.
struct Visited {
    child: Child,
    address: String,
}

impl Visited {
    fn start(dir: &Path) -> Self {
        let mut command = Command::new(machine().browser().unwrap());
        command.args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-port=0",
            "--no-first-run",
        ]);
        command.arg(format!("--user-data-dir={}", dir.display())).env("TMPDIR", dir);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let port = dir.join("DevToolsActivePort");
        let started = Instant::now();
        let text = loop {
            match std::fs::read_to_string(&port) {
                Ok(text) if text.contains('\n') => break text,
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
            assert!(started.elapsed() < LIMIT, "the browser does not listen");
        };
        Visited { child, address: format!("127.0.0.1:{}", text.lines().next().unwrap()) }
    }

    /// Returns the ids of its pages.
    fn pages(&self) -> Vec<String> {
        let answer = http_get(&self.address, "/json/list");
        let list: Value = serde_json::from_str(&answer).unwrap();
        let pages = list.as_array().unwrap().iter().filter(|target| target["type"] == "page");
        pages.map(|page| page["id"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Visited {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn http_get(address: &str, path: &str) -> String {
    use std::io::Read;
    use std::io::Write;
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(answer.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
    let mut body = vec![0; length.trim().parse().unwrap()];
    answer.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

#[test]
fn a_browser_that_stands_still_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let browser = Browser::start(&launch(dir.path())).unwrap();
    browser.goto(&serve("<title>Still</title>"), LIMIT).unwrap();
    let still = pid_of(dir.path(), is_browser);
    send("-STOP", still);
    let started = Instant::now();
    let fault = browser.wait_in_page(PENDING, &[], Duration::from_secs(1)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::BrowserCrashed);
    assert!(fault.message.contains("did not answer"), "{fault}");
    let fault = browser.title().unwrap_err();
    assert_eq!(fault.kind, FaultKind::BrowserCrashed);
    drop(browser);
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    expect_nothing(dir.path(), "after it stood still");
}

#[test]
fn whatever_ends_the_browser_is_named_at_once() {
    type Which = fn(&str) -> bool;
    let cases: [(&str, Which); 4] =
        [("browser", is_browser), ("page", is_page), ("driver", is_driver), ("guard", is_guard)];
    for (name, is_it) in cases {
        let dir = tempfile::tempdir().unwrap();
        let mut holder = Holder::start(dir.path(), "waits");
        holder.expect("ready");
        let killed = Instant::now();
        let hit: Vec<_> = processes_of(dir.path()).into_iter().filter(|(_, arguments)| is_it(arguments)).collect();
        assert!(!hit.is_empty(), "{name}: {:#?}", processes_of(dir.path()));
        // A page may have gone by itself meanwhile.
        assert!(hit.iter().filter(|(pid, _)| signal("-KILL", *pid)).count() > 0, "{name}");
        let answer: Value = serde_json::from_str(&holder.expect("fault")).unwrap();
        assert!(killed.elapsed() < GONE, "{name} took {:?}", killed.elapsed());
        let fault: Fault = serde_json::from_value(answer["fault"].clone()).unwrap();
        assert_eq!(fault.kind, FaultKind::BrowserCrashed, "{name}: {fault:?}");
        assert!(holder.child.wait().unwrap().success());
        expect_nothing(dir.path(), name);
    }
}
