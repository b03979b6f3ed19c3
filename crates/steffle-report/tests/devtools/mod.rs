//! A headless Chromium, spoken to by the DevTools protocol over two pipes.
//!
//! <https://chromedevtools.github.io/devtools-protocol/>: with `--remote-debugging-pipe` the browser
//! reads commands from descriptor 3 and writes answers and events to 4, JSON that ends with a zero.

mod chromium;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Nothing here waits longer.
const PATIENCE: Duration = Duration::from_mins(1);
const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
];

/// One page in a browser of its own, which ends with this value.
pub(crate) struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    /// Everything that was not the answer to a command.
    pub(crate) events: Vec<Value>,
    session: Option<String>,
    last: u64,
    directory: PathBuf,
}

impl Browser {
    /// Starts a browser and opens a page of this HTML in it.
    pub(crate) fn open(name: &str, html: &str) -> Self {
        let directory =
            std::env::temp_dir().join(format!("steffle-report-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let page = directory.join("report.html");
        std::fs::write(&page, html).unwrap();

        // The shell moves its own pipes to the descriptors that the browser wants, and becomes it.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(
                chromium::chromium()
                    .unwrap_or_else(|missing| panic!("{missing}; `cargo xtask check` gets it")),
            )
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", directory.join("profile").display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = process.stdin.take().unwrap();
        let mut answers = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let (events, session, last) = (Vec::new(), None, 0);
        let mut browser = Self { process, commands, messages, events, session, last, directory };
        browser.attach();
        browser.go(&page);
        browser
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let how = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call("Target.attachToTarget", how);
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        self.size(1280, 900, false);
    }

    fn go(&mut self, page: &Path) {
        self.call("Page.navigate", json!({ "url": format!("file://{}", page.display()) }));
        self.wait_for("Page.loadEventFired");
    }

    /// Loads the page again.
    pub(crate) fn reload(&mut self) {
        self.events.clear();
        self.call("Page.reload", json!({}));
        self.wait_for("Page.loadEventFired");
    }

    /// Sends a command and returns its result.
    #[allow(clippy::needless_pass_by_value)] // a `json!` at every call
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&command).unwrap();
        bytes.push(0);
        self.commands
            .write_all(&bytes)
            .unwrap_or_else(|error| panic!("{method}: {error}; the browser ended"));
        let deadline = Instant::now() + PATIENCE;
        loop {
            let message = self.next(deadline, method);
            if message["id"] == json!(self.last) {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn wait_for(&mut self, event: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.events.iter().any(|seen| seen["method"] == event) {
            let message = self.next(deadline, event);
            self.events.push(message);
        }
    }

    fn next(&self, deadline: Instant, what: &str) -> Value {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.messages.recv_timeout(left) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => panic!("{what}: no answer for {PATIENCE:?}"),
            Err(RecvTimeoutError::Disconnected) => panic!("{what}: the browser ended"),
        }
    }

    /// The value of an expression in the page. A promise is waited for.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let how = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", how);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].clone()
    }

    /// The value of an expression that is a number.
    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        let value = self.value(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// The value of an expression that is a string.
    pub(crate) fn string(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}")).to_owned()
    }

    /// Moves the pointer to the middle of the first element of a selector, which is brought into view.
    pub(crate) fn point_at(&mut self, selector: &str) -> (f64, f64) {
        let quoted = json!(selector);
        let place = self.value(&format!(
            "(() => {{ const element = document.querySelector({quoted}); \
             element.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const box = element.getBoundingClientRect(); \
             return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => \
             done([box.x + box.width / 2, box.y + box.height / 2])))); }})()"
        ));
        let (x, y) = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
        self.mouse("mouseMoved", x, y);
        (x, y)
    }

    /// Presses and releases the button of the mouse on the first element of a selector.
    pub(crate) fn click(&mut self, selector: &str) {
        let (x, y) = self.point_at(selector);
        self.mouse("mousePressed", x, y);
        self.mouse("mouseReleased", x, y);
    }

    pub(crate) fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let how = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", how);
    }

    /// Presses and releases a key.
    pub(crate) fn key(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let how =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", how);
        }
    }

    /// The size of the window in pixels.
    pub(crate) fn size(&mut self, width: u32, height: u32, mobile: bool) {
        let how =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile });
        self.call("Emulation.setDeviceMetricsOverride", how);
    }

    /// A colour scheme, or a medium such as print.
    pub(crate) fn media(&mut self, medium: &str, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        let how = json!({ "media": medium, "features": [feature] });
        self.call("Emulation.setEmulatedMedia", how);
    }

    /// What was logged as a warning or an error, and what was thrown.
    pub(crate) fn complaints(&mut self) -> Vec<Value> {
        // An answer comes after all events that were before it.
        self.value("new Promise(done => setTimeout(done, 50))");
        let complaint = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] != "log",
            Some("Log.entryAdded") => event["params"]["entry"]["level"] != "verbose",
            _ => false,
        };
        self.events.iter().filter(complaint).cloned().collect()
    }

    /// The addresses that were asked for.
    pub(crate) fn requests(&self) -> Vec<String> {
        let sent =
            self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.map(|event| event["params"]["request"]["url"].as_str().unwrap_or("?").to_owned())
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Only the process that was started here, by its id.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
