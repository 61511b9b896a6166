//! A browser that is already there: its debugging port.

use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpStream;
use std::time::Duration;

use crate::transport::Fault;
use crate::transport::FaultKind;

const LIMIT: Duration = Duration::from_secs(2);
const MAX_ANSWER_BYTES: u64 = 1 << 16;

/// Reads HOST:PORT. Only this machine will do: whoever reaches a debugging port owns the browser.
pub fn parse_address(text: &str) -> Result<SocketAddr, Fault> {
    let refused = |why: &str| {
        let hint = "Start the browser with --remote-debugging-port=9222 and a --user-data-dir of its own, then name 127.0.0.1:9222.";
        Fault::new(FaultKind::AttachFailed, format!("cannot attach to {}: {why}", crate::base::visible(text)), hint)
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(|| refused("it is not HOST:PORT"))?;
    let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(|| refused("it has no port"))?;
    match host {
        "127.0.0.1" | "localhost" => Ok(SocketAddr::from(([127, 0, 0, 1], port))),
        "[::1]" => Ok(SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], port))),
        _ => Err(refused("it is not a loopback address")),
    }
}

/// Makes sure that a browser listens. The driver itself would try for a minute.
pub(super) fn probe(address: SocketAddr) -> Result<(), Fault> {
    let failed = |why: String| {
        let hint = "Start the browser with --remote-debugging-port and a --user-data-dir of its own.";
        Fault::new(FaultKind::AttachFailed, format!("no browser can be attached to at {address}, {why}"), hint)
    };
    let answer = get(address, "/json/version").map_err(|error| failed(error.to_string()))?;
    if answer.contains("webSocketDebuggerUrl") { Ok(()) } else { Err(failed("something else answers there".into())) }
}

/// Closes a tab. One that is closed already is fine.
pub(super) fn close_tab(address: SocketAddr, tab: &str) {
    if tab.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        let _ = get(address, &format!("/json/close/{tab}"));
    }
}

/// Asks the browser something. It leaves the connection open whatever it is asked, so the answer's length counts.
fn get(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
    let mut answer = BufReader::new(stream.take(MAX_ANSWER_BYTES));
    let mut length = 0;
    let mut line = String::new();
    while answer.read_line(&mut line)? > 0 && !line.trim_end().is_empty() {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or_default();
        }
        line.clear();
    }
    let mut body = String::new();
    answer.take(length).read_to_string(&mut body)?;
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_attached_to() {
        for (text, expected) in [
            ("127.0.0.1:9222", Some("127.0.0.1:9222")),
            ("localhost:9222", Some("127.0.0.1:9222")),
            ("[::1]:9222", Some("[::1]:9222")),
            ("10.0.0.1:9222", None),
            ("127.0.0.1.example.com:9222", None),
            ("0.0.0.0:9222", None),
            ("127.0.0.1:0", None),
            ("127.0.0.1", None),
            ("9222", None),
            ("", None),
        ] {
            let parsed = parse_address(text).ok().map(|address| address.to_string());
            assert_eq!(parsed.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn nothing_there_is_said_at_once() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let fault = probe(address).unwrap_err();
        assert_eq!(fault.kind, FaultKind::AttachFailed);
    }
}
