#!/usr/bin/env python3
"""Asks each replica of a chat page through the real driver, and compares what came of it with what its scenario expects.

usage: replicas.py --bin DIR --replicas DIR [NAME…]    NAMEs choose the scenarios whose name contains one of them

Checked are the exit code, the status, the number of sends, the answer byte for byte, the model, the mode and the
attachments that the page saw. The last line is `replicas: P/N passed`.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

PATHS = {"chatgpt": "/", "copilot": "/copilot", "gemini": "/app"}


def start(replicas, scratch, *more, scenario="chatgpt-happy-section"):
    """Starts the server of the replicas and returns it with its port."""
    port = scratch / "port"
    server = subprocess.Popen(
        [sys.executable, "server.py", "--scenario", scenario, "--log", str(scratch / "log.json"), "--port-file", str(port), *more],
        cwd=replicas, stdout=subprocess.DEVNULL)
    for _ in range(600):
        if port.exists() and port.read_text().strip():
            return server, int(port.read_text())
        if server.poll() is not None:
            sys.exit("replicas: the server ended by itself")
        time.sleep(0.05)
    sys.exit("replicas: the server does not say its port")


def play(program, base, scenario, scratch):
    """Returns what is not as the scenario expects."""
    body = json.dumps({"name": scenario["name"]}).encode()
    urllib.request.urlopen(urllib.request.Request(base + "/__replica/scenario", data=body)).read()
    place = ["--page", scenario["page"], "--browser-url", base + PATHS[scenario["page"]]]
    more = ["--model", scenario["choose_model"]] if scenario.get("choose_model") else []
    if scenario.get("attach"):
        more += ["--browser-bundle-files", "context.md", "--browser-bundle-format", "zip"]
    ran = subprocess.run([program, "ask", *place, "-p", "What do you think of it?", "--json", *more], cwd=scratch / "repo",
                         capture_output=True, text=True, env={**os.environ, "HOME": str(scratch / "home")})
    try:
        result = json.loads(ran.stdout)
    except ValueError:
        return ["no result: " + ran.stderr[-300:]]
    expected, sends = scenario["expect"], json.loads((scratch / "log.json").read_text())["sends"]
    last = sends[-1] if sends else {}
    seen = {"exit": ran.returncode, "status": result["status"], "sends": len(sends)}
    seen |= {name: last.get(name) for name in ("model", "mode") if name in expected}
    wrong = [f"{name}: {value} instead of {expected[name]}" for name, value in seen.items() if value != expected[name]]
    if expected.get("reply") == "exact":
        session = ran.stderr.rsplit("session: ", 1)[-1].split()[0]
        answer = scratch / "home/.oracle/sessions" / session / "response-1.md"
        if not answer.exists() or answer.read_text().strip() != pathlib.Path(last["reply_path"]).read_text().strip():
            wrong.append("the answer is another one")
        if scenario.get("attach") and not last.get("attachments"):
            wrong.append("nothing was attached")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--replicas", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    scenarios = [json.loads(path.read_text()) for path in sorted((args.replicas / "scenarios").glob("*.json"))]
    chosen = [each for each in scenarios if not args.names or any(name in each["name"] for name in args.names)]
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        (scratch / "repo").mkdir()
        (scratch / "repo/context.md").write_text("# Context\n\nSome words.\n")
        subprocess.run(["git", "init", "-q", str(scratch / "repo")], check=True)
        server, port = start(args.replicas, scratch)
        try:
            failed = 0
            for scenario in chosen:
                wrong = play((args.bin / "git-oracle").resolve(), f"http://127.0.0.1:{port}", scenario, scratch)
                failed += bool(wrong)
                print("FAIL" if wrong else "PASS", scenario["name"], *wrong, flush=True)
        finally:
            server.terminate()
            server.wait()
    print(f"replicas: {len(chosen) - failed}/{len(chosen)} passed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
