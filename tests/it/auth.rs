//! Signing in: by a person, and at a form that resembles GitHub's.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::TcpListener;
use std::net::TcpStream;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;

use git_oracle::base::Secret;
use git_oracle::system;
use git_oracle::transport::Browser;
use git_oracle::transport::Fault;
use git_oracle::transport::FaultKind;
use git_oracle::transport::sign_in::Credentials;
use git_oracle::transport::sign_in::Totp;
use git_oracle::transport::sign_in::at_github;

use crate::browser::LIMIT;
use crate::browser::launch;
use crate::support::TestEnv;

const SECRET: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

const FORM: &str =
    "<form action=/session method=post><input name=login id=login_field><input type=password name=password id=password>
    <input type=submit name=commit value='Sign in'></form>";
const CODE: &str =
    "<form action=/sessions/two-factor/app method=post><input name=app_otp id=app_totp autocomplete=one-time-code>
    <button type=submit>Verify</button></form>";
const PASSKEY: &str = "<p>Use your security key.</p><a href=/sessions/two-factor/app>Use your authenticator app</a>";
const DEVICE: &str = "<p>We just sent you a code.</p><form><input id=otp name=otp autocomplete=one-time-code></form>";
const HOME: &str = "<meta name=user-login content=person><p>Welcome";

/// What this site asks for after the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Second {
    Nothing,
    Code,
    Passkey,
    Device,
}

/// Serves a site with a sign-in, and returns its address and the fields that it was sent.
fn site(second: Second) -> (String, mpsc::Receiver<BTreeMap<String, String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/login", listener.local_addr().unwrap());
    let (sender, posted) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let sender = sender.clone();
            std::thread::spawn(move || serve(stream.unwrap(), second, &sender));
        }
    });
    (address, posted)
}

fn serve(mut stream: TcpStream, second: Second, posted: &mpsc::Sender<BTreeMap<String, String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let length =
        head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let fields: BTreeMap<String, String> = url::form_urlencoded::parse(&body).into_owned().collect();
    let has = |name: &str, value: &str| fields.get(name).is_some_and(|field| field == value);
    let path = head.split(' ').nth(1).unwrap();
    let answer = match path {
        "/login" if head.contains("signed=in") => redirect("/"),
        "/login" => page(FORM),
        "/session" if !(has("login", "person") && has("password", "pass & word")) => {
            page(&format!("<div class='flash flash-error'>Incorrect username or password.</div>{FORM}"))
        }
        "/session" => match second {
            Second::Nothing => welcome(),
            Second::Code => redirect("/sessions/two-factor/app"),
            Second::Passkey => redirect("/sessions/two-factor/webauthn"),
            Second::Device => redirect("/sessions/verified-device"),
        },
        "/sessions/two-factor/webauthn" => page(PASSKEY),
        "/sessions/verified-device" => page(DEVICE),
        "/sessions/two-factor/app" if head.starts_with("GET") => page(CODE),
        "/sessions/two-factor/app" => {
            let now = system::unix_seconds();
            let totp = Totp::parse(&Secret::new(SECRET.to_owned())).unwrap();
            match has("app_otp", totp.at(now).expose()) || has("app_otp", totp.at(now - 30).expose()) {
                true => welcome(),
                false => page(&format!("<div class='flash flash-error'>Two-factor authentication failed.</div>{CODE}")),
            }
        }
        "/elsewhere" => {
            format!("HTTP/1.1 302 X\r\nLocation: http://localhost:{}/login\r\n", stream.local_addr().unwrap().port())
                + "Content-Length: 0\r\nConnection: close\r\n\r\n"
        }
        _ => page(HOME),
    };
    if !fields.is_empty() {
        let _ = posted.send(fields);
    }
    let _ = stream.write_all(answer.as_bytes());
}

fn page(body: &str) -> String {
    let body = format!("<!doctype html><title>Site</title>{body}");
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 X\r\nLocation: {to}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
}

fn welcome() -> String {
    redirect("/").replace("302 X", "302 X\r\nSet-Cookie: signed=in; Path=/; Max-Age=9999")
}

fn credentials(password: &str, totp: Option<&str>) -> Credentials {
    let totp = totp.map(|secret| Totp::parse(&Secret::new(secret.to_owned())).unwrap());
    Credentials { username: "person".to_owned(), password: Secret::new(password.to_owned()), totp }
}

#[test]
fn the_form_is_filled_in_and_the_profile_stays_signed_in() {
    let dir = tempfile::tempdir().unwrap();
    let browser = Browser::start(&launch(dir.path())).unwrap();
    for second in [Second::Nothing, Second::Code, Second::Passkey] {
        let (address, posted) = site(second);
        let credentials = credentials("pass & word", Some(SECRET));
        // Each site has a host of its own for cookies only by its name, so the sign-in of the one before is forgotten.
        browser.goto(&address, LIMIT).unwrap();
        browser.execute("document.cookie = 'signed=; Path=/; Max-Age=0'", &[]).unwrap();
        assert!(at_github(&browser, &address, &credentials).unwrap(), "{second:?}");
        assert!(!at_github(&browser, &address, &credentials).unwrap(), "{second:?}");
        let first = posted.recv().unwrap();
        assert_eq!((first["login"].as_str(), first["password"].as_str()), ("person", "pass & word"));
    }
}

#[test]
fn a_sign_in_that_is_refused_says_what_by() {
    let dir = tempfile::tempdir().unwrap();
    let browser = Browser::start(&launch(dir.path())).unwrap();
    let cases = [
        (Second::Nothing, "wrong-password", Some(SECRET), FaultKind::SignedOut, "Incorrect username or password."),
        (Second::Code, "pass & word", None, FaultKind::SignedOut, "asks for a one-time password"),
        (Second::Device, "pass & word", Some(SECRET), FaultKind::SignedOut, "only a person can give"),
    ];
    for (second, password, totp, kind, word) in cases {
        let (address, _posted) = site(second);
        let fault: Fault = at_github(&browser, &address, &credentials(password, totp)).unwrap_err();
        assert_eq!(fault.kind, kind, "{second:?}: {fault:?}");
        assert!(fault.message.contains(word), "{fault:?}");
        assert!(!format!("{fault:?}").contains(password), "{fault:?}");
    }
    // Nothing is typed where somebody else sent us.
    let (address, posted) = site(Second::Nothing);
    let elsewhere = address.replace("/login", "/elsewhere");
    let fault = at_github(&browser, &elsewhere, &credentials("pass & word", None)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NavigationLost, "{fault:?}");
    assert_eq!(posted.try_iter().count(), 0);
}

/// A display without a screen.
struct Display {
    child: Child,
    name: String,
}

impl Display {
    fn start() -> Self {
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("Xvfb, from xvfb");
        let mut number = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut number).unwrap();
        Display { child, name: format!(":{}", number.trim()) }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves a page that tells whether it is driven, and returns its address and the first line of each request.
fn telling_site() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let sender = sender.clone();
            // A browser opens connections that it may use later, or never.
            std::thread::spawn(move || {
                let mut stream = stream.unwrap();
                let mut line = String::new();
                BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap_or(0);
                let _ = sender.send(line);
                let _ = stream.write_all(page("<script>fetch('/driven/' + navigator.webdriver)</script>").as_bytes());
            });
        }
    });
    (address, lines)
}

#[test]
fn a_person_signs_in_in_a_browser_that_nobody_drives() {
    let display = Display::start();
    for (signal, code) in [("browser", Some(0)), ("us", Some(130))] {
        let env = TestEnv::new();
        let (address, lines) = telling_site();
        let mut command = env.prepared("git-oracle", &["auth", "login", "--browser-url", &address]);
        command.env("DISPLAY", &display.name).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let told = lines.iter().find(|line| line.contains("/driven/")).unwrap();
        assert!(told.starts_with("GET /driven/false "), "{told}");
        let home = env.root().join("home/.oracle/profiles/default");
        let link = std::fs::read_link(home.join("SingletonLock")).unwrap().to_string_lossy().into_owned();
        let browser = link.rsplit('-').next().unwrap().to_owned();
        let target = if signal == "us" { child.id().to_string() } else { browser.clone() };
        assert!(Command::new("kill").args(["-TERM", &target]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), code, "{signal}: {stderr}");
        assert!(stderr.contains("sign in, then close the window"), "{stderr}");
        assert!(!system::is_alive(browser.parse().unwrap()));
    }
}

#[test]
fn what_a_sign_in_lacks_is_said() {
    let env = TestEnv::new();
    let ran = env.expect(10, &["auth", "login"]);
    assert!(ran.stderr.contains("there is no display") && ran.stderr.contains("xvfb-run"), "{}", ran.shown());
    let ran = env.expect(10, &["auth", "login", "--from-env"]);
    assert!(ran.stderr.contains("GITHUB_USERNAME is set neither"), "{}", ran.shown());
    env.write(".env", "GITHUB_USERNAME=person\nGITHUB_PASSWORD=hunter2\nGITHUB_TOTP_SECRET=0189\n");
    let ran = env.expect(10, &["auth", "login", "--from-env"]);
    assert!(ran.stderr.contains("GITHUB_TOTP_SECRET") && !ran.stderr.contains("0189"), "{}", ran.shown());
    for args in [
        &["auth"] as &[&str],
        &["auth", "login", "--from-env", "--copilot"],
        &["auth", "login", "--browser-url", "x", "--copilot"],
    ] {
        env.expect(129, args);
    }
    let ran = env.expect(10, &["auth", "login", "--browser-url", "file:///etc/passwd"]);
    assert!(ran.stderr.contains("not http or https"), "{}", ran.shown());
}
